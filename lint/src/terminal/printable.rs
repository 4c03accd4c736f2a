//! The user's text, safe to print.

use poolgate_core::diagnostic::quoted;

/// Longest name that Kubernetes gives an object, in bytes.
const LONGEST_NAME: usize = 253;

/// A text with everything that could move the cursor, forge a line or turn the reading direction escaped.
pub fn clean(text: &str) -> String {
    let is_safe = |character: char| {
        !character.is_control() && !matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return text.to_owned();
    }
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

/// A text for XML 1.0, which forbids some characters even if they are escaped. Quotes stay as they are.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The name of an object: as it is, or in quotes and shortened where Kubernetes takes no such name.
pub fn name(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        quoted(name)
    }
}
