//! poolgate: the admission webhook and policy server for Karpenter NodePools.
//!
//! The decisions are in `poolgate-core`; this package reads their objects and sends their answers. `cli` names the
//! modules of the subcommands, and [`run`] starts one. docs/architecture.md says which module may import which.

pub mod admission;
mod certificates;
mod certs;
mod cli;
mod cluster;
mod cluster_thread;
mod commands;
mod files;
mod flags;
mod gate;
mod http;
mod lifecycle;
mod lint;
mod objects;
pub mod policy_file;
mod polled_file;
mod probes;
mod reconciler;
mod registration;
mod review_args;
mod sha256;
mod status;
mod telemetry;
mod text_rules;
mod webhook;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::cli::Command;

/// The exit code of a run that could not do its work: a wrong flag, a file that cannot be read, a port in use.
const UNUSABLE: u8 = 2;

/// Runs the command line of this process and returns its exit code.
pub fn run() -> ExitCode {
    install_crypto_provider();
    let arguments: Vec<OsString> = env::args_os().collect();
    let command = match Command::parse(&arguments) {
        Ok(command) => command,
        Err(error) => {
            // Help and version are also errors of the parser. A closed pipe is not a failure.
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(UNUSABLE.into(), ExitCode::from);
        }
    };
    let ended = command.run();
    telemetry::finish_log();
    ended.unwrap_or_else(|error| {
        files::remark(&format!("error: {}", files::with_causes(&error)));
        ExitCode::from(UNUSABLE)
    })
}

/// One provider for the whole process, set once: if two crates enable different ones, rustls cannot choose and
/// panics at the first connection.
fn install_crypto_provider() {
    // An error means that one is already installed, which is just as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
