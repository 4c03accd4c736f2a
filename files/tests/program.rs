//! The program `poolgate-lint`. That it says what `poolgate` says is tested beside `poolgate`.

#![cfg(test)]

use std::path::Path;
use std::process::Command;

/// A run of the program: its exit code and what it prints.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate-lint"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("POOLGATE_") {
            command.env_remove(name);
        }
    }
    let outcome = command.args(arguments).output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (outcome.status.code(), text(outcome.stdout), text(outcome.stderr))
}

#[test]
fn program_without_a_network_says_which_one_reads_clusters() {
    for command in ["lint", "budgets"] {
        let (code, _, said) = run(&[command, "--cluster"]);
        assert_eq!(code, Some(2));
        assert!(said.contains("this program reads files only"), "{said}");
    }
    for (arguments, command) in [
        (&["serve"][..], "serve"),
        (&["status", "--watch"], "status"),
        (&["why", "node", "ip-10-0-1-2"], "why node"),
    ] {
        let (code, _, said) = run(arguments);
        assert_eq!(code, Some(2));
        let expected = format!("error: {command}: this program reads files only");
        assert!(said.starts_with(&expected), "{said}");
    }
    let (_, _, said) = run(&["lnit"]);
    assert!(said.contains("a similar subcommand exists: 'lint'"), "{said}");
}

#[test]
fn help_completions_and_the_manual_name_the_program() {
    let (_, help, _) = run(&["lint", "--help"]);
    assert!(
        help.contains("Usage: poolgate-lint lint [OPTIONS] [PATH]..."),
        "{help}"
    );
    let one_line = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains("Exit codes: 0 no errors (warnings allowed)"),
        "{help}"
    );
    let (_, script, _) = run(&["completions", "bash"]);
    assert!(script.contains("-o default poolgate-lint"), "{script}");
    let (_, page, _) = run(&["man"]);
    assert!(page.contains(r"\fBpoolgate\-lint\fR"), "{page}");
}

#[test]
fn package_needs_no_network_and_no_runtime() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
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
