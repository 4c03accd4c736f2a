//! The command line of poolgate.

use std::env;
use std::path::Path;
use std::process::Command;

use super::process::{self, Outcome};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// poolgate with these arguments, and with nothing from the environment of the test run.
pub(crate) fn poolgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate"));
    command.args(arguments);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("POOLGATE_") || text == "CLICOLOR_FORCE" {
            command.env_remove(name);
        }
    }
    command
}

/// Runs poolgate to its end in the root of the repository.
pub(crate) fn run(arguments: &[&str], stdin: &str) -> Outcome {
    run_in(root(), arguments, stdin)
}

/// Runs poolgate to its end in `directory`.
pub(crate) fn run_in(directory: &Path, arguments: &[&str], stdin: &str) -> Outcome {
    process::run(poolgate(arguments).current_dir(directory), stdin)
}
