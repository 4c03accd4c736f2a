//! The page of questions: every command is run, and its answer found.

use std::fs;

use crate::pages::typed;
use crate::support::program::root;

/// The questions with their commands and answers.
fn rows() -> Vec<(String, String, String)> {
    let page = fs::read_to_string(root().join("docs/questions.md")).expect("the page");
    let lines = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`poolgate "));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [question, command, answer] = cells.as_slice() else {
                panic!("{line}");
            };
            (
                (*question).to_owned(),
                command.trim_matches('`').to_owned(),
                (*answer).to_owned(),
            )
        })
        .collect()
}

/// Words without the layout between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_question_has_a_command_that_answers_it() {
    let rows = rows();
    assert_eq!(rows.len(), 25, "the recorded questions");
    for (question, command, answer) in rows {
        assert!(
            question.contains('#') && answer.len() > 20,
            "{question}: {answer}"
        );
        let outcome = typed(&command);
        assert_ne!(outcome.status.code(), Some(2), "{command}: {outcome:?}");
        let said = words(&(outcome.stdout + &outcome.stderr)).replace("\\\"", "\"");
        assert!(said.contains(&answer), "{question}\n{command}\n{said}");
    }
}

#[test]
fn every_manifest_of_the_questions_is_asked_about() {
    let rows = rows();
    for file in fs::read_dir(root().join("docs/examples/questions")).expect("manifests") {
        let name = file.expect("an entry").file_name();
        let name = name.to_str().expect("UTF-8");
        assert!(
            rows.iter().any(|(_, command, _)| command.contains(name)),
            "{name}"
        );
    }
}
