//! A whole entry of a mapping as text: how it is removed, and how the entries of its value take its place.

use poolgate_core::manifest::Span;

/// The span of an entry with what belongs to it, and nothing instead; `None` if more than the entry would go, such as a
/// comment.
pub fn removed(text: &str, key: Span, value: Span) -> Option<(Span, String)> {
    if let Some(line) = indentation(text, key) {
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
