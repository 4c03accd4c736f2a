//! The steps of action.yml, with a release in a folder in place of the network.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;
use tempfile::TempDir;

use crate::poolgate_lint;
use crate::support::files::{directory, script};
use crate::support::nodepool::SOUND;
use crate::support::process::{Outcome, run};
use crate::support::program::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A machine that runs the action in a repository with a mistake, and a release for Linux on X64.
struct Runner(TempDir);

impl Runner {
    fn new() -> Self {
        let runner = Self(directory(&[
            ("work/pools/general.yaml", &SOUND.replace("10%", "5x%")),
            ("releases/program/.keep", ""),
            ("path", ""),
            ("output", ""),
            ("temp/.keep", ""),
            ("bin/.keep", ""),
        ]));
        runner
            .provenance("[ \"$1 $2 $4 $5\" = 'attestation verify --repo OWNER/poolgate' ] && [ -f \"$3\" ]");
        fs::copy(&*poolgate_lint::PROGRAM, runner.path("releases/program/poolgate")).expect("a program");
        let publish = format!(
            "mkdir v{VERSION} && tar -czf v{VERSION}/{name} -C program poolgate && cd v{VERSION} && sha256sum {name} >SHA256SUMS",
            name = Self::archive()
        );
        let mut shell = Command::new("bash");
        shell.args(["-ec", &publish]).current_dir(runner.path("releases"));
        run(&mut shell, "").success();
        runner
    }

    /// A stand-in for `gh`, which asks GitHub.
    fn provenance(&self, lines: &str) {
        script(&self.path("bin/gh"), &format!("#!/bin/bash\n{lines}\n"));
    }

    fn archive() -> String {
        format!("poolgate-offline-{VERSION}-linux-amd64.tar.gz")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a step with these inputs and variables, and with the defaults of all others.
    fn step(&self, name: &str, inputs: &[(&str, &str)], variables: &[(&str, &str)]) -> Outcome {
        let action = fs::read_to_string(root().join("action.yml")).expect("the action");
        let action = parse(&action, &Limits::default())
            .next()
            .expect("a document")
            .into_value();
        let steps = action["runs"]["steps"].as_array().expect("steps");
        let step = steps.iter().find(|step| step["name"] == name).expect("the step");
        let releases = format!("file://{}", self.path("releases").display());
        let value = |text: &Value| {
            let mut text = text.as_str().expect("a text").replace(
                "${{ github.server_url }}/${{ github.action_repository }}/releases/download",
                &releases,
            );
            for (input, described) in action["inputs"].as_object().expect("inputs") {
                let given = inputs.iter().find(|(name, _)| name == input);
                let default = described["default"].as_str().expect("a default");
                let given = given.map_or(default, |(_, given)| given);
                text = text.replace(&format!("${{{{ inputs.{input} }}}}"), given);
            }
            text.replace("${{ github.action_repository }}", "OWNER/poolgate")
                .replace("${{ github.token }}", "token")
        };
        let added = fs::read_to_string(self.path("path")).expect("the additions to PATH");
        let own = self.path("bin");
        let own = own.to_str().expect("UTF-8");
        let path: Vec<&str> = added.lines().chain([own, "/usr/bin", "/bin"]).collect();
        let mut shell = Command::new("bash");
        shell
            .args(["-eo", "pipefail", "-c", step["run"].as_str().expect("a script")])
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", path.join(":"))
            .env("GITHUB_ACTION_PATH", root())
            .env("GITHUB_PATH", self.path("path"))
            .env("GITHUB_OUTPUT", self.path("output"))
            .env("RUNNER_TEMP", self.path("temp"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64");
        for (variable, text) in step["env"].as_object().expect("variables") {
            shell.env(variable, value(text));
        }
        run(shell.envs(variables.iter().copied()), "")
    }

    fn installs(&self, inputs: &[(&str, &str)], variables: &[(&str, &str)]) -> Outcome {
        self.step("Install poolgate", inputs, variables)
    }
}

#[test]
fn action_installs_the_release_of_its_checkout_and_annotates_a_mistake() {
    let runner = Runner::new();
    runner.installs(&[], &[]).success();
    let linted = runner.step("Lint NodePools", &[], &[]);
    assert_eq!(linted.status.code(), Some(1), "{linted:?}");
    assert!(
        linted.stdout.contains("::error file=pools/general.yaml"),
        "{linted:?}"
    );
    let output = fs::read_to_string(runner.path("output")).expect("the outputs");
    let report = output.trim().strip_prefix("sarif=").expect("a report");
    assert!(fs::read_to_string(report).expect("the report").contains("5x%"));

    let empty = runner.step("Lint NodePools", &[("paths", "pools/none\n")], &[]);
    assert_eq!(empty.status.code(), Some(2), "{empty:?}");
    let inputs = [("paths", "pools/general.yaml"), ("fail-on", "never")];
    let wrong = runner.step("Lint NodePools", &inputs, &[]);
    assert!(wrong.stderr.contains("--fail-on"), "{wrong:?}");
}

#[test]
fn action_refuses_what_is_no_release_or_not_the_file_of_one() {
    let runner = Runner::new();
    for (inputs, variables, reason) in [
        (
            &[("version", "9.9.9")][..],
            &[][..],
            "release 9.9.9 has no poolgate-offline-9.9.9-linux-amd64.tar.gz",
        ),
        (
            &[("version", "main")],
            &[],
            "version: write a release such as 0.1.0, not \"main\"",
        ),
        (&[], &[("RUNNER_ARCH", "ARM")], "no program for Linux on ARM"),
        (
            &[],
            &[("RUNNER_OS", "Windows"), ("RUNNER_ARCH", "ARM64")],
            "no program for Windows on ARM64",
        ),
    ] {
        let refused = runner.installs(inputs, variables);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let error = format!("::error title=poolgate::{reason}");
        assert!(refused.stdout.contains(&error), "{refused:?}");
    }
    runner.provenance("exit 1");
    let refused = runner.installs(&[], &[]);
    assert!(
        refused.stdout.contains("has no provenance of OWNER/poolgate"),
        "{refused:?}"
    );
    let archive = runner.path(&format!("releases/v{VERSION}/{}", Runner::archive()));
    fs::write(archive, "another file").expect("an archive");
    let refused = runner.installs(&[], &[]);
    assert!(
        refused.stdout.contains("is not the file of the release"),
        "{refused:?}"
    );
    assert_eq!(
        fs::read_to_string(runner.path("path")).expect("the additions"),
        ""
    );
}
