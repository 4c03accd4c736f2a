//! What to write instead of a mistake: in words, and as a change that a program may make without asking.

use std::fmt;

use serde_json::Value;

/// Longest text, in bytes, for which a nearest word is looked for. No word of Karpenter's API is longer.
const LONGEST_GUESSED: usize = 80;

/// What to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// In words: a clause without final stop.
    pub text: String,
    /// The same as a change to the object, where it can mean nothing else.
    pub edit: Option<Edit>,
}

/// A change at the field that a finding points at. Only what the author can have meant: the same value in the notation
/// that is legal, or the one legal spelling of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Put this text, number or boolean in place of the value.
    Set(Value),
    /// Put the value in quotes, as it is written: YAML reads `012`, `1.10` and `on` as other things, so only who has the
    /// author's text can do it.
    Quote,
    /// Give the field this name.
    Rename(String),
}

impl Suggestion {
    /// To write this text. Where YAML would take it for a number, it is shown in quotes.
    pub fn write(text: impl Into<String>) -> Self {
        let text = text.into();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let words = if is_number {
            format!("write \"{text}\"")
        } else {
            format!("write {text}")
        };
        Self::from(words).with(Edit::Set(Value::String(text)))
    }

    /// To put a value that is written like this in quotes.
    pub fn quote(written: &str) -> Self {
        Self::from(format!("write it in quotes: \"{written}\"")).with(Edit::Quote)
    }

    /// A question, because the word is only probable.
    pub fn did_you_mean(word: impl fmt::Display) -> Self {
        Self::from(format!("did you mean {word}?"))
    }

    /// The word of a list that a text is but for case and blanks around it, or else the one that it is nearest to.
    pub fn spelling(text: &str, words: &[&str]) -> Option<Self> {
        let same = words.iter().find(|word| word.eq_ignore_ascii_case(text.trim()));
        same.map(|word| Self::write(*word))
            .or_else(|| nearest(text, words.iter().copied()).map(Self::did_you_mean))
    }

    /// The same, made by a program with this edit.
    #[must_use]
    pub fn with(mut self, edit: impl Into<Option<Edit>>) -> Self {
        self.edit = edit.into();
        self
    }
}

impl<T: Into<String>> From<T> for Suggestion {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            edit: None,
        }
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The word that a text was probably meant to be: with at most one slip in three letters, whatever their case. Beyond
/// that it is another word; of two that are equally near none is probable.
pub fn nearest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    nearest_within(usize::MAX, text, words)
}

/// The same, with at most so many slips in all.
pub fn nearest_within<'w>(
    most_slips: usize,
    text: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    if text.len() > LONGEST_GUESSED {
        return None;
    }
    let text = text.trim().to_ascii_lowercase();
    let mut best: Option<(usize, &str)> = None;
    let mut is_tie = false;
    for word in words {
        let longest = text.len().max(word.len());
        if text.len().abs_diff(word.len()) * 3 > longest {
            continue;
        }
        let slips = strsim::osa_distance(&text, &word.to_ascii_lowercase());
        if slips * 3 > longest || slips > most_slips {
            continue;
        }
        let found = best.map_or(usize::MAX, |(least, _)| least);
        is_tie = slips == found;
        if slips < found {
            best = Some((slips, word));
        }
    }
    best.filter(|_| !is_tie).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_case_and_blanks_is_written_and_what_is_near_is_asked() {
        let words = ["Hard", "Soft"];
        assert_eq!(
            Suggestion::spelling(" soft", &words),
            Some(Suggestion::write("Soft"))
        );
        assert_eq!(
            Suggestion::spelling("softt", &words),
            Some(Suggestion::did_you_mean("Soft"))
        );
        assert_eq!(Suggestion::spelling("never", &words), None);
    }

    #[test]
    fn the_nearest_word_is_one_slip_in_three_letters_away_and_the_only_one() {
        let words = ["Underutilized", "Empty", "Drifted", "In", "Lte", "Gte"];
        for (text, word) in [
            ("emptied", None),
            ("Emtpy", Some("Empty")),
            ("drift", Some("Drifted")),
            ("underutilised", Some("Underutilized")),
            ("Inn", Some("In")),
            ("Kte", None),
            ("", None),
        ] {
            assert_eq!(nearest(text, words), word, "{text}");
        }
        assert_eq!(nearest(&"E".repeat(1_000_000), words), None);
        assert_eq!(nearest("Empty", []), None);
    }
}
