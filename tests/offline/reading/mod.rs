//! Which files and documents the commands read, and which they never write: the same for lint, diff, default and budgets.

mod encodings;
mod links;
mod overwritten;
mod rendered;

use std::path::Path;

use crate::support::nodepool::SOUND;
use crate::support::process::Outcome;
use crate::support::program;

/// A pool to which `poolgate default` adds nothing.
fn complete() -> String {
    format!("{SOUND}      expireAfter: 720h\n")
}

/// Runs a command line in a folder, split at spaces.
fn typed(folder: &Path, line: &str, stdin: &str) -> Outcome {
    let arguments: Vec<&str> = line.split(' ').collect();
    program::run_in(folder, &arguments, stdin)
}

fn assert_code(outcome: &Outcome, code: i32, line: &str) {
    assert_eq!(outcome.status.code(), Some(code), "{line}: {outcome:?}");
}
