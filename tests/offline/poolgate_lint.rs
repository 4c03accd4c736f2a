//! The program `poolgate-lint`: what `poolgate` says about files, it says too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::support::nodepool::SOUND;
use crate::support::process::{self, Outcome};
use crate::support::program::{self, root};

/// The program beside that of this run. Cargo builds it for the tests of its own package only.
pub(crate) static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = Command::new(env!("CARGO"))
        .current_dir(root())
        // All packages, so that their features are those of this run, and nothing is built twice.
        .args([
            "build",
            "--quiet",
            "--locked",
            "--workspace",
            "--bin=poolgate-lint",
        ])
        .status();
    assert!(built.expect("cargo runs").success());
    Path::new(env!("CARGO_BIN_EXE_poolgate")).with_file_name("poolgate-lint")
});

fn run_in(directory: &Path, arguments: &[&str], stdin: &str) -> Outcome {
    let mut command = Command::new(&*PROGRAM);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("POOLGATE_") {
            command.env_remove(name);
        }
    }
    process::run(command.args(arguments).current_dir(directory), stdin)
}

#[test]
fn both_programs_print_the_same() {
    let definition = std::fs::read_to_string(root().join("tests/data/crds/karpenter-1.15.0-nodepools.yaml"));
    let definition = definition.expect("a definition");
    for (command, stdin) in [
        (&["lint", "--together", "--output=human", "tests/corpus"][..], ""),
        (&["lint", "--output=json", "tests/corpus"], ""),
        (
            &[
                "diff",
                "--at=2026-01-05",
                "tests/data/gitops/old/plain",
                "tests/data/gitops/new/plain",
            ],
            "",
        ),
        (&["default", "tests/corpus"], ""),
        (&["budgets", "--at=2026-01-05T10:00:00Z", "tests/corpus"], ""),
        (&["rules"], ""),
        (&["policy", "check", "docs/examples/policy/production.yaml"], ""),
        (&["policy", "schema"], ""),
        (&["crd", "patch"], &definition),
    ] {
        let expected = program::run(command, stdin);
        let found = run_in(root(), command, stdin);
        assert_eq!(found.stdout, expected.stdout, "{command:?}");
        assert_eq!(found.stderr, expected.stderr, "{command:?}");
        assert_eq!(found.status.code(), expected.status.code(), "{command:?}");
    }
}

#[test]
fn program_without_a_network_says_which_one_reads_clusters() {
    for command in ["lint", "budgets"] {
        let outcome = run_in(root(), &[command, "--cluster"], "");
        assert_eq!(outcome.status.code(), Some(2));
        assert!(
            outcome.stderr.contains("poolgate-lint reads files only"),
            "{outcome:?}"
        );
    }
}

/// A warning is reported, and is no failure.
#[test]
fn help_says_that_0_is_the_exit_code_without_an_error() {
    let said = "Exit codes: 0 no errors";
    let one_line = |help: String| help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line(run_in(root(), &["lint", "--help"], "").success()).contains(said));
    assert!(one_line(program::run(&["lint", "--help"], "").success()).contains(said));
    let warned = run_in(
        root(),
        &["lint", "--output=concise", "-"],
        &SOUND.replace("\"100\"", "\"0\""),
    );
    assert_eq!(warned.status.code(), Some(0), "{warned:?}");
    assert!(warned.stdout.contains(" warning["), "{warned:?}");
}

#[test]
fn help_completions_and_the_manual_name_the_program() {
    let help = run_in(root(), &["lint", "--help"], "").success();
    assert!(
        help.contains("Usage: poolgate-lint lint [OPTIONS] [PATH]..."),
        "{help}"
    );
    let script = run_in(root(), &["completions", "bash"], "").success();
    assert!(script.contains("-o default poolgate-lint"), "{script}");
    let page = run_in(root(), &["man"], "").success();
    assert!(page.contains(r"\fBpoolgate\-lint\fR"), "{page}");
}

#[test]
fn the_package_needs_no_network_and_no_runtime() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(root())
        .args([
            "tree",
            "--locked",
            "--offline",
            "--edges=normal,build",
            "--prefix=none",
        ])
        .args(["--format={p}", "--package=poolgate-files"])
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8(tree.stdout).expect("UTF-8");
    assert!(tree.contains("poolgate-core"), "{tree}");
    for excluded in [
        "tokio",
        "hyper",
        "rustls",
        "kube",
        "k8s-openapi",
        "aws-lc-rs",
        "cc",
    ] {
        let is_needed = tree.lines().any(|line| line.split(' ').next() == Some(excluded));
        assert!(!is_needed, "{excluded}");
    }
}
