//! What the README shows, so that tests can hold it to that.

/// The first block of code in `language` that begins with `start`, without the fences.
pub(crate) fn block(language: &str, start: &str) -> &'static str {
    let readme = include_str!("../../README.md");
    let opening = format!("```{language}\n");
    readme
        .split(opening.as_str())
        .skip(1)
        .filter_map(|text| text.split("```").next())
        .find(|block| block.starts_with(start))
        .unwrap_or_else(|| panic!("README.md shows no {language} that begins with {start}"))
}
