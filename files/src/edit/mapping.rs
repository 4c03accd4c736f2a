//! Entries of a mapping in the style of the text around them: inserted, replaced, removed, or in the place of the one around
//! them.

use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::manifest::{Document, NodeKind, NodeRef, Span, Style};
use serde_json::Value;

use super::{Replacement, yaml};

/// The node at a path; `None` if the path leads through an alias or a merge, because other fields share its value.
pub fn node_at<'d, 't>(document: &'d Document<'t>, path: &FieldPath) -> Option<NodeRef<'d, 't>> {
    let mut segments = path.segments().iter();
    segments.try_fold(document.root()?, |node, segment| match segment {
        Segment::Key(key) => node.get(key),
        Segment::Index(index) => node.item(*index),
    })
}

/// The insertion of entries as the last ones of a mapping: a comment above a key, or behind a value, stays there. `None` if
/// `mapping` is not written as one, or if it is empty and has no comment: it is then replaced as a whole.
pub fn into_mapping(
    text: &str,
    mapping: NodeRef<'_, '_>,
    entries: &[(String, Value)],
) -> Option<Replacement> {
    match mapping.kind() {
        NodeKind::Mapping(Style::Block) => block(text, mapping, entries),
        NodeKind::Mapping(Style::Flow) => flow(text, mapping, entries),
        _ => None,
    }
}

/// On a new line, after that of the last entry.
fn block(text: &str, mapping: NodeRef<'_, '_>, entries: &[(String, Value)]) -> Option<Replacement> {
    let (first, _) = mapping.entries().next()?;
    let separator = separator(text, first.span().start());
    let by = yaml::Indentation::of(text);
    let mut new = String::new();
    for (key, value) in entries {
        for line in yaml::entry(key, value, by).lines() {
            new.push_str(&separator);
            new.push_str(line);
        }
    }
    let end = mapping.span().end();
    let line = text.get(end..)?.split('\n').next()?;
    let end = end + line.trim_end_matches('\r').len();
    let column = line_before(text, first.span().start()).chars().count();
    Some(inserted(behind_comments(text, end, column)?, new))
}

/// The end of the last comment below a line that belongs to a mapping whose keys are at a column; the end of the line if
/// there is none. At the left margin a comment may belong to what follows.
fn behind_comments(text: &str, end: usize, column: usize) -> Option<usize> {
    let mut at = end;
    let rest = text.get(end..)?;
    let mut next = end + rest.find('\n').map_or(rest.len(), |newline| newline + 1);
    for line in text.get(next..)?.split_inclusive('\n') {
        let words = line.trim_start_matches(' ');
        let blanks = line.len() - words.len();
        if words.starts_with('#') && blanks >= column.max(1) {
            at = next + line.trim_end_matches(['\n', '\r']).len();
        } else if !words.trim().is_empty() {
            break;
        }
        next += line.len();
    }
    Some(at)
}

/// After the last entry: on a new line if that entry has its own line, else in the same line.
fn flow(text: &str, mapping: NodeRef<'_, '_>, entries: &[(String, Value)]) -> Option<Replacement> {
    let is_json = mapping.is_in_json();
    let Some((last, last_value)) = mapping.entries().last() else {
        let inside = mapping.span().slice(text).strip_prefix('{')?.strip_suffix('}')?;
        let new: Vec<String> = entries
            .iter()
            .map(|(key, value)| yaml::flow_entry(key, value))
            .collect();
        let at = mapping.span().start() + 1;
        return (!inside.trim().is_empty()).then(|| inserted(at, new.join(", ")));
    };
    let before = line_before(text, last.span().start());
    let has_own_line = before.trim().is_empty();
    let is_compact = text.get(last.span().end()..last_value.span().start())? == ":";
    let separator = match (has_own_line, is_compact) {
        (true, _) => format!("{}{before}", newline(text)),
        (false, true) => String::new(),
        (false, false) => " ".to_owned(),
    };
    let entry = |(key, value): &(String, Value)| {
        Some(match (is_json, has_own_line) {
            (false, _) => yaml::flow_entry(key, value),
            (true, true) => {
                let pretty = serde_json::to_string_pretty(value).ok()?;
                let lines: Vec<&str> = pretty.lines().collect();
                format!("{}: {}", Value::from(key.as_str()), lines.join(&separator))
            }
            (true, false) => format!("{}:{separator}{value}", Value::from(key.as_str())),
        })
    };
    let new: Option<Vec<String>> = entries.iter().map(entry).collect();
    let new = separator.clone() + &new?.join(&format!(",{separator}"));
    let end = last_value.span().end();
    // A comment behind the last value stays with it.
    let behind = text.get(end..)?.split('\n').next()?.trim_end_matches('\r');
    let comment = behind.trim_start().strip_prefix(',').unwrap_or(behind);
    if has_own_line && comment.trim_start().starts_with('#') {
        return Some(Replacement {
            span: Span::new(end, end + behind.len()),
            text: format!(",{comment}{new}"),
        });
    }
    Some(inserted(end, format!(",{new}")))
}

