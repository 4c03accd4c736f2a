//! Text that a program fills in later, such as a Helm chart.

use super::Span;

/// Whether the line around `offset` contains a template's brackets.
pub fn is_template(text: &str, offset: usize) -> bool {
    /// A line of a template is short; a line of anything else may be the whole text.
    const WINDOW: usize = 200;
    let start = text.floor_char_boundary(offset.saturating_sub(WINDOW));
    let end = text.floor_char_boundary(offset.saturating_add(WINDOW).min(text.len()));
    let before = text.get(start..offset).unwrap_or_default();
    let behind = text.get(offset..end).unwrap_or_default();
    let line_start = before.rsplit('\n').next().unwrap_or_default();
    let line_end = behind.split('\n').next().unwrap_or_default();
    let line = [line_start, line_end].concat();
    line.contains("{{") && line.contains("}}")
}

/// The inner of the template's brackets that fill the line before the one at `offset`. YAML takes them for a mapping in a
/// mapping, and finds the mistake only behind them.
pub fn bracket_before(text: &str, offset: usize) -> Option<Span> {
    /// The longest line of a template that is looked at.
    const LONGEST: usize = 200;
    let line_end = text.get(..offset)?.rfind('\n')?;
    let start = text.floor_char_boundary(line_end.saturating_sub(LONGEST));
    let line = text.get(start..line_end)?.rsplit('\n').next()?;
    let action = line.trim_start();
    let at = line_end - action.len();
    (action.starts_with("{{") && action.trim_end().ends_with("}}")).then(|| Span::new(at + 1, at + 2))
}

/// The inner of the template's brackets that the document at `start` begins with. YAML takes them for a mapping in a mapping, and
/// finds the mistake only behind them; no manifest begins so, because kubectl accepts no mapping as a key.
pub fn bracket_at(text: &str, start: usize) -> Option<Span> {
    let document = text.get(start..)?;
    let content = document.strip_prefix("---").unwrap_or(document).trim_start();
    let at = text.len() - content.len();
    content.starts_with("{{").then(|| Span::new(at + 1, at + 2))
}

/// Whether a template is Helm's: no other program has these objects.
pub fn is_helms(text: &str) -> bool {
    const OBJECTS: [&str; 4] = [".Values", ".Release", ".Chart", ".Capabilities"];
    OBJECTS.iter().any(|object| text.contains(object))
}
