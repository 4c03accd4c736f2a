//! A change to an object that a program may make without asking.

use serde_json::Value;

/// What to change at the field that a finding points at. Only what the author can have meant: the same value in the
/// notation that is legal, or the one legal spelling of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Write this text, number or boolean in place of the value.
    Write(Value),
    /// Put the value in quotes, as it is written: YAML reads `012`, `1.10` and `on` as other things, so only who has the
    /// author's text can do it.
    Quote,
    /// Give the field this name.
    Rename(String),
}

impl Fix {
    /// Write this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Write(Value::String(text.into()))
    }

    /// The advice that goes with [`Fix::Quote`], for a value that is written like this.
    pub fn quoting(written: &str) -> String {
        format!("write it in quotes: \"{written}\"")
    }

    /// Write the word of a list that is the same but for case and blanks around it.
    pub fn spelling<'w>(text: &str, words: impl IntoIterator<Item = &'w &'w str>) -> Option<Self> {
        let word = words
            .into_iter()
            .find(|word| word.eq_ignore_ascii_case(text.trim()))?;
        Some(Self::text(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_case_and_blanks_are_a_spelling() {
        let words = ["Hard", "Soft"];
        assert_eq!(Fix::spelling(" soft", &words), Some(Fix::text("Soft")));
        assert_eq!(Fix::spelling("softt", &words), None);
    }
}
