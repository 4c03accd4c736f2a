//! The `poolgate` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    poolgate::run()
}
