//! The `poolgate-lint` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    poolgate_lint::run()
}
