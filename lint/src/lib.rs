//! What poolgate does with files: `lint`, `default`, `budgets`, `rules`, `policy` and `crd`. The program `poolgate-lint`
//! is these commands alone, for hooks and pipelines; `poolgate` has them too, and reads clusters with them.
//!
//! The verdicts are those of `poolgate-core`. There is no network here: what asks a cluster goes through [`cluster`],
//! which `poolgate` implements.

mod budgets;
pub mod cli;
pub mod cluster;
mod completions;
mod crd;
mod default;
mod examples;
pub mod files;
mod insertion;
mod lint;
mod listed;
mod nodepools;
mod policy;
pub mod policy_file;
pub mod review_args;
mod rules;
mod text_rules;
mod written;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command line of the program `poolgate-lint` and returns its exit code.
pub fn run() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    cli::run_alone(&arguments)
}
