//! A mistake in a string, and how an error quotes a piece of it.

use crate::diagnostic::Suggestion;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Mistake {
    /// A clause without a full stop.
    pub why: &'static str,
    /// What to write instead, if that is certain.
    pub suggestion: Option<Suggestion>,
}

impl Mistake {
    /// A mistake without a suggestion.
    pub(crate) const fn new(why: &'static str) -> Self {
        Self {
            why,
            suggestion: None,
        }
    }

    /// Adds what to write instead, if that is known.
    pub(crate) fn suggest(self, suggestion: Option<Suggestion>) -> Self {
        Self { suggestion, ..self }
    }
}

/// Longest piece, in characters, that an error keeps. No legal item of any grammar here is longer.
pub const LONGEST: usize = 40;

/// A piece of the input, shortened, with characters escaped that could move the cursor or fake a line. Quotes are
/// not escaped: the piece is in the middle of a clause.
pub fn excerpt(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(LONGEST) + 3);
    let mut characters = text.chars();
    for character in characters.by_ref().take(LONGEST) {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Whether the end was cut off, so that the end of the piece says nothing about the input.
pub fn is_cut(excerpt: &str) -> bool {
    excerpt.ends_with('…')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_holds_no_control_characters() {
        assert_eq!(excerpt("\"0\u{1b}\n"), "\"0\\u{1b}\\n");
        let long = excerpt(&"é".repeat(100_000));
        assert_eq!(long.chars().count(), LONGEST + 1);
        assert!(is_cut(&long));
        assert!(!is_cut(&excerpt(&"é".repeat(LONGEST))));
    }
}
