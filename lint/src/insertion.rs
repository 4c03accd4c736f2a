//! Inserts an entry into a mapping of a text, or replaces a value, in the style of the text around it.
//!
//! Does not depend on definitions or NodePools.

use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::manifest::{Document, NodeKind, NodeRef, Style};
use serde_json::Value;

use crate::files::yaml;

/// Text to insert at the offset `at`; the text from `at` until `until` is removed.
#[derive(Debug, PartialEq, Eq)]
pub struct Insertion {
    at: usize,
    until: usize,
    text: String,
}

impl Insertion {
    /// Text to insert; nothing is removed.
    fn new(at: usize, text: String) -> Self {
        Self { at, until: at, text }
    }
}

/// The text with all insertions made.
pub fn apply(text: &str, mut insertions: Vec<Insertion>) -> String {
    insertions.sort_by_key(|insertion| insertion.at);
    let mut out =
        String::with_capacity(text.len() + insertions.iter().map(|new| new.text.len()).sum::<usize>());
    let mut copied = 0;
    for Insertion { at, until, text: new } in insertions {
        out.push_str(text.get(copied..at).unwrap_or_default());
        out.push_str(&new);
        copied = until;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// Where an entry is inserted into a mapping that is written line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Before the first key that is later in the alphabet.
    Alphabetical,
    /// After all others: a comment above a key stays with the key.
    Last,
}

/// An entry that a mapping does not have.
#[derive(Debug)]
pub struct Entry<'e> {
    pub key: &'e str,
    pub value: &'e Value,
    /// Key and value as YAML in block style.
    pub yaml: &'e str,
    /// Where it is inserted.
    pub order: Order,
}

/// The node at a path; `None` if the path leads through an alias or a merge, because other fields share its value.
pub fn node_at<'d, 't>(document: &'d Document<'t>, path: &FieldPath) -> Option<NodeRef<'d, 't>> {
    let mut segments = path.segments().iter();
    segments.try_fold(document.root()?, |node, segment| match segment {
        Segment::Key(key) => node.get(key),
        Segment::Index(index) => node.items().nth(*index),
    })
}

/// The insertion of an entry into a mapping. `None` if `mapping` is not written as one.
pub fn into_mapping(text: &str, mapping: NodeRef<'_, '_>, entry: &Entry<'_>) -> Option<Insertion> {
    match mapping.kind() {
        NodeKind::Mapping(Style::Block) => block(text, mapping, entry),
        NodeKind::Mapping(Style::Flow) => flow(text, mapping, entry),
        _ => None,
    }
}

/// In alphabetical order, before the first key that is later in the alphabet; else after the last entry's line.
fn block(text: &str, mapping: NodeRef<'_, '_>, entry: &Entry<'_>) -> Option<Insertion> {
    let mut keys = mapping.entries().map(|(key, _)| key);
    let first = keys.next()?.span().start();
    let separator = separator(text, first);
    let lines: Vec<&str> = entry.yaml.lines().collect();
    let lines = lines.join(&separator);
    let next = keys.find(|key| entry.order == Order::Alphabetical && key.text() > Some(entry.key));
    if let Some(next) = next {
        return Some(Insertion::new(next.span().start(), lines + &separator));
    }
    let end = mapping.span().end();
    let line = text.get(end..)?.split('\n').next()?;
    let at = end + line.trim_end_matches('\r').len();
    Some(Insertion::new(at, separator + &lines))
}

/// After the last entry: on a new line if that entry has its own line, else in the same line; as JSON if that entry's
/// key is in quotes.
fn flow(text: &str, mapping: NodeRef<'_, '_>, entry: &Entry<'_>) -> Option<Insertion> {
    let quoted = Value::from(entry.key);
    let Some((last, value)) = mapping.entries().last() else {
        let at = mapping.span().start() + 1;
        let new = if mapping.is_in_json() {
            format!("{quoted}:{}", entry.value)
        } else {
            yaml::flow_entry(entry.key, entry.value)
        };
        return Some(Insertion::new(at, new));
    };
    let before = line_before(text, last.span().start());
    let has_own_line = before.trim().is_empty();
    let is_compact = text.get(last.span().end()..value.span().start())? == ":";
    let separator = if has_own_line {
        format!("{}{before}", newline(text))
    } else {
        let space = if is_compact { "" } else { " " };
        space.to_owned()
    };
    let new = if !last.span().slice(text).starts_with(['"', '\'']) {
        yaml::flow_entry(entry.key, entry.value)
    } else if has_own_line {
        let pretty = serde_json::to_string_pretty(entry.value).ok()?;
        let lines: Vec<&str> = pretty.lines().collect();
        format!("{quoted}: {}", lines.join(&separator))
    } else {
        format!("{quoted}:{separator}{}", entry.value)
    };
    Some(Insertion::new(value.span().end(), format!(",{separator}{new}")))
}

/// The insertion of a value after a key that has none.
pub fn behind_key(text: &str, key: NodeRef<'_, '_>, value: &Value) -> Option<Insertion> {
    let end = key.span().end();
    let colon = text.get(end..)?.find(':')?;
    let is_next = text.get(end..end + colon)?.trim().is_empty();
    is_next.then(|| Insertion::new(end + colon + 1, format!(" {}", yaml::flow(value))))
}

/// The replacement of a value. A block stays a block. `None` for an alias: other fields share its value.
pub fn in_place_of(text: &str, node: NodeRef<'_, '_>, value: &Value) -> Option<Insertion> {
    let new = match node.kind() {
        NodeKind::Alias => return None,
        _ if node.is_in_json() => value.to_string(),
        NodeKind::Sequence(Style::Block) => {
            yaml::items(value.as_array()?).join(&separator(text, node.span().start()))
        }
        NodeKind::Scalar => yaml::in_quotes_of(node.span().slice(text), value),
        NodeKind::Mapping(_) | NodeKind::Sequence(Style::Flow) => yaml::flow(value),
    };
    let (at, until) = (node.span().start(), node.span().end());
    Some(Insertion { at, until, text: new })
}

/// What is between two lines of which the second begins at the column of an offset.
fn separator(text: &str, at: usize) -> String {
    let column = line_before(text, at).chars().count();
    format!("{}{}", newline(text), " ".repeat(column))
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
