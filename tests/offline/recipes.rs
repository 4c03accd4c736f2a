//! The recipes of docs/ci.md do their work as copied. An empty folder has the files of a pipeline, and the PATH has only
//! what the recipe installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;
use tempfile::TempDir;

use crate::poolgate_lint;
use crate::support::files::{directory, script};
use crate::support::nodepool::SOUND;
use crate::support::process::{Outcome, run};
use crate::support::program::root;

/// The first block of a section of the page.
fn block(section: &str) -> String {
    let page = fs::read_to_string(root().join("docs/ci.md")).expect("the page");
    let (_, section) = page
        .split_once(&format!("\n## {section}\n"))
        .expect("the section");
    let (_, block) = section.split_once("\n```").expect("a block");
    let (_, block) = block.split_once('\n').expect("the language of the block");
    block
        .split_once("\n```")
        .expect("the end of the block")
        .0
        .to_owned()
}

fn yaml(section: &str) -> Value {
    // kubectl's YAML has `on` for true; that of GitHub does not.
    let text = block(section).replace("on: pull_request\n", "");
    let document = parse(&text, &Limits::default()).next().expect("a document");
    assert_eq!(document.problems(), [], "{section}");
    document.into_value()
}

/// The steps of the recipe for GitHub.
fn github() -> Vec<String> {
    let recipe = yaml("GitHub Actions");
    let steps = recipe["jobs"]["nodepools"]["steps"].as_array().expect("steps");
    steps
        .iter()
        .filter_map(|step| step["run"].as_str().map(str::to_owned))
        .collect()
}

/// The script of the recipe for GitLab.
fn gitlab() -> Vec<String> {
    let recipe = yaml("GitLab CI");
    let lines =
        ["before_script", "script"].map(|part| recipe["nodepools"][part].as_array().expect("lines").clone());
    lines
        .concat()
        .iter()
        .map(|line| line.as_str().expect("a line").to_owned())
        .collect()
}

/// A pipeline's folder and its home.
struct Runner(TempDir);

impl Runner {
    fn with_a_mistake() -> Self {
        let pool = SOUND.replace("10%", "5x%");
        assert_ne!(pool, SOUND);
        Self::with(&pool)
    }

