//! The page of questions: for each answer a command is run, and the answer found in its output.

use std::collections::BTreeSet;
use std::fs;

use crate::pages::typed;
use crate::support::program::root;

const PAGE: &str = include_str!("../../docs/questions.md");
/// A line for each command: the question's heading on the page, Karpenter's issues that ask it (`aws#` for the AWS
/// provider's, `-` for none), the command, and words of its output.
const ANSWERS: &str = include_str!("questions.tsv");
/// These answers need a cluster: `tests/live` has them.
const IN_A_CLUSTER: [&str; 2] = [
    "Why does this node stay?",
    "Why is a NodePool full with fewer nodes than its limit?",
];

fn answers() -> impl Iterator<Item = [&'static str; 4]> {
    ANSWERS.lines().map(|line| {
        let cells: Vec<_> = line.split('\t').collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("not four cells: {line}"))
    })
}

/// Words without the layout between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_answer_is_found_in_the_output_of_its_command() {
    for [question, issues, command, answer] in answers() {
        assert!(issues == "-" || issues.contains('#'), "{question}: {issues}");
        assert!(answer.len() > 20, "{question}: {answer}");
        let outcome = typed(command);
        assert_ne!(outcome.status.code(), Some(2), "{command}: {outcome:?}");
        let said = words(&(outcome.stdout + &outcome.stderr)).replace("\\\"", "\"");
        assert!(said.contains(answer), "{question}\n{command}\n{said}");
    }
}

#[test]
fn every_question_of_the_page_has_an_answer_that_is_tested() {
    let asked: BTreeSet<_> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    let mut answered: BTreeSet<_> = answers().map(|[question, ..]| question).collect();
    answered.extend(IN_A_CLUSTER);
    assert_eq!(asked, answered);
}

#[test]
fn every_manifest_of_the_questions_is_used() {
    for file in fs::read_dir(root().join("tests/data/questions")).expect("manifests") {
        let name = file.expect("an entry").file_name();
        let name = name.to_str().expect("UTF-8");
        assert!(
            answers().any(|[_, _, command, _]| command.contains(name)),
            "{name}"
        );
    }
}
