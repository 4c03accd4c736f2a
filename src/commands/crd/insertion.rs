//! A new entry in a mapping, written into the text around it in the style of its neighbours.
//!
//! Knows nothing of definitions.

use serde_json::Value;

use crate::manifest::{NodeRef, Shape, Style};

/// Text that comes in, and where. Nothing is taken away.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    at: usize,
    text: String,
}

/// The text with all insertions made.
pub(super) fn apply(text: &str, mut insertions: Vec<Insertion>) -> String {
    insertions.sort_by_key(|insertion| insertion.at);
    let mut out =
        String::with_capacity(text.len() + insertions.iter().map(|new| new.text.len()).sum::<usize>());
    let mut copied = 0;
    for Insertion { at, text: new } in insertions {
        out.push_str(text.get(copied..at).unwrap_or_default());
        out.push_str(&new);
        copied = at;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// An entry that a mapping does not have.
#[derive(Debug)]
pub(super) struct Entry<'e> {
    /// Its key.
    pub(super) key: &'e str,
    /// Its value.
    pub(super) value: &'e Value,
    /// Key and value as YAML in block style.
    pub(super) yaml: &'e str,
}

/// How an entry comes into a mapping. None if `mapping` is not written as one.
pub(super) fn into_mapping(text: &str, mapping: NodeRef<'_, '_>, entry: &Entry<'_>) -> Option<Insertion> {
    match mapping.shape() {
        Shape::Mapping(Style::Block) => block(text, mapping, entry),
        Shape::Mapping(Style::Flow) => flow(text, mapping, entry),
        _ => None,
    }
}

/// Before the first key that comes later in the alphabet, else behind the last entry's line.
fn block(text: &str, mapping: NodeRef<'_, '_>, entry: &Entry<'_>) -> Option<Insertion> {
    let mut keys = mapping.entries().map(|(key, _)| key);
    let first = keys.next()?.span().start();
    let separator = format!("{}{}", newline(text), " ".repeat(column(text, first)));
    let lines: Vec<&str> = entry.yaml.lines().collect();
    let lines = lines.join(&separator);
    if let Some(next) = keys.find(|key| key.text() > Some(entry.key)) {
        return Some(Insertion {
            at: next.span().start(),
            text: lines + &separator,
        });
    }
    let end = mapping.span().end();
    let line = text.get(end..)?.split('\n').next()?;
    Some(Insertion {
        at: end + line.trim_end_matches('\r').len(),
        text: separator + &lines,
    })
}

/// Behind the last entry: on lines of its own where that has one, else in the same line.
fn flow(text: &str, mapping: NodeRef<'_, '_>, entry: &Entry<'_>) -> Option<Insertion> {
    let key = Value::from(entry.key);
    let Some((last, value)) = mapping.entries().last() else {
        return Some(Insertion {
            at: mapping.span().start() + 1,
            text: format!("{key}:{}", entry.value),
        });
    };
    let before = line_before(text, last.span().start());
    let between = text.get(last.span().end()..value.span().start())?;
    let text = if before.trim().is_empty() {
        let separator = format!("{}{before}", newline(text));
        let pretty = serde_json::to_string_pretty(entry.value).ok()?;
        let lines: Vec<&str> = pretty.lines().collect();
        format!(",{separator}{key}: {}", lines.join(&separator))
    } else if between == ":" {
        format!(",{key}:{}", entry.value)
    } else {
        format!(", {key}: {}", entry.value)
    };
    Some(Insertion {
        at: value.span().end(),
        text,
    })
}

/// How many characters stand before a place in its line.
fn column(text: &str, at: usize) -> usize {
    line_before(text, at).chars().count()
}

fn line_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default()
}

fn newline(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
