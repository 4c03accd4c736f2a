//! Reasons as they are named on the command line.

use clap::ValueEnum;
use poolgate_core::budget::Reason;

/// A reason on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(super) enum ReasonArg {
    Underutilized,
    Empty,
    Drifted,
    Unhealthy,
}

impl From<ReasonArg> for Reason {
    fn from(reason: ReasonArg) -> Self {
        match reason {
            ReasonArg::Underutilized => Self::Underutilized,
            ReasonArg::Empty => Self::Empty,
            ReasonArg::Drifted => Self::Drifted,
            ReasonArg::Unhealthy => Self::Unhealthy,
        }
    }
}
