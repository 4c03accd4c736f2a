//! The meaning of a scalar to kubectl, which reads YAML 1.1 as go-yaml v2 does.
//!
//! Rust's YAML crates each resolve scalars differently. The tests compare with kubectl's own decoder.

use std::borrow::Cow;

use base64::Engine as _;
use serde_json::Number;

use super::float;
use crate::json::Json;

/// How a scalar is written, as far as its meaning depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Without quotes: may be a number, a boolean or null.
    Plain,
    /// In single or double quotes: always a text.
    Quoted,
    /// As a block, with `|` or `>`: text.
    Block,
}

/// The type that a scalar is given with `!!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    None,
    Text,
    Bool,
    Int,
    Float,
    Null,
    Timestamp,
    Binary,
    /// Kept as text by kubectl, as is anything tagged `!` or `!name`.
    Other,
}

impl Tag {
    /// The tag with `name` after `!!`.
    pub fn named(name: &str) -> Self {
        match name {
            "str" => Self::Text,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "float" => Self::Float,
            "null" => Self::Null,
            "timestamp" => Self::Timestamp,
            "binary" => Self::Binary,
            _ => Self::Other,
        }
    }

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None | Self::Other => "!",
            Self::Text => "!!str",
            Self::Bool => "!!bool",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Null => "!!null",
            Self::Timestamp => "!!timestamp",
            Self::Binary => "!!binary",
        }
    }
}

/// The value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number above the range of [`Scalar::Int`].
    Big(u64),
    Float(f64),
    Text(Cow<'a, str>),
}

/// A scalar that is not what its tag says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongTag;

/// Resolves a scalar to its value.
pub fn resolve(text: Cow<'_, str>, notation: Notation, tag: Tag) -> Result<Scalar<'_>, WrongTag> {
    match (tag, notation) {
        (Tag::None, Notation::Plain) => Ok(plain(text)),
        (Tag::None, Notation::Quoted | Notation::Block) | (Tag::Text | Tag::Other, _) => {
            Ok(Scalar::Text(text))
        }
        (Tag::Binary, _) => decode(&text).ok_or(WrongTag),
        (Tag::Timestamp, _) if is_date(&text) => Ok(Scalar::Text(text)),
        (Tag::Timestamp, _) => Err(WrongTag),
        (Tag::Bool | Tag::Int | Tag::Float | Tag::Null, _) => typed(plain(text), tag).ok_or(WrongTag),
    }
}

/// Whether a word that is written without quotes is text, not a number, boolean or null.
pub fn is_text(word: &str) -> bool {
    matches!(plain(word.into()), Scalar::Text(_))
}

/// Whether a text, written without quotes in a block, is exactly one scalar.
pub fn stays_plain(text: &str) -> bool {
    let begins_otherwise = text.starts_with(|first| "[]{},#&*!|>'\"%@`".contains(first));
    let is_marker = ["-", "?", ":"].iter().any(|marker| {
        text.strip_prefix(marker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    let ends_early = text.contains(": ") || text.ends_with(':') || text.contains(" #");
    !(begins_otherwise || is_marker || ends_early || text.contains(char::is_control))
}

/// The value if it has the type of the tag.
fn typed(value: Scalar<'_>, tag: Tag) -> Option<Scalar<'_>> {
    match (tag, &value) {
        (Tag::Bool, Scalar::Bool(_))
        | (Tag::Int, Scalar::Int(_) | Scalar::Big(_))
        | (Tag::Float, Scalar::Float(_) | Scalar::Int(_))
        | (Tag::Null, Scalar::Null) => Some(value),
        _ => None,
    }
}

/// The longest word that is not text, `false`: most texts are longer and need no further check.
const LONGEST_WORD: usize = 5;

/// The value of a plain scalar.
fn plain(text: Cow<'_, str>) -> Scalar<'_> {
    match text.as_ref() {
        longer if longer.len() > LONGEST_WORD => number(&text).unwrap_or(Scalar::Text(text)),
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => number(&text).unwrap_or(Scalar::Text(text)),
    }
}

/// The number that a plain scalar means, if any.
fn number(text: &str) -> Option<Scalar<'static>> {
    match text.bytes().next()? {
        b'.' => underscores_part_digits(text)
            .then(|| decimal(&text.replace('_', "")))
            .flatten(),
        b'0'..=b'9' | b'+' | b'-' => {
            // Nearly always there is nothing to remove.
            let digits = if text.contains('_') {
                Cow::Owned(text.replace('_', ""))
            } else {
                Cow::Borrowed(text)
            };
            integer(&digits).or_else(|| decimal(&digits)).or_else(|| {
                let (sign, digits) = sign_and_digits(digits.strip_prefix("0b")?);
                magnitude(sign, digits, 2)
            })
        }
        _ => None,
    }
}

/// A whole number, its base given by its first digits as in Go: `0x`, `0o`, `0b`, and `0` for octal.
fn integer(text: &str) -> Option<Scalar<'static>> {
    let (sign, digits) = sign_and_digits(text);
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', _, ..] => (2, digits.get(2..)?),
        [b'0'] => (10, digits),
        [b'0', ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    magnitude(sign, digits, base)
}

/// The sign of a number, which may be empty, and what follows it.
fn sign_and_digits(text: &str) -> (&str, &str) {
    let sign = usize::from(text.starts_with(['+', '-']));
    text.split_at_checked(sign).unwrap_or(("", text))
}

fn magnitude(sign: &str, digits: &str, base: u32) -> Option<Scalar<'static>> {
    // The parser of the standard library would accept another sign.
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let size = u64::from_str_radix(digits, base).ok()?;
    match sign {
        "-" => 0_i64.checked_sub_unsigned(size).map(Scalar::Int),
        _ => match i64::try_from(size) {
            Ok(size) => Some(Scalar::Int(size)),
            Err(_) if sign.is_empty() => Some(Scalar::Big(size)),
            Err(_) => None,
        },
    }
}

/// A decimal number with a fraction, an exponent, both or neither; `None` if it is too large for a double.
fn decimal(text: &str) -> Option<Scalar<'static>> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        ),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent));
    if !well_formed {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(Scalar::Float(value))
}

/// Whether each underscore is between two digits.
fn underscores_part_digits(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    bytes.iter().enumerate().all(|(at, byte)| {
        *byte != b'_' || (at > 0 && is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1)))
    })
}

/// Whether a text begins as a date; kubectl keeps dates as text.
fn is_date(text: &str) -> bool {
    let (year, rest) = text.split_at_checked(4).unwrap_or_default();
    year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with('-')
}

fn decode(text: &str) -> Option<Scalar<'static>> {
    let compact: String = text.split_ascii_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(compact).ok()?;
    Some(Scalar::Text(String::from_utf8_lossy(&bytes).into_owned().into()))
}

impl<'a> Scalar<'a> {
    /// As the API server receives it; infinities and "not a number" cannot be sent.
    pub fn into_json(self) -> Option<Json<'a>> {
        Some(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Int(value) => Json::Number(value.into()),
            Self::Big(value) => Json::Number(value.into()),
            Self::Float(value) => Json::Number(match float::as_integer(value) {
                // JSON written by Go has no fraction where none is needed, and is read back as an integer.
                Some(whole) => whole.into(),
                None => Number::from_f64(value)?,
            }),
            Self::Text(text) => Json::String(text),
        })
    }
}
