//! What to write instead of a mistake: in words, and as a change that a program may make without asking.

use std::fmt;

use serde_json::Value;

/// Longest text, in bytes, for which the nearest word is searched. No word of Karpenter's API is longer.
const LONGEST_GUESSED: usize = 80;

/// What to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// In words: a clause without a full stop.
    pub text: String,
    /// As a change to the object, if only one change is possible.
    pub edit: Option<Edit>,
}

/// A change at the field that a finding points at. Only what the author must have intended: the same value in legal
/// notation, or the one legal spelling of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Replace the value with this text, number or boolean.
    Set(Value),
    /// Put the value in quotes, as written: YAML reads `1.10` and `on` as something else, so this needs the author's text.
    Quote {
        /// Whether the text means a number. Of a number with a leading zero then the value is written, and `012` is ten.
        is_number: bool,
    },
    /// Rename the field to this.
    Rename(String),
    /// Remove the field.
    Remove,
    /// Put the entries of its value in the place of the field.
    Unwrap,
}

impl Suggestion {
    /// To write this text. If YAML would read it as a number, it is shown in quotes.
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

    /// To put a value with this notation in quotes, in a field that means a number or any text.
    pub fn quote(written: &str, is_number: bool) -> Self {
        Self::from(format!("write it in quotes: \"{written}\"")).with(Edit::Quote { is_number })
    }

    /// A question, because the word is only probable.
    pub(crate) fn did_you_mean(word: impl fmt::Display) -> Self {
        Self::from(format!("did you mean {word}?"))
    }

    /// A question for one of the names in a list that a text was probably intended to be: see [`likely_names`].
    pub fn likely_name<'w>(text: &str, names: impl Iterator<Item = &'w str> + Clone) -> Option<Self> {
        let likely = likely_names(text, names);
        (!likely.is_empty()).then(|| Self::did_you_mean(likely.join(" or ")))
    }

    /// The word of a list that equals a text except for case and spaces around it, or else the nearest one.
    pub fn spelling(text: &str, words: &[&str]) -> Option<Self> {
        let same = words.iter().find(|word| word.eq_ignore_ascii_case(text.trim()));
        same.map(|word| Self::write(*word))
            .or_else(|| nearest(text, words.iter().copied()).map(Self::did_you_mean))
    }

    /// Adds this edit, for a program.
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

/// The word that a text was probably intended to be: with at most one typo in three letters, ignoring case. Beyond
/// that it is another word; if two are equally near, none is probable.
pub fn nearest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    nearest_within(usize::MAX, text, words)
}

/// The word that [`nearest`] finds, if it has at most this many typos.
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
        match best {
            Some((least, _)) if slips > least => {}
            Some((least, _)) if slips == least => is_tie = true,
            _ => (best, is_tie) = (Some((slips, word)), false),
        }
    }
    best.filter(|_| !is_tie).map(|(_, word)| word)
}

/// Fewest letters of a name that are looked for in others.
const LEAST_OF_NAME: usize = 3;

/// Most names that are suggested for one text.
const MOST_NAMES: usize = 3;

/// The names that a text was probably intended to be, if names consist of several words: the name with one typo, or
/// those that begin with the text, or those that contain it, or else the [`nearest`]. Empty if there are too many.
pub fn likely_names<'w>(text: &str, names: impl Iterator<Item = &'w str> + Clone) -> Vec<&'w str> {
    if let Some(name) = nearest_within(1, text, names.clone()) {
        return vec![name];
    }
    if text.len() >= LEAST_OF_NAME {
        for has in [str::starts_with::<&str>, str::contains::<&str>] {
            let found: Vec<&str> = names.clone().filter(|name| has(name, text)).collect();
            if !found.is_empty() {
                return if found.len() > MOST_NAMES {
                    Vec::new()
                } else {
                    found
                };
            }
        }
    }
    nearest(text, names).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_case_and_spaces_is_written_and_what_is_near_is_asked() {
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
        let classes = ["default-a", "default-b", "default-xy"];
        assert_eq!(nearest("default-c", classes), None, "a farther word ends no tie");
        assert_eq!(
            nearest("default-xz", classes),
            Some("default-xy"),
            "a nearer one does"
        );
        assert_eq!(nearest(&"E".repeat(1_000_000), words), None);
        assert_eq!(nearest("Empty", []), None);
    }

    #[test]
    fn a_part_of_a_name_is_likelier_than_a_name_that_only_resembles_it() {
        let names = [
            "schedule-syntax",
            "schedule-never-fires",
            "schedule-every",
            "limit-unit",
            "limit-zero",
        ];
        let likely = |text: &str| likely_names(text, names.into_iter());
        assert_eq!(likely("schedule-never"), ["schedule-never-fires"]);
        assert_eq!(likely("never"), ["schedule-never-fires"]);
        assert_eq!(likely("limit"), ["limit-unit", "limit-zero"]);
        assert_eq!(likely("schedule-evry"), ["schedule-every"]);
        assert_eq!(likely("shcedule-sintax"), ["schedule-syntax"]);
        for none in ["", "-", "i", "x", &"e".repeat(1_000_000)] {
            assert_eq!(likely(none), [""; 0]);
        }
        let many = ["a-one", "a-two", "a-three", "a-four"];
        assert_eq!(likely_names("a-", many.into_iter()), [""; 0], "too short");
        let many = ["abc-one", "abc-two", "abc-three", "abc-four"];
        assert_eq!(likely_names("abc", many.into_iter()), [""; 0], "too many");
    }
}
