//! Text that a program fills in later, such as a Helm chart.

/// Whether the line around `offset` contains a template's brackets.
pub(super) fn is_template(text: &str, offset: usize) -> bool {
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
