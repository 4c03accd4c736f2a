//! The pictures of a terminal: what it shows after the commands of each. `POOLGATE_WRITE=1` writes them; otherwise a picture
//! that differs from the output fails. The other pictures are SVG files kept by hand.

use std::fmt::Write as _;
use std::process::Command;

use poolgate_core::manifest::{Limits, parse};
use regex::Regex;
use serde_json::Value;

use crate::documents::{WRITE, path, read};
use crate::pages;
use crate::support::process::run;
use crate::support::program::{self, root};

/// The name of a picture, what it shows in words, and its commands.
const TERMINALS: [(&str, &str, &[&str]); 1] = [(
    "denial",
    "kubectl apply of a NodePool is denied with the field, the reason and the cure. poolgate lint shows the same kind of \
     mistake in a file, with its line, its column and its fix.",
    &[
        "kubectl apply -f docs/examples/frozen.yaml",
        "poolgate lint --select=schedule-syntax docs/examples/five-mistakes.yaml",
    ],
)];

const COLUMNS: usize = 80;

/// Colours for a light background, then for a dark one.
const STYLE: &str = "\
.m{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:13px;white-space:pre;fill:#1f2328}\
.m tspan{white-space:pre}.b{font-weight:600}.bg{fill:#ffffff}.term{fill:#f6f8fa;stroke:#d1d9e0}\
.red{fill:#cf222e}.green{fill:#1a7f37}.yellow{fill:#9a6700}.blue{fill:#0550ae}.cyan{fill:#1b7c83}\
@media (prefers-color-scheme:dark){.m{fill:#f0f6fc}.bg{fill:#0d1117}.term{fill:#151b23;stroke:#3d444d}\
.red{fill:#ff7b72}.green{fill:#7ee787}.yellow{fill:#e3b341}.blue{fill:#79c0ff}.cyan{fill:#76e3ea}}";

/// A part of a terminal's line: its classes and its text.
type Run = (String, String);

/// The command as it is typed, and what it prints.
fn typed(command: &str) -> Vec<Vec<Run>> {
    let mut lines = vec![vec![
        ("green b".to_owned(), "$ ".to_owned()),
        ("b".to_owned(), command.to_owned()),
    ]];
    if let Some(file) = command.strip_prefix("kubectl apply -f ") {
        lines.extend(denial(file).lines().flat_map(|line| wrapped(runs(line))));
        return lines;
    }
    assert!(command.starts_with("poolgate "), "{command}");
    let printed = pages::on_terminal(COLUMNS, &format!("{command} --color=always"));
    for line in printed.trim_end().lines().map(runs) {
        let width: usize = line.iter().map(|(_, text)| text.chars().count()).sum();
        assert!(width <= COLUMNS, "a terminal breaks this line: {line:?}");
        lines.push(line);
    }
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

/// A picture in SVG of these lines.
fn drawn(title: &str, lines: &[Vec<Run>]) -> String {
    let high = lines.len() * 18 + 28;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"664\" height=\"{high}\" viewBox=\"0 0 664 {high}\" role=\"img\" \
         aria-label=\"{title}\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"bg\" width=\"664\" height=\"{high}\"/>\n\
         <rect class=\"term\" x=\"1\" y=\"1\" width=\"662\" height=\"{}\" rx=\"8\"/>\n",
        high - 2
    );
    for (number, runs) in lines.iter().enumerate() {
        let y = number * 18 + 27;
        let _ = write!(svg, r#"<text class="m" x="16" y="{y}" xml:space="preserve">"#);
        for (classes, text) in runs {
            let _ = write!(svg, r#"<tspan class="{classes}">{}</tspan>"#, escaped(text));
        }
        svg.push_str("</text>\n");
    }
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[test]
fn pictures_show_what_a_terminal_shows() {
    for (name, title, commands) in TERMINALS {
        let shown: Vec<_> = commands.iter().map(|command| typed(command)).collect();
        // An empty line between them.
        let drawn = drawn(title, &shown.join(&Vec::new()));
        let name = format!("docs/pictures/{name}.svg");
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(path(&name), &drawn).expect("a picture");
        }
        assert!(
            read(&name) == drawn,
            "{name}: tests/generated-files --write draws it again"
        );
    }
}

#[test]
fn pages_show_only_pictures_that_exist_and_say_what_each_shows() {
    let mut git = Command::new("git");
    let pages = run(git.args(["ls-files", "*.md"]).current_dir(root()), "").success();
    let shown = Regex::new(r"pictures/([a-z-]+\.svg)").expect("a pattern");
    let without_words = Regex::new(r#"!\[\s*\]|<img (?:[^a>]|a[^l>])*>|alt="""#).expect("a pattern");
    for page in pages.lines() {
        let text = read(page);
        for name in shown.captures_iter(&text) {
            let picture = format!("docs/pictures/{}", &name[1]);
            let drawn = read(&picture);
            roxmltree::Document::parse(&drawn).unwrap_or_else(|error| panic!("{page}: {picture}: {error}"));
        }
        assert_eq!(
            without_words.find(&text).map(|found| found.as_str()),
            None,
            "{page}"
        );
    }
}
