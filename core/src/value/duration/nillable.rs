//! Karpenter's `NillableDuration`, as in `consolidateAfter`: a Go duration of seconds, minutes and hours, or
//! `Never`.

use std::time::Duration;

use super::go::{GoDuration, GoDurationError};
use super::in_known_units;
use crate::diagnostic::Suggestion;
use crate::value::{excerpt, is_cut, is_number};

/// The keyword for no duration at all.
const NEVER: &str = "Never";

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NillableDuration {
    /// Wait for this long.
    After(Duration),
    /// Wait forever: the keyword `Never`.
    Never,
}

/// Why a text is not such a duration: a clause without a full stop. Most variants contain the text, shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NillableDurationError {
    /// The text is empty.
    #[error("a duration is missing")]
    Empty,
    /// `never` with wrong case.
    #[error("the keyword must be spelt Never")]
    NeverMisspelt,
    /// Two alternatives, copied from documentation.
    #[error("only one duration can be set")]
    Alternatives,
    /// A space before, after or within it. Contains the text without its spaces.
    #[error("a duration must not contain spaces")]
    Blank(String),
    /// It begins with `+` or `-`.
    #[error("a duration must not have a sign")]
    Sign,
    /// It has a decimal point.
    #[error("fractions are not allowed, only whole seconds, minutes and hours")]
    Fraction,
    /// It has only digits, and no unit.
    #[error("a duration requires a unit (s, m or h)")]
    MissingUnit,
    /// A unit other than `s`, `m` and `h`.
    #[error("a duration takes only the units s, m and h")]
    Unit(String),
    /// The CRD accepts it, but Karpenter cannot decode it, and then can decode no NodePool of the cluster.
    #[error("Karpenter cannot decode a duration longer than 2562047h47m16s")]
    Overflow,
    /// Any other text.
    #[error("a duration is Never, or has a form such as 30s, 10m or 1h30m")]
    Other,
}

impl NillableDuration {
    /// Parses what the CRDs of all releases accept and Karpenter can decode.
    pub fn parse(text: &str) -> Result<Self, NillableDurationError> {
        if fits(text) {
            Self::decode(text)
        } else {
            Err(diagnose(text))
        }
    }

    /// Parses what Karpenter can decode, for a text that the CRD accepts.
    // karpenter: pkg/apis/v1/duration.go NillableDuration.UnmarshalJSON
    pub fn decode(text: &str) -> Result<Self, NillableDurationError> {
        if text == NEVER {
            return Ok(Self::Never);
        }
        match GoDuration::parse(text) {
            Ok(duration) => Ok(Self::After(Duration::from_nanos(
                duration.as_nanos().unsigned_abs(),
            ))),
            Err(GoDurationError::Overflow) => Err(NillableDurationError::Overflow),
            Err(_) => Err(diagnose(text)),
        }
    }
}

/// True if the CRD of v1 has accepted a text since Karpenter 1.4.
// karpenter: pkg/apis/v1/nodepool.go Disruption.ConsolidateAfter
// karpenter: pkg/apis/v1/nodepool.go NodeClaimTemplateSpec.ExpireAfter
fn fits(text: &str) -> bool {
    const UNITS: [char; 3] = ['s', 'm', 'h'];
    text == NEVER || text.ends_with(UNITS) && text.split_terminator(UNITS).all(is_number)
}

impl NillableDurationError {
    /// What to write instead, if that is certain.
    pub fn suggestion(&self) -> Option<Suggestion> {
        match self {
            Self::NeverMisspelt => Some(Suggestion::write(NEVER)),
            Self::Overflow => Some("write Never if that is intended".into()),
            Self::Alternatives => Some("choose one".into()),
            Self::Blank(joined) => proposal(joined).or_else(|| proposal(&in_known_units(joined)?)),
            Self::Unit(text) => proposal(&in_known_units(text)?),
            Self::Empty | Self::Sign | Self::Fraction | Self::MissingUnit | Self::Other => None,
        }
    }
}

/// Proposes a text if it is legal.
fn proposal(text: &str) -> Option<Suggestion> {
    (!is_cut(text) && NillableDuration::parse(text).is_ok()).then(|| Suggestion::write(text))
}

/// The mistake in an illegal string.
fn diagnose(text: &str) -> NillableDurationError {
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if text.trim().is_empty() {
        NillableDurationError::Empty
    } else if text.trim().eq_ignore_ascii_case(NEVER) {
        NillableDurationError::NeverMisspelt
    } else if text.contains('|') {
        NillableDurationError::Alternatives
    } else if text.contains(char::is_whitespace) {
        let joined: String = text.split_whitespace().collect();
        NillableDurationError::Blank(excerpt(&joined))
    } else if text.starts_with(['-', '+']) {
        NillableDurationError::Sign
    } else if number.is_empty() {
        NillableDurationError::MissingUnit
    } else if text.contains('.') && GoDuration::parse(text).is_ok() {
        NillableDurationError::Fraction
    } else if number.len() < text.len() {
        NillableDurationError::Unit(excerpt(text))
    } else {
        NillableDurationError::Other
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use NillableDurationError as E;

    #[test]
    fn what_both_crd_and_go_take_is_read() {
        for (text, seconds) in [
            ("0s", 0),
            ("15s", 15),
            ("1h30m", 5_400),
            ("30m1h", 5_400),
            ("00h", 0),
            ("2562047h", 2_562_047 * 3_600),
        ] {
            assert_eq!(
                NillableDuration::parse(text),
                Ok(NillableDuration::After(Duration::from_secs(seconds))),
                "{text}"
            );
        }
        assert_eq!(NillableDuration::parse("Never"), Ok(NillableDuration::Never));
    }

    #[test]
    fn each_mistake_is_distinguished_and_corrected_if_that_is_certain() {
        for (text, error, suggestion) in [
            ("", E::Empty, None),
            ("never", E::NeverMisspelt, Some("write Never")),
            ("1m | Never", E::Alternatives, Some("choose one")),
            ("1h 30m", E::Blank("1h30m".into()), Some("write 1h30m")),
            ("5 minutes", E::Blank("5minutes".into()), Some("write 5m")),
            ("-1h", E::Sign, None),
            ("1.5h", E::Fraction, None),
            ("0", E::MissingUnit, None),
            ("30", E::MissingUnit, None),
            ("1hr", E::Unit("1hr".into()), Some("write 1h")),
            ("1d12h", E::Unit("1d12h".into()), Some("write 36h")),
            ("30d", E::Unit("30d".into()), Some("write 720h")),
            ("100ms", E::Unit("100ms".into()), None),
            ("99999999h", E::Overflow, Some("write Never if that is intended")),
            ("soon", E::Other, None),
        ] {
            assert_eq!(NillableDuration::parse(text), Err(error.clone()), "{text}");
            assert_eq!(
                error.suggestion().map(|one| one.text).as_deref(),
                suggestion,
                "{text}"
            );
        }
    }

    #[test]
    fn the_half_anchored_pattern_takes_more_but_not_what_go_cannot_read() {
        let loose = NillableDuration::decode;
        assert_eq!(
            loose("100ms"),
            Ok(NillableDuration::After(Duration::from_millis(100)))
        );
        for text in ["1hr", "10mfoo", "fooNever", "1h 30m", "2562048h"] {
            assert!(loose(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in r"([0-9]{0,3}(s|m|h|Never|d| )?){0,4}|\PC*") {
            if let Err(error) = NillableDuration::parse(&text) {
                let _ = error.suggestion();
            }
        }
    }
}
