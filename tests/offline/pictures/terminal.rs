//! What a terminal of 80 columns shows after a command, with its colours.

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;

use super::draw::Run;
use crate::documents::read;
use crate::pages;
use crate::support::program;

const COLUMNS: usize = 80;

/// The command as it is typed, and what it prints.
pub(super) fn typed(command: &str) -> Vec<Vec<Run>> {
    let printed = if let Some(file) = command.strip_prefix("kubectl apply -f ") {
        denial(file)
    } else {
        assert!(command.starts_with("poolgate "), "{command}");
        pages::on_terminal(COLUMNS, &format!("{command} --color=always"))
    };
    let mut lines = vec![vec![
        ("green b".to_owned(), "$ ".to_owned()),
        ("b".to_owned(), command.to_owned()),
    ]];
    lines.extend(printed.trim_end().lines().flat_map(|line| wrapped(runs(line))));
    lines
}

/// What kubectl prints if poolgate denies the NodePool of this file: the causes in the answer, as kubectl writes them.
fn denial(file: &str) -> String {
    let text = read(file);
    let document = parse(&text, &Limits::default()).next().expect("a document");
    let object = document.into_value();
    let mut review: Value =
        serde_json::from_str(&read("docs/examples/five-mistakes.review.json")).expect("a review");
    review["request"]["name"] = object["metadata"]["name"].clone();
    review["request"]["object"] = object;
    let answer = program::run(&["admit"], &review.to_string()).stdout;
    let answer: Value = serde_json::from_str(&answer).expect("an answer");
    let details = &answer["response"]["status"]["details"];
    let of = |value: &Value, field: &str| value[field].as_str().expect("a text").to_owned();
    let causes = details["causes"].as_array().expect("causes");
    let causes: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}: {}", of(cause, "field"), of(cause, "message")))
        .collect();
    let invalid = format!("The NodePool \"{}\" is invalid:", of(details, "name"));
    match &causes[..] {
        [only] => format!("{invalid} {only}"),
        several => format!("{invalid}\n* {}", several.join("\n* ")),
    }
}

/// A line with its colours: the parts between escape sequences, and the classes of each.
fn runs(line: &str) -> Vec<Run> {
    let mut pieces = line.split("\u{1b}[");
    let mut runs = vec![(String::new(), pieces.next().unwrap_or_default().to_owned())];
    let mut classes: Vec<&str> = Vec::new();
    for piece in pieces {
        let (codes, text) = piece.split_once('m').expect("a colour");
        for code in codes.split(';') {
            classes.push(match code {
                "" | "0" => {
                    classes.clear();
                    continue;
                }
                "1" => "b",
                "31" | "91" => "red",
                "32" | "92" => "green",
                "33" | "93" => "yellow",
                "34" | "94" => "blue",
                "36" | "96" => "cyan",
                other => panic!("no class has the colour {other}"),
            });
        }
        runs.push((classes.join(" "), text.to_owned()));
    }
    runs.retain(|(_, text)| !text.is_empty());
    runs
}

/// A line broken between words, so that it can be read; a terminal would break it at any character.
fn wrapped(runs: Vec<Run>) -> Vec<Vec<Run>> {
    let mut lines = vec![Vec::new()];
    let mut room = COLUMNS;
    for (classes, text) in runs {
        for word in text.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if length > room && room < COLUMNS {
                lines.push(Vec::new());
                room = COLUMNS;
            }
            room = room.saturating_sub(word.chars().count());
            let line: &mut Vec<Run> = lines.last_mut().expect("there is always one");
            match line.last_mut() {
                Some((last, text)) if *last == classes => text.push_str(word),
                _ => line.push((classes.clone(), word.to_owned())),
            }
        }
    }
    lines
}
