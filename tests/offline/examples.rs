//! What `--help` shows as an example is what a user can type.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::run;
use crate::support::program::{poolgate, root};

/// The help of a command.
fn help(command: &[&str]) -> String {
    let outcome = run(&mut poolgate(&[command, &["--help"]].concat()), "");
    assert!(outcome.status.success(), "{command:?}: {outcome:?}");
    outcome.stdout
}

/// Every command with its help, those below others included.
fn commands(above: &[&str], found: &mut Vec<(String, String)>) {
    let help = help(above);
    let listed = help.split_once("\nCommands:\n").map(|(_, rest)| rest);
    let lines = listed.into_iter().flat_map(|rest| rest.lines());
    let lines = lines.take_while(|line| !line.is_empty());
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = lines
        .filter(is_name)
        .filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        commands(&[above, &[name]].concat(), found);
    }
    found.push((above.join(" "), help));
}

/// The lines of the examples, without what is said beside them.
fn examples(help: &str) -> Vec<&str> {
    let lines = help.split("Examples:\n").nth(1).unwrap_or_default().lines();
    let lines = lines.map(|line| line.trim().split("   ").next().unwrap_or_default());
    lines.filter(|line| !line.is_empty()).collect()
}

/// A folder with what the examples name, and with programs that give what others would.
fn scene() -> TempDir {
    let crd =
        fs::read_to_string(root().join("tests/data/crds/karpenter-1.15.0-nodepools.yaml")).expect("a CRD");
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";
    let scene = directory(&[
        ("pools/general.yaml", SOUND),
        ("policy.yaml", policy),
        ("crd.yaml", &crd),
        (
            "review.json",
            include_str!("../../docs/examples/five-mistakes.review.json"),
        ),
        ("bin/kustomize", "#!/bin/sh\ncat pools/general.yaml\n"),
        (
            "bin/kubectl",
            "#!/bin/sh\ncase \"$*\" in\n\"get crd \"*) cat crd.yaml;;\n\"get nodepools \"*) cat pools/general.yaml;;\n\
             \"replace -f -\") grep -q nodeLimitMode;;\nnodepool-lint*) shift; exec kubectl-nodepool_lint \"$@\";;\n\
             *) exit 9;;\nesac\n",
        ),
    ]);
    for program in ["kustomize", "kubectl"] {
        let path = scene.path().join("bin").join(program);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let program = poolgate(&[]);
    for name in ["poolgate", "kubectl-nodepool_lint"] {
        let link = scene.path().join("bin").join(name);
        std::os::unix::fs::symlink(program.get_program(), link).expect("a link");
    }
    scene
}

/// Runs a line in the scene.
fn typed(scene: &Path, line: &str) -> crate::support::process::Outcome {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell
        .args(["-o", "pipefail", "-c", line])
        .current_dir(scene)
        .env("PATH", format!("{}:{path}", scene.join("bin").display()));
    for (name, _) in poolgate(&[]).get_envs() {
        shell.env_remove(name);
    }
    run(&mut shell, "")
}

/// What runs on, or asks a cluster, is asked for its help behind its flags: it refuses what it does not know. Other tests
/// start it.
fn is_for_a_cluster(line: &str) -> bool {
    let commands = ["serve", "reconcile", "certificates", "status"];
    let named = line.split(' ').nth(1).unwrap_or_default();
    commands.contains(&named) || line.contains(" --cluster")
}

#[test]
fn every_help_has_examples_and_each_does_what_it_says() {
    let mut all = Vec::new();
    commands(&[], &mut all);
    assert!(all.len() > 15, "{all:?}");
    for (command, help) in &all {
        let examples = examples(help);
        assert!(!examples.is_empty(), "poolgate {command} --help shows no example");
        for line in examples {
            let scene = scene();
            let outcome = if is_for_a_cluster(line) {
                typed(scene.path(), &format!("{line} --help"))
            } else {
                typed(scene.path(), line)
            };
            // A review may be refused, and a difference found.
            let most = i32::from(line.contains("admit") || line.contains("--diff"));
            let code = outcome.status.code();
            assert!(code.is_some_and(|code| code <= most), "{line}: {outcome:?}");
        }
    }
}

#[test]
fn the_plugins_examples_are_those_of_kubectl() {
    let scene = scene();
    let help = typed(scene.path(), "kubectl-nodepool_lint --help");
    let examples = examples(&help.stdout);
    assert!(
        examples.len() > 1 && !help.stdout.contains("poolgate lint "),
        "{}",
        help.stdout
    );
    for line in examples {
        let outcome = typed(scene.path(), line);
        assert!(outcome.status.success(), "{line}: {outcome:?}");
    }
}

/// `script` plays the terminal.
#[test]
fn a_terminal_is_told_what_is_waited_for_and_a_pipe_is_not() {
    let scene = scene();
    for (command, wanted) in [
        ("poolgate default", "waiting for manifests on standard input"),
        ("poolgate budgets", "waiting for manifests on standard input"),
        ("poolgate lint -", "waiting for manifests on standard input"),
        (
            "poolgate admit",
            "waiting for an AdmissionReview on standard input",
        ),
        (
            "poolgate crd patch",
            "waiting for the NodePool definition (kubectl get crd ",
        ),
    ] {
        let said = typed(
            scene.path(),
            &format!("script -qec '{command}' /dev/null </dev/null; true"),
        );
        assert!(said.stdout.contains(wanted), "{command}: {said:?}");
        let piped = typed(scene.path(), &format!("{command} </dev/null; true"));
        assert!(!piped.stderr.contains("waiting"), "{command}: {piped:?}");
    }
}
