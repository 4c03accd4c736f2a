//! Points in time as a typed Kubernetes client reads them (RFC 3339 by Go's `time.Parse`). A CRD's
//! `format: date-time` accepts slightly different texts.

use jiff::civil::Date;

/// Checks a point in time such as `2026-01-02T15:04:05Z`: both the CRD's format and Go accept what passes. An error
/// is a clause without a full stop.
pub(crate) fn check_timestamp(text: &str) -> Result<(), &'static str> {
    match text.split_at_checked("2026-01-02".len()) {
        Some((date, rest)) if is_date(date) && is_time(rest.as_bytes()) => Ok(()),
        _ => Err(diagnose(text)),
    }
}

/// Whether the CRD's `format: date-time` accepts a text (`IsDateTime` of `k8s.io/kube-openapi`).
pub(crate) fn crd_accepts_timestamp(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    let Some((clock, rest)) = time.split_at_checked("15:04:05".len()) else {
        return false;
    };
    date.len() == "2026-01-02".len() && is_date(date) && is_clock(clock.as_bytes()) && is_loose_end(rest)
}

/// `^(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$`, what the format requires after the seconds.
fn is_loose_end(text: &str) -> bool {
    let Some(fraction) = text.strip_suffix('z').or_else(|| without_offset(text)) else {
        return false;
    };
    let mut characters = fraction.chars();
    let Some(mark) = characters.next() else {
        return true;
    };
    let digits = characters.as_str();
    mark != '\n' && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text before an offset such as `+09:00`, whatever its digits.
fn without_offset(text: &str) -> Option<&str> {
    let (before, offset) = text.split_at_checked(text.len().checked_sub("+09:00".len())?)?;
    match offset.as_bytes() {
        [b'+' | b'-', h1, h2, b':', m1, m2] => number(&[*h1, *h2, *m1, *m2]).map(|_| before),
        _ => None,
    }
}

/// What to write instead, if only the case of the letters is wrong.
pub(crate) fn corrected_timestamp(text: &str) -> Option<String> {
    let upper = text.get(..text.len().min(64))?.trim().to_ascii_uppercase();
    (text.len() <= 64 && upper != text && check_timestamp(&upper).is_ok()).then_some(upper)
}

fn diagnose(text: &str) -> &'static str {
    let no_time = "a time is written as 2026-01-02T15:04:05Z";
    // No valid time is longer than this.
    if text.len() > 64 {
        return no_time;
    }
    let upper = text.to_ascii_uppercase();
    if upper != text && check_timestamp(&upper).is_ok() {
        "`T` and `Z` must be capital letters: the API server accepts lower-case ones, but Karpenter then fails to list every \
         object of this kind"
    } else if check_timestamp(&format!("{text}Z")).is_ok() {
        "the time zone is missing: Z, or an offset such as +09:00"
    } else {
        no_time
    }
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let part = |from: usize, to: usize| number(bytes.get(from..to)?);
    let date = || {
        let year = i16::try_from(part(0, 4)?).ok()?;
        let month = i8::try_from(part(5, 7)?).ok()?;
        let day = i8::try_from(part(8, 10)?).ok()?;
        Date::new(year, month, day).ok()
    };
    bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-') && date().is_some()
}

/// `15:04:05`, without leap seconds.
fn is_clock(bytes: &[u8]) -> bool {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = bytes else {
        return false;
    };
    let is_up_to = |most, digits: [u8; 2]| number(&digits).is_some_and(|value| value <= most);
    is_up_to(23, [*h1, *h2]) && is_up_to(59, [*m1, *m2]) && is_up_to(59, [*s1, *s2])
}

/// `T15:04:05`, an optional fraction of a second, and a time zone.
fn is_time(bytes: &[u8]) -> bool {
    let [b'T', time @ ..] = bytes else { return false };
    let Some((clock, rest)) = time.split_at_checked("15:04:05".len()) else {
        return false;
    };
    if !is_clock(clock) {
        return false;
    }
    is_zone(match rest {
        // Go accepts a comma as well.
        [b'.' | b',', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            fraction.get(digits..).unwrap_or_default()
        }
        other => other,
    })
}

/// `Z` or an offset. Go accepts hours up to 24 and minutes up to 60 in an offset.
fn is_zone(bytes: &[u8]) -> bool {
    match bytes {
        [b'Z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            number(&[*h1, *h2]).is_some_and(|hours| hours <= 24)
                && number(&[*m1, *m2]).is_some_and(|minutes| minutes <= 60)
        }
        _ => false,
    }
}

/// A few digits as a number.
fn number(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0_u16, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts with the combined verdict of `strfmt.IsDateTime` of `k8s.io/kube-openapi` and Go's
    /// `time.Parse(time.RFC3339, …)`.
    #[test]
    fn what_both_the_crd_and_go_take_passes_and_nothing_else() {
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.5Z",
            "2026-01-02T03:04:05,5Z",
            "2026-01-02T03:04:05+09:00",
            "2026-01-02T03:04:05-24:60",
            "2026-01-02T03:04:05.1234567890123+01:00",
            "2024-02-29T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(check_timestamp(text), Ok(()), "{text}");
        }
        for text in [
            "",
            "2026-01-02T3:04:05Z",
            "2026-01-02T03:04:05x5Z",
            "2026-01-02T03:04:05+25:00",
            "2026-01-02T03:04:05+24:61",
            "2026-02-29T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T23:59:60Z",
            "2026-01-02 03:04:05Z",
            "2026-01-02T03:04:05ZtX",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05Z ",
            "2026-13-02T03:04:05Z",
            "2026-01-02T03:04Z",
            "20260102T030405Z",
        ] {
            assert_eq!(
                check_timestamp(text),
                Err("a time is written as 2026-01-02T15:04:05Z"),
                "{text}"
            );
        }
    }

    /// Texts with the verdict of `strfmt.IsDateTime` alone.
    #[test]
    fn the_crd_lets_some_times_through_that_go_does_not_read() {
        for text in [
            "2026-01-02t03:04:05z",
            "2026-01-02T03:04:05x5Z",
            "2026-01-02T03:04:05+99:99",
            "2026-01-02T03:04:05ZtX",
            "2026-01-02T03:04:05+5+09:00",
            "2026-01-02T03:04:05,5Z",
        ] {
            assert!(crd_accepts_timestamp(text), "{text}");
        }
        for text in [
            "",
            "t",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05\n5Z",
            "2026-01-02T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-02T03:04:05\u{e9}0:00",
        ] {
            assert!(!crd_accepts_timestamp(text), "{text}");
        }
    }

    #[test]
    fn near_misses_are_reported_and_corrected() {
        let error = |text| check_timestamp(text).unwrap_err();
        assert!(error("2026-01-02t03:04:05z").starts_with("`T` and `Z` must be capital letters"));
        assert_eq!(
            corrected_timestamp("2026-01-02t03:04:05z").as_deref(),
            Some("2026-01-02T03:04:05Z")
        );
        assert!(error("2026-01-02T03:04:05").starts_with("the time zone is missing"));
        assert_eq!(corrected_timestamp("tomorrow"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_checked(text in r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.,x][0-9]{0,3})?(Z|z|[+-][0-9]{2}:[0-9]{2})|\PC*") {
            let _ = corrected_timestamp(&text);
            prop_assert!(check_timestamp(&text).is_err() || crd_accepts_timestamp(&text));
        }
    }
}
