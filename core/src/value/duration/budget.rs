//! The `duration` of a budget: hours and minutes, as the CRD's pattern allows them.

use std::time::Duration;

use super::go::{GoDuration, GoDurationError};
use super::in_known_units;
use crate::diagnostic::Suggestion;
use crate::value::mistake::LONGEST;
use crate::value::{Mistake, is_number};

const NANOS_A_MINUTE: u64 = 60_000_000_000;

/// How long a window of a budget stays open: whole minutes, possibly 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetDuration(Duration);

impl BudgetDuration {
    /// Parses a duration by the CRD's pattern `^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`, in the range that
    /// Karpenter can decode.
    // karpenter: pkg/apis/v1/nodepool.go Budget.Duration
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        if !Self::fits_pattern(text) {
            return Err(diagnose(text));
        }
        match GoDuration::parse(text) {
            Ok(duration) => Ok(Self(Duration::from_nanos(duration.as_nanos().unsigned_abs()))),
            Err(_) => Err(Mistake::new(
                "Karpenter cannot decode a duration longer than 2562047h47m",
            )),
        }
    }

    /// A length as a budget has it: hours, minutes or both.
    pub fn written(minutes: u64) -> String {
        match (minutes / 60, minutes % 60) {
            (0, minutes) => format!("{minutes}m"),
            (hours, 0) => format!("{hours}h"),
            (hours, minutes) => format!("{hours}h{minutes}m"),
        }
    }

    /// True if the CRD accepts a text.
    fn fits_pattern(text: &str) -> bool {
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

    /// True if the window never opens. The grammar allows it.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

/// The mistake in a string that does not match the pattern.
fn diagnose(text: &str) -> Mistake {
    if text.is_empty() {
        return Mistake::new("a duration is missing");
    }
    if text.contains(char::is_whitespace) {
        let joined: String = text.split_whitespace().collect();
        let suggestion = proposal(&joined).or_else(|| proposal(&in_known_units(&joined)?));
        return Mistake::new("a duration must not contain spaces").suggest(suggestion);
    }
    if text.starts_with(['-', '+']) {
        return Mistake::new("a duration must not have a sign");
    }
    if is_number(text) {
        return Mistake::new("a duration requires a unit (h or m)");
    }
    let (why, written) = match GoDuration::parse(text) {
        Err(GoDurationError::UnknownUnit { unit }) if unit == "d" || unit == "w" => (
            "days and weeks are not supported, only hours and minutes",
            in_known_units(text),
        ),
        Ok(_) | Err(GoDurationError::Overflow) if text.contains('.') => (
            "fractions are not allowed, only whole hours and minutes",
            in_minutes(text),
        ),
        Ok(_) | Err(GoDurationError::Overflow) if text.contains('s') => {
            ("budgets count whole minutes", in_minutes(text))
        }
        Ok(_) | Err(GoDurationError::Overflow) => {
            ("hours come before minutes, each at most once", in_minutes(text))
        }
        Err(_) => (
            "a duration is written as hours and minutes, such as 8h, 30m or 1h30m",
            in_known_units(text),
        ),
    };
    Mistake::new(why).suggest(written.as_deref().and_then(proposal))
}

/// Proposes a text if it is legal, and not a megabyte of zeros.
fn proposal(text: &str) -> Option<Suggestion> {
    (text.len() <= LONGEST && BudgetDuration::parse(text).is_ok()).then(|| Suggestion::write(text))
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
        for (text, why, suggestion) in [
            ("", "a duration is missing", None),
            ("0s", "whole minutes", Some("write 0m")),
            ("30s", "whole minutes", None),
            ("90s", "whole minutes", None),
            ("3600s", "whole minutes", Some("write 1h")),
            ("1h0m30s", "whole minutes", None),
            ("8h0m00s", "whole minutes", Some("write 8h")),
            ("60000ms", "whole minutes", Some("write 1m")),
            ("1d", "days and weeks are not", Some("write 24h")),
            ("1d12h", "days and weeks are not", Some("write 36h")),
            ("1d30m", "days and weeks are not", Some("write 24h30m")),
            ("2w", "days and weeks are not", Some("write 336h")),
            ("1.5h", "fractions", Some("write 1h30m")),
            ("0.3h", "fractions", Some("write 18m")),
            ("0.01m", "fractions", None),
            ("30m1h", "hours come before", Some("write 1h30m")),
            ("1h1h", "hours come before", Some("write 2h")),
            ("1h 30m", "not contain spaces", Some("write 1h30m")),
            (" 8h\n", "not contain spaces", Some("write 8h")),
            ("8 hours", "not contain spaces", Some("write 8h")),
            ("8hr", "written as", Some("write 8h")),
            ("1hour30min", "written as", Some("write 1h30m")),
            ("30sec", "written as", None),
            ("-1h", "not have a sign", None),
            ("60", "requires a unit", None),
            ("2562047h48m", "longer than", None),
            ("99999999h", "longer than", None),
            ("8H", "written as", Some("write 8h")),
            ("Never", "written as", None),
        ] {
            let mistake = BudgetDuration::parse(text).unwrap_err();
            assert!(mistake.why.contains(why), "{text}: {mistake}");
            assert_eq!(BudgetDuration::fits_pattern(text), why == "longer than", "{text}");
            assert_eq!(
                mistake.suggestion.map(|one| one.text).as_deref(),
                suggestion,
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_pattern_is_that_of_the_crd(text in r"([0-9]{0,3}(h|m|s|0s|d|\.| |\n)){0,4}|\PC*") {
            let pattern = regex::Regex::new(r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$").unwrap();
            prop_assert_eq!(BudgetDuration::fits_pattern(&text), pattern.is_match(&text));
        }

        #[test]
        fn what_is_suggested_is_legal(text in r"[0-9]{0,3}(\.[0-9])?(h|m|s|d|w| |H)([0-9]{1,2}(h|m|s))?") {
            if let Some(suggestion) = BudgetDuration::parse(&text).err().and_then(|mistake| mistake.suggestion) {
                let Some(Edit::Set(Value::String(written))) = &suggestion.edit else { panic!("{suggestion} changes nothing") };
                prop_assert!(BudgetDuration::parse(written).is_ok(), "{}", suggestion);
            }
        }
    }
}
