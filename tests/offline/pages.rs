//! The output of commands on the pages is their real output.

use std::process::Command;

use serde_json::Value;

use crate::support::process::{Outcome, run};
use crate::support::program::{poolgate, root};
use crate::support::readme::block;

/// The blocks of a page that begin with a command: the command, and its output according to the page.
pub fn shown(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```console\n$ ").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    blocks.filter_map(|block| block.split_once('\n')).collect()
}

/// Runs a shell line in the root of the repository, as a user would type it.
pub fn typed(line: &str) -> Outcome {
    let program = poolgate(&[]);
    let folder = std::path::Path::new(program.get_program())
        .parent()
        .expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(root())
        .env("PATH", format!("{}:{path}", folder.display()));
    for (name, _) in program.get_envs() {
        shell.env_remove(name);
    }
    run(&mut shell, "")
}

/// Runs a shell line on a terminal of this width. `script` is the terminal; both streams end in its output.
pub fn on_terminal(columns: usize, line: &str) -> String {
    let line = format!("stty rows 24 cols {columns}; {line}");
    let shown = typed(&format!("script -qec '{line}' /dev/null </dev/null"));
    shown.stdout.replace("\r\n", "\n")
}

/// A stranger's first minute: what people write, with what the pool was meant to do in a comment.
#[test]
fn the_examples_have_a_mistake_for_each_kind_of_harm() {
    let outcome = typed("poolgate lint --isolated -o json docs/examples/mistakes.yaml");
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let results = report["results"].as_array().expect("results");
    let found: Vec<_> = results
        .iter()
        .map(|result| [&result["object"]["name"], &result["rule"]].map(|text| text.as_str().expect("text")))
        .collect();
    assert_eq!(
        found,
        [
            ["web", "budget-allow-window"],
            ["web", "taint-startup"],
            ["web", "requirement-label-unknown"],
            ["batch", "limit-zero"],
            ["batch", "budgets-empty"],
            ["batch", "requirement-no-value"],
            ["data", "consolidation-policy"],
            ["data", "field-type"],
            ["data", "expire-after"],
        ]
    );
}

#[test]
fn readmes_lint_finds_the_mistakes_of_its_table() {
    let shown = [
        "budget-allow-window",
        "requirement-no-value",
        "expire-after",
        "field-type",
    ];
    // The other rows are about mistakes of other examples.
    let others = ["schedule-syntax", "limit-amount"];
    for (line, rules) in [
        (block("sh", "poolgate lint "), &shown[..]),
        ("poolgate lint docs/examples", &others),
    ] {
        let outcome = typed(line);
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        for rule in rules {
            assert!(
                outcome.stdout.contains(&format!("[{rule}]: ")),
                "{rule}: {}",
                outcome.stdout
            );
        }
    }
}
