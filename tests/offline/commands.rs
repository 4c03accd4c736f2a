//! Each block of commands on the pages is run by a test, or is listed here with the reason why not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::rc::Rc;

use regex::Regex;

use crate::examples::Scene;
use crate::pages::typed;
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
    let tests = tests();
    for entry in entries() {
        let is_shown = shown.iter().any(|(page, block)| is_about(entry, page, block));
        assert!(is_shown, "no page shows it any more: {entry:?}");
        let [of, line, who] = entry;
        if let Some(name) = who.strip_prefix("test ") {
            let file = tests
                .get(name)
                .unwrap_or_else(|| panic!("there is no test {name}"));
            let knows_it = file.contains(page_name(of)) || file.contains(line);
            assert!(knows_it, "the file of {name} names no {of}: {line}");
        } else {
            assert!(who == "here" || who.starts_with("not run: "), "{who}");
        }
    }
}

/// How a test names a page, or the programs that a page is about.
fn page_name(page: &str) -> &str {
    match page {
        "README.md" => "support::readme",
        "manifests/crd/README.md" => "poolgate crd patch",
        "packaging/README.md" => "packaging/",
        page => page.rsplit('/').next().unwrap_or(page),
    }
}

/// All tests by their names, each with the text of its file.
pub(crate) fn tests() -> BTreeMap<String, Rc<str>> {
    let pattern =
        Regex::new(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\n]*\]\s*|//[^\n]*\s*)*(?:async )?fn (\w+)\(");
    let pattern = pattern.expect("a pattern");
    let mut tests = BTreeMap::new();
    for folder in ["core", "files", "src", "tests"] {
        for entry in ignore::WalkBuilder::new(root().join(folder)).build() {
            let path = entry.expect("an entry").into_path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let text: Rc<str> = fs::read_to_string(&path).expect("a source").into();
                let named = pattern.captures_iter(&text).map(|found| found[1].to_owned());
                tests.extend(named.map(|name| (name, Rc::clone(&text))));
            }
        }
    }
    tests
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
        // With its output: of the example files, in the root of the repository.
        if let Some((command, said)) = block.strip_prefix("$ ").and_then(|block| block.split_once('\n')) {
            let outcome = typed(command);
            assert_eq!(outcome.stdout + &outcome.stderr, said, "{page}: {command}");
            continue;
        }
        let scene = Scene::new();
        for command in commands(&block) {
            scene.does_its_work(&page, &command);
            ran.insert(command);
        }
    }
    assert!(ran.len() > 20, "{ran:?}");
}
