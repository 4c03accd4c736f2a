//! The kinds of mistake that the API server knows, and the value that each is about.

use std::borrow::Cow;

use crate::json::Json;

/// Longest value, in characters, that a message quotes; longer ones are cut. It easily fits on a terminal line.
const LONGEST_QUOTE: usize = 80;

/// A list and an object, which can be of any size.
const LIST: &str = "[…]";
const OBJECT: &str = "{…}";

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
        /// The value as the message shows it; see [`quoted`]. `None` if there is none to show.
        value: Option<String>,
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

    /// The value that the mistake is about, as a message shows it; `None` for a list or an object, and if there is none.
    pub fn value(&self) -> Option<Cow<'_, str>> {
        let value = match self {
            Self::Invalid { value } | Self::Mistyped { value } | Self::Unsupported { value } => Some(value),
            Self::Note { value } => value.as_ref(),
            Self::TooMany { actual } => return Some(actual.to_string().into()),
            Self::Required | Self::Unknown => None,
        };
        let is_compound = |value: &&String| matches!(value.as_str(), LIST | OBJECT);
        value
            .filter(|value| !is_compound(value))
            .map(|value| value.as_str().into())
    }

    /// A legal value, shown as it is in the object.
    pub fn note(value: &Json<'_>) -> Self {
        Self::Note {
            value: Some(shown(value)),
        }
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
        Json::Array(_) => LIST.into(),
        Json::Object(_) => OBJECT.into(),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_shown_unless_it_can_be_of_any_size() {
        let value = |error_type: ErrorType| error_type.value().map(Cow::into_owned);
        assert_eq!(value(ErrorType::from("1e1.5")).as_deref(), Some(r#""1e1.5""#));
        assert_eq!(value(ErrorType::mistyped(&Json::from(5))).as_deref(), Some("5"));
        assert_eq!(value(ErrorType::TooMany { actual: 101 }).as_deref(), Some("101"));
        assert_eq!(value(ErrorType::Required), None);
        assert_eq!(value(ErrorType::mistyped(&Json::from(&json!({"a": 1})))), None);
        assert_eq!(value(ErrorType::from(&Json::from(&json!([1])))), None);
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
