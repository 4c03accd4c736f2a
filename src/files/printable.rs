//! Text of the user's as it may be printed.

/// A text with everything that could move the cursor, forge a line or turn the reading direction escaped.
pub(crate) fn clean(text: &str) -> String {
    let is_safe = |character: char| {
        !character.is_control() && !matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        if is_safe(character) {
            cleaned.push(character);
        } else {
            cleaned.extend(character.escape_default());
        }
    }
    cleaned
}
