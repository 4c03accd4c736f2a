//! Lines of shell as users type them.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::assets::program;
use super::files::directory;
use super::process::{Outcome, run};
use super::program::root;

/// Runs lines of shell in `directory`, with kubectl, Helm and poolgate under their names, poolgate as the plugin of kubectl,
/// too, and this cluster, if there is one.
pub(crate) fn shell(directory: &Path, cluster: Option<&Path>, lines: &str) -> Outcome {
    let programs = directory.join("bin");
    if !programs.exists() {
        fs::create_dir(&programs).expect("a directory");
        let poolgate = Path::new(env!("CARGO_BIN_EXE_poolgate"));
        for (name, program) in [
            ("kubectl", program("kubectl").as_path()),
            ("helm", &program("helm")),
            ("poolgate", poolgate),
            ("kubectl-poolgate", poolgate),
        ] {
            std::os::unix::fs::symlink(program, programs.join(name)).expect("a link");
        }
    }
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let mut command = Command::new("bash");
    command
        .args(["-euo", "pipefail", "-c", lines])
        .current_dir(directory)
        .env_clear()
        .env("PATH", path)
        .env("HOME", directory);
    if let Some(kubeconfig) = cluster {
        command.env("KUBECONFIG", kubeconfig);
    }
    run(&mut command, "")
}

/// A directory that has what the commands of the documentation name, as a clone of the repository has it.
pub(crate) fn workplace() -> TempDir {
    let clone = directory(&[]);
    for part in [
        "manifests",
        "packaging/manifests",
        "certs/dev",
        "certs/apply",
        "docs/examples",
    ] {
        let target = clone.path().join(part);
        fs::create_dir_all(target.parent().expect("a parent")).expect("directories");
        run(
            Command::new("cp").arg("-R").arg(root().join(part)).arg(target),
            "",
        )
        .success();
    }
    clone
}
