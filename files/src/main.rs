//! `poolgate-lint`: the commands of `poolgate` that work without a cluster.

use std::process::ExitCode;

fn main() -> ExitCode {
    poolgate_files::cli::run_alone("poolgate-lint")
}
