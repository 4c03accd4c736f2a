//! The program of the Python wheel: `poolgate-lint` by the name that its users type.

use std::process::ExitCode;

fn main() -> ExitCode {
    poolgate_files::cli::run_alone("poolgate")
}
