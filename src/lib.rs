//! poolgate: the admission webhook and policy server for Karpenter NodePools.
//!
//! The decisions are in `poolgate-core`; this package brings objects to them and answers back. Floors, from
//! the ground up: `admission`, `manifest`, `certs`, then the wings `webhook` and `commands`, which never
//! import each other.

pub mod admission;
pub mod commands;

use std::process::ExitCode;

/// Runs the command line of this process and returns its exit code.
pub fn run() -> ExitCode {
    ExitCode::SUCCESS
}
