//! The `duration` of a budget: hours and minutes, as the CRD's pattern allows them.

use std::time::Duration;

use super::go::{GoDuration, GoDurationError};
use super::units::in_known_units;
use crate::diagnostic::Suggestion;
use crate::value::{excerpt, is_cut, is_number};

const NANOS_A_MINUTE: u64 = 60_000_000_000;

/// How long a window of a budget stays open: whole minutes, possibly 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetDuration(Duration);

/// Why a text cannot be the duration of a budget: a clause without a full stop. Each variant contains the text,
/// shortened; [`Self::Blank`] has it without its blanks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetDurationError {
    /// The text is empty.
    #[error("a duration is missing")]
    Empty,
    /// A blank before, after or within it.
    #[error("a duration has no blanks")]
    Blank(String),
    /// Days or weeks.
    #[error("Karpenter knows no days or weeks, only hours and minutes")]
    Days(String),
    /// Seconds, or parts of a second, other than a final `0s`.
    #[error("budgets count whole minutes")]
    Seconds(String),
    /// A decimal point.
    #[error("fractions are not allowed, only whole hours and minutes")]
    Fraction(String),
    /// A sign.
    #[error("a duration has no sign")]
    Sign(String),
    /// Hours and minutes in another order or number than one `h`, then one `m`.
    #[error("hours are before minutes, each at most once")]
    Order(String),
    /// Digits alone.
    #[error("a unit is missing: h for hours or m for minutes")]
    MissingUnit(String),
    /// The CRD accepts it, but Karpenter cannot decode it, and then can decode no NodePool of the cluster.
    #[error(
        "it is longer than 2562047h47m, the most that Karpenter can decode; Karpenter then fails to list every \
         NodePool, not only this one"
    )]
    Overflow(String),
    /// Anything else.
    #[error("a duration is written as hours and minutes, such as 8h, 30m or 1h30m")]
    Other(String),
}

impl BudgetDuration {
    /// Parses a duration by the CRD's pattern `^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`, in the range that
    /// Karpenter can decode.
    pub fn parse(text: &str) -> Result<Self, BudgetDurationError> {
        if !Self::fits_pattern(text) {
            return Err(diagnose(text));
        }
        let nanos = match GoDuration::parse(text) {
            Ok(duration) => duration.as_nanos(),
            Err(_) => return Err(BudgetDurationError::Overflow(excerpt(text))),
        };
        Ok(Self(Duration::from_nanos(nanos.unsigned_abs())))
    }

    /// A length as a budget has it: hours, minutes or both.
    pub fn written(minutes: u64) -> String {
        match (minutes / 60, minutes % 60) {
            (0, minutes) => format!("{minutes}m"),
            (hours, 0) => format!("{hours}h"),
            (hours, minutes) => format!("{hours}h{minutes}m"),
        }
    }

    /// Whether the CRD accepts a text.
    pub fn fits_pattern(text: &str) -> bool {
        let text = text.strip_suffix("0s").unwrap_or(text);
        if let Some(hours) = text.strip_suffix('h') {
            return is_number(hours);
        }
        let Some(minutes) = text.strip_suffix('m') else {
            return false;
        };
        match minutes.split_once('h') {
            Some((hours, minutes)) => is_number(hours) && is_number(minutes),
            None => is_number(minutes),
        }
    }

    /// The length: whole minutes.
    pub const fn as_duration(self) -> Duration {
        self.0
    }

    /// Whether the window never opens. The grammar allows it.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl BudgetDurationError {
    /// Whether the CRD nevertheless accepts the text.
    pub const fn is_let_through(&self) -> bool {
        matches!(self, Self::Overflow(_))
    }

    /// The same length in a legal form, if that is certain.
    pub fn suggestion(&self) -> Option<Suggestion> {
        let written = match self {
            Self::Blank(joined) if BudgetDuration::parse(joined).is_ok() => Some(joined.clone()),
            Self::Seconds(text) | Self::Fraction(text) | Self::Order(text) => in_minutes(text),
            Self::Blank(text) | Self::Days(text) | Self::Other(text) => in_known_units(text),
            Self::Empty | Self::Sign(_) | Self::MissingUnit(_) | Self::Overflow(_) => None,
        };
        written
            .filter(|written| !is_cut(written) && BudgetDuration::parse(written).is_ok())
            .map(Suggestion::write)
    }
}