    fn with(pool: &str) -> Self {
        Self(directory(&[
            ("work/pools/general.yaml", pool),
            ("home/.keep", ""),
            ("bin/.keep", ""),
            ("path", ""),
        ]))
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    /// A program that the machine has.
    fn provides(&self, name: &str, text: &str) {
        script(&self.0.path().join("bin").join(name), text);
    }

    /// Runs a script as the runner of a pipeline does. `inherited` is the PATH before the recipe.
    fn run(&self, script: &str, inherited: &str) -> Outcome {
        let home = self.0.path();
        let added = fs::read_to_string(home.join("path")).expect("the additions to PATH");
        let path: Vec<_> = added.lines().chain([inherited]).collect();
        let mut shell = Command::new("/bin/bash");
        shell
            .args(["-eo", "pipefail", "-c", script])
            .current_dir(self.work())
            .env_clear();
        shell
            .env("PATH", path.join(":"))
            .env("HOME", home.join("home"))
            .env("CI_PROJECT_DIR", self.work())
            .env("GITHUB_PATH", home.join("path"))
            .env("POOLGATE_COMMIT", "HEAD");
        run(&mut shell, "")
    }

    /// Runs a script with nothing on the PATH but the programs of this runner.
    fn run_alone(&self, script: &str) -> Outcome {
        let programs = self.0.path().join("bin");
        self.run(script, programs.to_str().expect("UTF-8"))
    }

    /// A stand-in for the installer of wheels. The wheel itself is tested in `wheel.rs`.
    fn installs_with(&self, installer: &str) {
        let program = self.0.path().join("bin/poolgate");
        let script = format!(
            "#!/bin/bash\n[ \"${{@: -1}}\" = poolgate=={} ] && /bin/ln -s {} {}\n",
            env!("CARGO_PKG_VERSION"),
            poolgate_lint::PROGRAM.display(),
            program.display()
        );
        self.provides(installer, &script);
    }
}

/// The last step fails because of the mistake in the pool, and the steps before it succeed.
fn fails_for_the_mistake(runner: &Runner, steps: &[String]) {
    let (last, before) = steps.split_last().expect("a step");
    for step in before {
        let outcome = runner.run_alone(step);
        assert!(outcome.status.success(), "{step}: {outcome:?}");
    }
    let outcome = runner.run_alone(last);
    assert_eq!(outcome.status.code(), Some(1), "{last}: {outcome:?}");
}

fn names_the_mistake(report: &Path) {
    let report = fs::read_to_string(report).expect("the report");
    assert!(report.contains("5x%"), "{report}");
}

#[test]
fn recipe_for_github_reports_a_mistake() {
    let runner = Runner::with_a_mistake();
    runner.installs_with("pipx");
    fails_for_the_mistake(&runner, &github());
    names_the_mistake(&runner.work().join("poolgate.sarif"));
}

#[test]
fn recipe_for_gitlab_reports_a_mistake() {
    let runner = Runner::with_a_mistake();
    runner.installs_with("pip");
    fails_for_the_mistake(&runner, &gitlab());
    names_the_mistake(&runner.work().join("codequality.json"));
    names_the_mistake(&runner.work().join("junit.xml"));
}

#[test]
fn recipe_for_reviewdog_hands_it_the_mistake() {
    let runner = Runner::with_a_mistake();
    runner.installs_with("pipx");
    runner.provides("reviewdog", "#!/bin/bash\necho \"$(</dev/stdin)\" >reported\n");
    let outcome = runner.run_alone(&block("reviewdog"));
    assert!(outcome.status.success(), "{outcome:?}");
    names_the_mistake(&runner.work().join("reported"));
}

/// cargo and kubectl are stand-ins: the one installs the program of this test run.
#[test]
fn recipe_for_kubectl_makes_a_plugin() {
    let runner = Runner::with(SOUND);
    let program = env!("CARGO_BIN_EXE_poolgate");
    let install = format!(
        "#!/bin/bash\n[ \"$5\" = --root ] && /bin/mkdir -p \"$6/bin\" && /bin/cp {program} \"$6/bin\"\n"
    );
    runner.provides("cargo", &install);
    runner.provides("ln", "#!/bin/bash\nexec /bin/ln \"$@\"\n");
    runner.provides(
        "kubectl",
        "#!/bin/bash\ncase \"$1\" in\npoolgate) shift; exec kubectl-poolgate \"$@\";;\n*) exec /bin/cat pools/general.yaml;;\nesac\n",
    );
    let outcome = runner.run_alone(&block("kubectl plugin"));
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("1 NodePool").count(), 2, "{outcome:?}");
}

/// The build of today. It requires git and cargo.
#[test]
#[ignore = "long: .ci/nightly"]
fn build_of_today_installs_the_program_from_a_clone() {
    let page = fs::read_to_string(root().join("docs/ci.md")).expect("the page");
    let install = page
        .split("\n```")
        .filter_map(|block| block.strip_prefix("sh\n"))
        .find(|block| block.contains("cargo install --locked --path files"))
        .expect("the build");
    let target = tempfile::tempdir().expect("a folder");
    let runner = Runner::with_a_mistake();
    let clone = runner.0.path().join("clone");
    let script = install
        .replace(
            "https://git.example.com/platform/poolgate",
            root().to_str().expect("UTF-8"),
        )
        .replace("/tmp/poolgate", clone.to_str().expect("UTF-8"));
    assert_ne!(script, install);
    let home = std::env::var("HOME").expect("a home");
    // The toolchain and the crates of this machine.
    let script = format!(
        "export CARGO_HOME=${{CARGO_HOME:-{home}/.cargo}} RUSTUP_HOME=${{RUSTUP_HOME:-{home}/.rustup}} CARGO_TARGET_DIR={}\n{script}\npoolgate lint pools/",
        target.path().display()
    );
    let outcome = runner.run(&script, &std::env::var("PATH").expect("a PATH"));
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("5x%"), "{outcome:?}");
}
