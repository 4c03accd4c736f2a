//! poolgate: the admission webhook and policy server for Karpenter NodePools.
//!
//! The decisions are in `poolgate-core`; this package reads their objects and sends their answers. `cli` names the
//! modules of the subcommands, and [`run`] starts one. docs/architecture.md says which module may import which.

mod certificates;
mod cli;
// Where the simulation runs, time and chance come from outside: see clippy.toml.
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod cluster;
#[cfg(fuzzing)]
#[path = "../tests/fuzz/fuzzing.rs"]
pub mod fuzzing;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod gate;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod reconcile;
mod review;
mod runtime;
mod serving;
#[cfg(test)]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
mod status;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::cli::Command;

/// Runs the command line of this process and returns its exit code.
pub fn run() -> ExitCode {
    install_crypto_provider();
    let arguments: Vec<OsString> = env::args_os().collect();
    poolgate_files::cli::run(Command::parse(&arguments), Command::run)
}

/// One provider for the whole process, set once: if two crates enable different ones, rustls cannot choose and
/// panics at the first connection.
fn install_crypto_provider() {
    // An error means that one is already installed, which is just as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
