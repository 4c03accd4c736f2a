//! The program `poolgate-lint`: what `poolgate` says about files, it says too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use ignore::WalkBuilder;

use crate::support::process::{self, Outcome};
use crate::support::program::{self, root};

/// The program beside that of this run, which Cargo builds for the tests of its package.
pub(crate) static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = Path::new(env!("CARGO_BIN_EXE_poolgate")).with_file_name("poolgate-lint");
    let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    let sources = WalkBuilder::new(root().join("files/src")).build();
    let newest = sources.filter_map(|entry| age(entry.ok()?.path()).ok()).max();
    let is_current = age(&program).is_ok_and(|built| Some(built) >= newest);
    let name = program.display();
    assert!(
        is_current,
        "{name} is missing or older than files/src: cargo test --test program --no-run"
    );
    program
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

/// The commands of a program, as its help lists them.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
    let words = lines.filter_map(|line| line.split("  ").next());
    words.filter(|word| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase()))
}

#[test]
fn offline_program_runs_each_command_or_says_where_it_is() {
    let whole = program::run(&["help"], "").success();
    let about_why = program::run(&["why", "--help"], "").success();
    let whole: Vec<Vec<&str>> = commands(&whole)
        .map(|name| vec![name])
        .chain(commands(&about_why).map(|name| vec!["why", name]))
        .collect();
    assert!(whole.len() > 20, "{whole:?}");
    for command in whole.iter().filter(|command| !command.contains(&"help")) {
        let help = run_in(root(), &[command, &["--help"][..]].concat(), "");
        let is_named = help.stderr.contains(&format!(
            "error: {}: this program reads files only",
            command.join(" ")
        ));
        assert!(help.status.success() != is_named, "{command:?}: {help:?}");
    }
}
