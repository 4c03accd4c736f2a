//! The Python wheel, installed from a folder in place of `PyPI`, and the hooks that pre-commit installs with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::{Outcome, run};
use crate::support::program::root;

/// A folder with a virtual environment, a wheel, and a repository with a mistake in a pool.
struct Machine(tempfile::TempDir);

impl Machine {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a program in the repository. pip installs from the folder of wheels too.
    fn run(&self, program: &Path, arguments: &[&str]) -> Outcome {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("work"))
            .env("PIP_FIND_LINKS", self.path("wheels"))
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env("PRE_COMMIT_HOME", self.path("hooks"));
        run(&mut command, "")
    }

    fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        self.run(Path::new("git"), &[&identity, arguments].concat())
            .success();
    }

    /// Commits all files of a folder as a repository.
    fn commits(&self, folder: &str) {
        let folder = self.path(folder);
        let folder = folder.to_str().expect("UTF-8");
        self.git(&["-C", folder, "init", "--quiet"]);
        self.git(&["-C", folder, "add", "."]);
        self.git(&["-C", folder, "commit", "--quiet", "--message=all"]);
        self.git(&["-C", folder, "tag", "v0"]);
    }

    /// Runs the hooks of this configuration.
    fn hooks(&self, configuration: &str) -> Outcome {
        fs::write(self.path("work/.pre-commit-config.yaml"), configuration).expect("the configuration");
        self.run(&self.path("python/bin/pre-commit"), &["run", "--all-files"])
    }
}

#[test]
#[ignore = "long: .ci/nightly"]
fn wheel_and_hooks_of_pre_commit_report_a_mistake() {
    let pool = SOUND.replace("10%", "5x%");
    let machine = Machine(directory(&[("work/pools/general.yaml", &pool)]));
    let wheels = machine.path("wheels");
    let wheels = wheels.to_str().expect("UTF-8");
    let built = machine.run(&root().join("packaging/wheel"), &[wheels]).success();
    assert!(built.contains("manylinux2014"), "{built}");

    machine
        .run(Path::new("python3"), &["-m", "venv", "../python"])
        .success();
    let python = machine.path("python/bin/python");
    let version = env!("CARGO_PKG_VERSION");
    let wheel = format!("poolgate=={version}");
    machine
        .run(
            &python,
            &["-m", "pip", "install", "--quiet", "--no-index", &wheel],
        )
        .success();
    let poolgate = machine.path("python/bin/poolgate");
    assert_eq!(
        machine.run(&poolgate, &["--version"]).success(),
        format!("poolgate {version}\n")
    );
    let linted = machine.run(&poolgate, &["lint", "pools/"]);
    assert_eq!(linted.status.code(), Some(1), "{linted:?}");
    assert!(linted.stdout.contains("5x%"), "{linted:?}");
    let serve = machine.run(&poolgate, &["serve", "--self-signed"]);
    assert_eq!(serve.status.code(), Some(2), "{serve:?}");
    assert!(serve.stderr.contains("docs/install.md"), "{serve:?}");

    machine
        .run(&python, &["-m", "pip", "install", "--quiet", "pre-commit==4.7.0"])
        .success();
    machine.commits("work");
    let page = fs::read_to_string(root().join("docs/ci.md")).expect("the page");
    let (_, section) = page.split_once("\n## pre-commit\n").expect("the section");
    let recipe = section.split("```").nth(1).expect("a block");
    let recipe = recipe.strip_prefix("yaml\n").expect("YAML");

    let mirror = machine.path("mirror");
    let mirror = mirror.to_str().expect("UTF-8");
    machine
        .run(&root().join("packaging/pre-commit"), &[mirror])
        .success();
    machine.commits("mirror");
    let mirrored = format!("repos: [{{repo: '{mirror}', rev: v0, hooks: [{{id: poolgate-lint}}]}}]\n");
    for configuration in [recipe, &mirrored] {
        let failed = machine.hooks(configuration);
        assert_eq!(failed.status.code(), Some(1), "{failed:?}");
        assert!(failed.stdout.contains("5x%"), "{failed:?}");
    }
}
