//! What becomes of nodes that must be replaced, as far as a plan says it.

use std::sync::Arc;

use jiff::Timestamp;

use super::object_ref::ObjectRef;
use crate::nodelimit::ledger::{ReplacedFor, Replacement, Stopped};

/// What the ledger says of replacements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplacementState {
    /// The claim that may be deleted.
    pub replacement: Option<Replacement>,
    /// Why nothing more is replaced.
    pub stopped: Option<Stopped>,
}

/// A deleted claim whose drain gets a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadline {
    /// The claim to annotate.
    pub claim: ObjectRef,
    /// When its machine goes, whatever still runs on it.
    pub at: Timestamp,
}

/// How a replacement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplacementOutcome {
    /// A newer node is initialized, or none was needed.
    Replaced,
    /// Karpenter no longer wanted it when its turn came.
    Dropped,
    /// It was listed, and before it was deleted something had changed.
    Cancelled,
    /// No newer node came in time.
    Stopped,
}

impl ReplacementOutcome {
    /// Every outcome, for metrics that exist from the start.
    pub const ALL: [Self; 4] = [Self::Replaced, Self::Dropped, Self::Cancelled, Self::Stopped];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Dropped => "dropped",
            Self::Cancelled => "cancelled",
            Self::Stopped => "stopped",
        }
    }
}

/// The end of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The name of the node.
    pub node: Arc<str>,
    /// Why it was to be replaced.
    pub reason: ReplacedFor,
    /// What became of the replacement.
    pub outcome: ReplacementOutcome,
}
