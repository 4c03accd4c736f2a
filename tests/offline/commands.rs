//! Each block of commands on the pages is run by a test, or is listed here with the reason why not.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::examples::{Scene, is_for_a_cluster};
use crate::support::process::run;
use crate::support::program::root;

/// One block per line: its page, one of its lines, and what runs it: `here` (the test below), `test NAME`, or
/// `not run: REASON`.
const BLOCKS: &str = include_str!("commands.tsv");

/// The entries: page, line, and what runs the block.
fn entries() -> impl Iterator<Item = [&'static str; 3]> {
    BLOCKS.lines().map(|line| {
        let cells: Vec<_> = line.split('\t').collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("not three cells: {line}"))
    })
}

/// Whether a page is for users: tests and benchmarks are for contributors to poolgate.
fn is_for_users(page: &str) -> bool {
    !["tests/", "bench/", "core/", "CONTRIBUTING.md"]
        .iter()
        .any(|folder| page.starts_with(folder))
}

/// The names of pages that show commands, and the blocks.
fn shown() -> Vec<(String, String)> {
    let listed = run(
        Command::new("git").args(["ls-files", "*.md"]).current_dir(root()),
        "",
    )
    .success();
    let mut shown = Vec::new();
    for page in listed.lines().filter(|page| is_for_users(page)) {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let blocks = text.split("\n```").skip(1).step_by(2);
        for block in blocks.filter_map(|block| block.split_once('\n')) {
            if ["sh", "console", "bash", "shell"].contains(&block.0) {
                shown.push((page.to_owned(), format!("{}\n", block.1)));
            }
        }
    }
    shown
}

/// Whether an entry is about a block.
fn is_about([of, line, _]: [&str; 3], page: &str, block: &str) -> bool {
    of == page && block.lines().any(|shown| without_remark(shown) == line)
}

#[test]
fn each_block_of_commands_is_run_or_says_why_not() {
    let shown = shown();
    assert!(shown.len() > 30, "{shown:?}");
    for (page, block) in &shown {
        let about = entries().filter(|entry| is_about(*entry, page, block)).count();
        assert_eq!(
            about, 1,
            "entries of tests/offline/commands.tsv about {page}:\n{block}"
        );
    }
    let sources = sources();
    for entry in entries() {
        let is_shown = shown.iter().any(|(page, block)| is_about(entry, page, block));
        assert!(is_shown, "no page shows it any more: {entry:?}");
        let [_, _, who] = entry;
        if let Some(name) = who.strip_prefix("test ") {
            assert!(
                sources.contains(&format!("fn {name}()")),
                "there is no test {name}"
            );
        } else {
            assert!(who == "here" || who.starts_with("not run: "), "{who}");
        }
    }
}

/// All tests that may run a block.
fn sources() -> String {
    let files = ignore::WalkBuilder::new(root().join("tests")).build();
    let paths = files.map(|entry| entry.expect("an entry").into_path());
    let sources = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources
        .map(|path| fs::read_to_string(path).expect("a source"))
        .collect()
}

/// A line without its comment.
fn without_remark(line: &str) -> &str {
    line.split("  #").next().unwrap_or_default().trim_end()
}

/// The commands of a block: a line that ends in a pipe or a backslash continues.
fn commands(block: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    for line in block.lines() {
        let line = without_remark(line);
        let last = commands.last_mut().expect("there is always one");
        last.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !line.ends_with(['|', '\\']) {
            commands.push(String::new());
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[test]
fn the_commands_of_the_pages_do_their_work() {
    let mut ran = BTreeSet::new();
    for (page, block) in shown() {
        if !entries().any(|entry| entry[2] == "here" && is_about(entry, &page, &block)) {
            continue;
        }
        let scene = Scene::new();
        for command in commands(&block) {
            let line = if is_for_a_cluster(&command) {
                format!("{command} --help")
            } else {
                command.clone()
            };
            // For zsh; the shell of the tests is bash.
            let outcome = scene.typed(&format!("fpath=(. .); {line}"));
            let code = outcome.status.code();
            assert!(
                code.is_some_and(|code| code <= i32::from(line.contains("--diff"))),
                "{page}: {line}: {outcome:?}"
            );
            ran.insert(command);
        }
    }
    assert!(ran.len() > 20, "{ran:?}");
}