/// The insertion of a value after a key that has none.
pub fn behind_key(text: &str, key: NodeRef<'_, '_>, value: &Value) -> Option<Replacement> {
    let end = key.span().end();
    let colon = text.get(end..)?.find(':')?;
    let is_next = text.get(end..end + colon)?.trim().is_empty();
    is_next.then(|| inserted(end + colon + 1, format!(" {}", yaml::flow(value))))
}

/// The replacement of a value on one line. `None` for an alias: other fields share its value.
pub fn in_place_of(text: &str, node: NodeRef<'_, '_>, value: &Value) -> Option<Replacement> {
    let new = match node.kind() {
        NodeKind::Alias => return None,
        _ if node.is_in_json() => value.to_string(),
        NodeKind::Scalar => yaml::in_quotes_of(node.span().slice(text), value),
        NodeKind::Mapping(_) | NodeKind::Sequence(_) => yaml::flow(value),
    };
    Some(Replacement {
        span: node.span(),
        text: new,
    })
}

fn inserted(at: usize, text: String) -> Replacement {
    Replacement {
        span: Span::new(at, at),
        text,
    }
}

/// The text between two lines, the second of which begins at the column of an offset.
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

/// The span of an entry with what belongs to it, and nothing instead; `None` if more than the entry would go, such as a
/// comment.
pub fn removed(text: &str, key: Span, value: Span) -> Option<(Span, String)> {
    if let Some(line) = indentation(text, key) {
        // A comment above would be taken for one about the next key.
        let above = text.get(..line)?.lines().next_back().unwrap_or_default();
        if above.trim_start().starts_with('#') {
            return None;
        }
        let behind = text.get(value.end()..)?;
        let rest = behind.split_inclusive('\n').next().unwrap_or_default();
        // In JSON a comma follows.
        return ["", ","]
            .contains(&rest.trim())
            .then(|| (Span::new(line, value.end() + rest.len()), String::new()));
    }
    let (before, behind) = (text.get(..key.start())?, text.get(value.end()..)?);
    if let Some(next) = behind.trim_start_matches(' ').strip_prefix(',') {
        let end = text.len() - next.trim_start_matches(' ').len();
        return Some((Span::new(key.start(), end), String::new()));
    }
    let start = before.trim_end_matches(' ').strip_suffix(',')?.len();
    Some((Span::new(start, value.end()), String::new()))
}

/// The span of an entry whose value is a mapping, and the entries of that with the entry's indentation; `None` if something
/// else is between its key and its value, such as a comment.
pub fn unwrapped(text: &str, key: Span, value: Span) -> Option<(Span, String)> {
    let between = text
        .get(key.end()..value.start())?
        .trim_start()
        .strip_prefix(':')?;
    if !between.trim().is_empty() {
        return None;
    }
    let span = Span::new(key.start(), value.end());
    let inner = value.slice(text);
    if let Some(inner) = inner.strip_prefix('{') {
        let inner = inner.strip_suffix('}')?.trim().trim_end_matches(',');
        // On a line of its own only one entry can stand without braces.
        let is_block = indentation(text, key).is_some();
        return (!is_block || !inner.contains(',')).then(|| (span, inner.to_owned()));
    }
    let column = |at: usize| Some(text.get(..at)?.rsplit('\n').next()?.len());
    let by = column(value.start())?.checked_sub(column(key.start())?)?;
    let mut lines = inner.split('\n');
    let mut dedented = lines.next()?.to_owned();
    for line in lines {
        dedented.push('\n');
        let blanks = line.len() - line.trim_start_matches(' ').len();
        dedented.push_str(line.get(by.min(blanks)..)?);
    }
    Some((span, dedented))
}

/// Where the line of a key begins, if nothing but blanks is before the key.
fn indentation(text: &str, key: Span) -> Option<usize> {
    let before = text.get(..key.start())?;
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    before
        .get(line..)?
        .bytes()
        .all(|byte| byte == b' ')
        .then_some(line)
}