/// What is wrong with a text that does not match the pattern.
fn diagnose(text: &str) -> BudgetDurationError {
    let shown = excerpt(text);
    if text.is_empty() {
        return BudgetDurationError::Empty;
    }
    if text.contains(char::is_whitespace) {
        let joined: String = text.split_whitespace().collect();
        return BudgetDurationError::Blank(excerpt(&joined));
    }
    if text.starts_with(['-', '+']) {
        return BudgetDurationError::Sign(shown);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return BudgetDurationError::MissingUnit(shown);
    }
    match GoDuration::parse(text) {
        Err(GoDurationError::UnknownUnit { unit }) if unit == "d" || unit == "w" => {
            BudgetDurationError::Days(shown)
        }
        Ok(_) | Err(GoDurationError::Overflow) if text.contains('.') => BudgetDurationError::Fraction(shown),
        Ok(_) | Err(GoDurationError::Overflow) if text.contains('s') => BudgetDurationError::Seconds(shown),
        Ok(_) | Err(GoDurationError::Overflow) => BudgetDurationError::Order(shown),
        Err(_) => BudgetDurationError::Other(shown),
    }
}

/// A duration that Go can read, in hours and minutes, if it has no seconds.
fn in_minutes(text: &str) -> Option<String> {
    let nanos = u64::try_from(GoDuration::parse(text).ok()?.as_nanos()).ok()?;
    (nanos % NANOS_A_MINUTE == 0).then(|| BudgetDuration::written(nanos / NANOS_A_MINUTE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::diagnostic::Edit;

    fn minutes(text: &str) -> Option<u64> {
        Some(BudgetDuration::parse(text).ok()?.as_duration().as_secs() / 60)
    }

    #[test]
    fn hours_and_minutes_are_read_with_and_without_the_seconds_that_go_adds() {
        for (text, expected) in [
            ("8h", 480),
            ("90m", 90),
            ("1h90m", 150),
            ("8h0s", 480),
            ("10m0s", 10),
            ("8h0m0s", 480),
            ("2562047h47m", 153_722_867),
        ] {
            assert_eq!(minutes(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn no_length_is_legal() {
        for text in ["0m", "0h", "00h", "0h0m0s"] {
            assert!(BudgetDuration::parse(text).unwrap().is_zero(), "{text}");
        }
    }

    #[test]
    fn each_mistake_is_distinguished_and_corrected_if_that_is_certain() {
        use BudgetDurationError as E;
        type Kind = fn(String) -> E;
        let cases: [(&str, Kind, Option<&str>); 28] = [
            ("0s", E::Seconds, Some("write 0m")),
            ("30s", E::Seconds, None),
            ("90s", E::Seconds, None),
            ("3600s", E::Seconds, Some("write 1h")),
            ("1h0m30s", E::Seconds, None),
            ("8h0m00s", E::Seconds, Some("write 8h")),
            ("60000ms", E::Seconds, Some("write 1m")),
            ("1d", E::Days, Some("write 24h")),
            ("1d12h", E::Days, Some("write 36h")),
            ("1d30m", E::Days, Some("write 24h30m")),
            ("2w", E::Days, Some("write 336h")),
            ("1.5h", E::Fraction, Some("write 1h30m")),
            ("0.3h", E::Fraction, Some("write 18m")),
            ("0.01m", E::Fraction, None),
            ("30m1h", E::Order, Some("write 1h30m")),
            ("1h1h", E::Order, Some("write 2h")),
            ("1h 30m", E::Blank, Some("write 1h30m")),
            (" 8h\n", E::Blank, Some("write 8h")),
            ("8 hours", E::Blank, Some("write 8h")),
            ("8hr", E::Other, Some("write 8h")),
            ("1hour30min", E::Other, Some("write 1h30m")),
            ("30sec", E::Other, None),
            ("-1h", E::Sign, None),
            ("60", E::MissingUnit, None),
            ("2562047h48m", E::Overflow, None),
            ("99999999h", E::Overflow, None),
            ("8H", E::Other, Some("write 8h")),
            ("Never", E::Other, None),
        ];
        for (text, kind, suggestion) in cases {
            let error = BudgetDuration::parse(text).unwrap_err();
            let joined: String = text.split_whitespace().collect();
            assert_eq!(error, kind(excerpt(&joined)), "{text}");
            assert_eq!(
                error.suggestion().map(|one| one.text).as_deref(),
                suggestion,
                "{text}"
            );
        }
        assert_eq!(BudgetDuration::parse(""), Err(E::Empty));
    }

    proptest! {
        #[test]
        fn the_pattern_is_that_of_the_crd(text in r"([0-9]{0,3}(h|m|s|0s|d|\.| |\n)){0,4}|\PC*") {
            let pattern = regex::Regex::new(r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$").unwrap();
            prop_assert_eq!(BudgetDuration::fits_pattern(&text), pattern.is_match(&text));
        }

        #[test]
        fn what_is_suggested_is_legal(text in r"[0-9]{0,3}(\.[0-9])?(h|m|s|d|w| |H)([0-9]{1,2}(h|m|s))?") {
            if let Some(suggestion) = BudgetDuration::parse(&text).err().and_then(|error| error.suggestion()) {
                let Some(Edit::Set(Value::String(written))) = &suggestion.edit else { panic!("{suggestion} changes nothing") };
                prop_assert!(BudgetDuration::parse(written).is_ok(), "{}", suggestion);
            }
        }
    }
}
