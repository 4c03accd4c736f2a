//! `poolgate lint`, the real program: files in, findings with their positions out.

mod corpus;
mod formats;
mod hostile;
mod ignored;
mod inputs;
mod outputs;
mod places;
mod together;

use std::path::Path;

use poolgate_core::facts::KarpenterVersion;

use crate::support::files::directory;
use crate::support::process::Outcome;
use crate::support::program;

/// The release that manifests are checked for if nothing names another one.
const NEWEST: KarpenterVersion = KarpenterVersion::NEWEST;

/// What the summary says of it if no release is named.
const ASSUMED: &str = "1.15 (assumed; set with --karpenter-version)";

/// Runs `poolgate lint` in `directory`.
fn lint_in(directory: &Path, arguments: &[&str], stdin: &str) -> Outcome {
    program::run_in(directory, &[&["lint"], arguments].concat(), stdin)
}

/// The output for one file with this text, a line for each finding.
fn concise(text: &str) -> Outcome {
    let directory = directory(&[("pool.yaml", text)]);
    lint_in(directory.path(), &["--output", "concise", "pool.yaml"], "")
}
