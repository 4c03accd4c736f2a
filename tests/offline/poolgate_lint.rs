//! The program `poolgate-lint`: what `poolgate` says about files, it says too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::{self, Outcome};
use crate::support::program::{self, root};

/// The program beside that of this run. Cargo builds it for the tests of its own package only.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
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

#[track_caller]
fn assert_same(of_poolgate: &[&str], of_lint: &[&str], stdin: &str) {
    let expected = program::run(of_poolgate, stdin);
    let found = run_in(root(), of_lint, stdin);
    assert_eq!(found.stdout, expected.stdout, "{of_lint:?}");
    assert_eq!(found.stderr, expected.stderr, "{of_lint:?}");
    assert_eq!(found.status.code(), expected.status.code(), "{of_lint:?}");
}

#[test]
fn both_programs_print_the_same_about_the_corpus() {
    for format in ["human", "concise", "json", "github", "gitlab", "junit", "sarif"] {
        let arguments = ["--together", "--format", format, "tests/corpus"];
        assert_same(&[&["lint"], &arguments[..]].concat(), &arguments, "");
    }
    for command in [
        &["default", "tests/corpus"][..],
        &["budgets", "--at=2026-01-05T10:00:00Z", "tests/corpus"],
        &["rules"],
        &["policy", "check", "docs/examples/policy/production.yaml"],
        &["policy", "schema"],
    ] {
        assert_same(command, command, "");
    }
    let definition = std::fs::read_to_string(root().join("tests/data/crds/karpenter-1.15.0-nodepools.yaml"));
    assert_same(
        &["crd", "patch"],
        &["crd", "patch"],
        &definition.expect("a definition"),
    );
}

#[test]
fn the_program_without_a_network_says_which_one_reads_clusters() {
    for arguments in [&["--cluster"][..], &["budgets", "--cluster"]] {
        let outcome = run_in(root(), arguments, "");
        assert_eq!(outcome.status.code(), Some(2));
        assert_eq!(
            outcome.stderr,
            "error: --cluster: this program reads files only; `poolgate` reads clusters\n"
        );
    }
}

#[test]
fn a_folder_that_is_named_like_a_command_is_never_taken_for_it() {
    let pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: 0}\n";
    let directory = directory(&[("rules/pool.yaml", pool)]);
    let ambiguous = run_in(directory.path(), &["rules"], "");
    assert_eq!(ambiguous.status.code(), Some(2));
    assert!(
        ambiguous.stderr.contains("write ./rules to check it"),
        "{}",
        ambiguous.stderr
    );
    let checked = run_in(directory.path(), &["./rules"], "");
    assert_eq!(checked.status.code(), Some(1));
    assert!(checked.stdout.contains("[weight]"), "{}", checked.stdout);
}

/// A warning is reported, and is no failure.
#[test]
fn help_says_that_0_is_the_exit_code_without_an_error() {
    let said = "Exits with 0 if there is no error, whatever warnings and notes there are; 1 for an error";
    let one_line = |help: String| help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line(run_in(root(), &["--help"], "").success()).contains(said));
    assert!(one_line(program::run(&["lint", "--help"], "").success()).contains(said));
    let warned = run_in(
        root(),
        &["--format=concise", "-"],
        &SOUND.replace("\"100\"", "\"0\""),
    );
    assert_eq!(warned.status.code(), Some(0), "{warned:?}");
    assert!(warned.stdout.contains(" warning["), "{warned:?}");
}

#[test]
fn help_completions_and_the_manual_name_the_program_as_it_is_typed() {
    let help = run_in(root(), &["--help"], "").success();
    assert!(
        help.contains("Usage: poolgate-lint [OPTIONS] [PATH]..."),
        "{help}"
    );
    assert!(help.contains("  poolgate-lint --fix --diff pools/"), "{help}");
    let help = run_in(root(), &["budgets", "--help"], "").success();
    assert!(help.contains("| poolgate-lint budgets"), "{help}");
    let script = run_in(root(), &["completions", "bash"], "").success();
    assert!(script.contains("-o default poolgate-lint"), "{script}");
    let page = run_in(root(), &["man"], "").success();
    assert!(page.contains(r"\fBpoolgate\-lint\fR"), "{page}");
    let wrong = run_in(root(), &["--no-such-flag"], "");
    assert!(wrong.stderr.contains("Usage: poolgate-lint"), "{}", wrong.stderr);
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
        .args(["--format={p}", "--package=poolgate-lint"])
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
