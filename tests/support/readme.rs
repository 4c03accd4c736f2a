//! What the documentation shows, so that tests can hold it to that.

/// The first block of code of the README in `language` that begins with `start`, without the fences.
pub(crate) fn block(language: &str, start: &str) -> &'static str {
    block_of(include_str!("../../README.md"), language, start)
}

/// The same of another page.
pub(crate) fn block_of<'a>(page: &'a str, language: &str, start: &str) -> &'a str {
    let opening = format!("```{language}\n");
    page.split(opening.as_str())
        .skip(1)
        .filter_map(|text| text.split("```").next())
        .find(|block| block.starts_with(start))
        .unwrap_or_else(|| panic!("there is no {language} that begins with {start}"))
}
