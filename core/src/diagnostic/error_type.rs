//! The kinds of mistake that the API server knows, and how its message for each begins.

use crate::json::Json;
use std::fmt;

/// Longest value, in characters, that a message quotes; longer ones are cut. It easily fits on a terminal line.
const LONGEST_QUOTE: usize = 80;

/// What is wrong with a field: `field.ErrorType` of `k8s.io/apimachinery`, as far as poolgate needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorType {
    /// The value is not legal.
    Invalid {
        /// The value as the message shows it; see [`quoted`].
        value: String,
    },
    /// The value is legal; it is only pointed out.
    Note {
        /// The value as the message shows it; see [`quoted`].
        value: String,
    },
    /// The value has the wrong JSON type.
    Mistyped {
        /// The value as the message shows it; see [`quoted`].
        value: String,
    },
    /// The field is required and missing.
    Required,
    /// The value is not one of the enumeration.
    Unsupported {
        /// The value as the message shows it; see [`quoted`].
        value: String,
        /// The words that are supported there.
        supported: &'static [&'static str],
    },
    /// The API has no such field.
    Unknown,
    /// The list or map has too many entries.
    TooMany {
        /// How many there are.
        actual: usize,
    },
}

impl ErrorType {
    /// The name of the problem in `status.details.causes[].reason`.
    pub const fn cause_reason(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::Note { .. } | Self::Unknown => "FieldValueInvalid",
            Self::Mistyped { .. } => "FieldValueTypeInvalid",
            Self::Required => "FieldValueRequired",
            Self::Unsupported { .. } => "FieldValueNotSupported",
            Self::TooMany { .. } => "FieldValueTooMany",
        }
    }

    /// A legal value, shown as it is in the object.
    pub fn note(value: &Json<'_>) -> Self {
        Self::Note { value: shown(value) }
    }

    /// An illegal value, given as the message shows it.
    pub(crate) fn showing(value: impl Into<String>) -> Self {
        Self::Invalid { value: value.into() }
    }

    /// A value of the wrong type, shown as it is in the object.
    pub fn mistyped(value: &Json<'_>) -> Self {
        Self::Mistyped { value: shown(value) }
    }
}

/// A text that is not legal here, shown in quotes.
impl From<&str> for ErrorType {
    fn from(text: &str) -> Self {
        Self::showing(quoted(text))
    }
}

/// A number that is not legal here, shown as it is.
impl From<i64> for ErrorType {
    fn from(number: i64) -> Self {
        Self::showing(number.to_string())
    }
}

/// An illegal value, shown as it is in the object.
impl From<&Json<'_>> for ErrorType {
    fn from(value: &Json<'_>) -> Self {
        Self::showing(shown(value))
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { value } | Self::Mistyped { value } => write!(f, "Invalid value: {value}"),
            Self::Note { value } => f.write_str(value),
            Self::Required => f.write_str("Required value"),
            Self::Unknown => f.write_str("Unknown field"),
            Self::Unsupported { value, supported } => {
                write!(f, "Unsupported value: {value}: supported values: ")?;
                for (position, word) in supported.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(f, "{comma}\"{word}\"")?;
                }
                Ok(())
            }
            Self::TooMany { actual } => write!(f, "Too many: {actual}"),
        }
    }
}

/// A text from the object in quotes, shortened, with control characters escaped.
pub fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(LONGEST_QUOTE) + 5);
    shown.push('"');
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\'' | b'\\');
    if text.len() <= LONGEST_QUOTE && text.bytes().all(is_plain) {
        shown.push_str(text);
    } else {
        let mut characters = text.chars();
        for character in characters.by_ref().take(LONGEST_QUOTE) {
            shown.extend(character.escape_debug());
        }
        if characters.next().is_some() {
            shown.push('…');
        }
    }
    shown.push('"');
    shown
}

/// How many of something, such as `1 node` or `2 NodePools or NodeClaims`.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ if what.contains(" or ") => format!("{count} {}s", what.replace(" or ", "s or ")),
        _ if what.ends_with("ch") => format!("{count} {what}es"),
        _ => format!("{count} {what}s"),
    }
}

/// A JSON value on one line; lists and objects only by their kind, because they can be of any size.
fn shown(value: &Json<'_>) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(_) => "[…]".into(),
        Json::Object(_) => "{…}".into(),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sentences_begin_as_the_api_servers_do() {
        assert_eq!(ErrorType::from("1e1.5").to_string(), r#"Invalid value: "1e1.5""#);
        assert_eq!(
            ErrorType::mistyped(&Json::from(5)).to_string(),
            "Invalid value: 5"
        );
        assert_eq!(
            ErrorType::mistyped(&Json::from(&json!({"a": 1}))).to_string(),
            "Invalid value: {…}"
        );
        assert_eq!(ErrorType::Required.to_string(), "Required value");
        assert_eq!(ErrorType::TooMany { actual: 101 }.to_string(), "Too many: 101");
        let unsupported = ErrorType::Unsupported {
            value: quoted("hard"),
            supported: &["Hard", "Soft"],
        };
        assert_eq!(
            unsupported.to_string(),
            r#"Unsupported value: "hard": supported values: "Hard", "Soft""#
        );
    }

    #[test]
    fn only_one_of_something_is_not_a_plural() {
        assert_eq!(counted(1, "patch"), "1 patch");
        assert_eq!(counted(0, "patch"), "0 patches");
        assert_eq!(counted(2, "NodePool or NodeClaim"), "2 NodePools or NodeClaims");
    }

    #[test]
    fn a_quoted_value_is_short_and_holds_no_control_characters() {
        assert_eq!(quoted("a\nb\u{7}"), r#""a\nb\u{7}""#);
        let long = quoted(&"é".repeat(10_000));
        assert_eq!(long.chars().count(), LONGEST_QUOTE + 3);
        assert!(long.ends_with("…\""));
    }
}
