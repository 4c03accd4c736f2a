//! Durations as Go's `time.ParseDuration` reads them, to the nanosecond.

use std::time::Duration;

use crate::value::{digits, excerpt};

/// The units, in nanoseconds. Both Unicode spellings of the micro sign are legal.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The largest magnitude, in nanoseconds: that of the smallest `int64`.
const LARGEST: u64 = 1 << 63;

/// A signed length of time in whole nanoseconds, in the range of an `int64`: about ±292 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

/// Why Go cannot read a duration: a clause without a full stop. If it is in a field that Karpenter decodes as a
/// duration, Karpenter can no longer list any NodePool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoDurationError {
    /// The text is empty, or only a sign.
    #[error("a duration is missing")]
    Empty,
    /// No number where one is required.
    #[error("a number is missing before `{rest}`")]
    MissingNumber {
        /// The rest of the text there, shortened.
        rest: String,
    },
    /// A number without a unit at the end.
    #[error("a duration must end in a unit (ns, us, ms, s, m or h)")]
    MissingUnit,
    /// A unit that Go does not know.
    #[error("`{unit}` is none of the units ns, us, ms, s, m and h")]
    UnknownUnit {
        /// The unknown unit, shortened.
        unit: String,
    },
    /// More nanoseconds than an `int64` can hold.
    #[error("Karpenter cannot read a duration longer than 2562047h47m16.854775807s")]
    Overflow,
}

impl GoDuration {
    /// Parses a duration such as `1h30m`, `-1.5h` or `0`.
    pub fn parse(text: &str) -> Result<Self, GoDurationError> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "0" {
            return Ok(Self(0));
        }
        if unsigned.is_empty() {
            return Err(GoDurationError::Empty);
        }
        let mut total = 0_u64;
        let mut rest = unsigned;
        while !rest.is_empty() {
            let (nanos, behind) = term(rest)?;
            total = total
                .checked_add(nanos)
                .filter(|total| *total <= LARGEST)
                .ok_or(GoDurationError::Overflow)?;
            rest = behind;
        }
        if text.starts_with('-') {
            return Ok(Self(0_i64.wrapping_sub_unsigned(total)));
        }
        i64::try_from(total)
            .map(Self)
            .map_err(|_| GoDurationError::Overflow)
    }

    /// The length in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The length; `None` if it is negative.
    pub fn as_duration(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }

    /// Whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<Duration> for GoDuration {
    /// The same length, or the longest that there is.
    fn from(length: Duration) -> Self {
        Self(i64::try_from(length.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// Parses one number with its unit: the nanoseconds, and the rest of the text. Consumes at least one character.
fn term(text: &str) -> Result<(u64, &str), GoDurationError> {
    let missing_number = || GoDurationError::MissingNumber { rest: excerpt(text) };
    let (whole, behind) = digits(text);
    let (fraction, behind) = behind.strip_prefix('.').map_or(("", behind), digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(missing_number());
    }
    let whole = whole.bytes().try_fold(0_u64, |value, digit| {
        let value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        (value <= LARGEST).then_some(value)
    });
    let whole = whole.ok_or(GoDurationError::Overflow)?;
    let end = behind
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(behind.len());
    let (unit, behind) = behind.split_at_checked(end).unwrap_or((behind, ""));
    if unit.is_empty() {
        return Err(if behind.is_empty() {
            GoDurationError::MissingUnit
        } else {
            missing_number()
        });
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, nanos_each) = known.ok_or_else(|| GoDurationError::UnknownUnit { unit: excerpt(unit) })?;
    let nanos = whole
        .checked_mul(*nanos_each)
        .and_then(|nanos| nanos.checked_add(fraction_nanos(fraction, *nanos_each)))
        .filter(|nanos| *nanos <= LARGEST)
        .ok_or(GoDurationError::Overflow)?;
    Ok((nanos, behind))
}

/// The nanoseconds in a fraction of a unit. Go computes them in `f64` from as many leading digits as an `int64`
/// holds, and so does this, to the same last bit.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go loses the same bits; the product is neither negative nor above the unit"
)]
fn fraction_nanos(digits: &str, nanos_each: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes() {
        if value > (LARGEST - 1) / 10 {
            break;
        }
        let longer = value * 10 + u64::from(digit - b'0');
        if longer > LARGEST {
            break;
        }
        value = longer;
        scale *= 10.0;
    }
    (value as f64 * (nanos_each as f64 / scale)) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> Option<i64> {
        GoDuration::parse(text).ok().map(GoDuration::as_nanos)
    }

    #[test]
    fn durations_mean_what_go_says() {
        const HOUR: i64 = 3_600_000_000_000;
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("+0", 0),
            ("1h30m", HOUR + HOUR / 2),
            ("1.5h", HOUR + HOUR / 2),
            (".5h", HOUR / 2),
            ("1.h", HOUR),
            ("30m1h", HOUR + HOUR / 2),
            ("1h1h", 2 * HOUR),
            ("-1.5h", -HOUR - HOUR / 2),
            ("1µs", 1_000),
            ("1μs1us", 2_000),
            ("0.1ns", 0),
            ("2562047h47m16.854775807s", i64::MAX),
            ("-2562047h47m16.854775808s", i64::MIN),
            ("9223372036854775807ns", i64::MAX),
            ("0.3333333333333333333h", HOUR / 3),
            ("0.9223372036854775807h", 3_320_413_933_267),
        ] {
            assert_eq!(nanos(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_distinguished() {
        let error = |text: &str| GoDuration::parse(text).unwrap_err().to_string();
        assert_eq!(error(""), "a duration is missing");
        assert_eq!(error("-"), "a duration is missing");
        assert_eq!(error("h"), "a number is missing before `h`");
        assert_eq!(error("."), "a number is missing before `.`");
        assert_eq!(
            error("1h30"),
            "a duration must end in a unit (ns, us, ms, s, m or h)"
        );
        assert_eq!(error("1d"), "`d` is none of the units ns, us, ms, s, m and h");
        assert_eq!(error("1H"), "`H` is none of the units ns, us, ms, s, m and h");
        for text in [
            "2562048h",
            "9223372036854775808ns",
            "99999999999999999999h",
            "2562047h48m",
        ] {
            assert_eq!(GoDuration::parse(text), Err(GoDurationError::Overflow), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in r"[-+]?([0-9.]{0,22}(ns|us|µs|ms|s|m|h|d| )?){0,4}|\PC*") {
            let _ = GoDuration::parse(&text);
        }

        #[test]
        fn whole_numbers_of_a_unit_are_exact(count in 0_i64..2_562_047) {
            prop_assert_eq!(nanos(&format!("{count}h")), Some(count * 3_600_000_000_000));
            prop_assert_eq!(nanos(&format!("-{count}ms")), Some(-count * 1_000_000));
        }
    }
}
