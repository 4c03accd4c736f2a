//! Floating point numbers as Go prints them.

/// The integer that the value becomes on its way through JSON, if any: Go writes the shortest digits that
/// distinguish a number from its neighbours and fills up with zeros, and these digits are read back as they are.
pub fn as_integer(value: f64) -> Option<i64> {
    match value.to_string().as_str() {
        "-0" => Some(0),
        digits => digits.parse().ok(),
    }
}

/// A number used as a key, in kubectl's form: Go's `%g` of the nearest single-precision number.
pub fn key(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "kubectl shortens in the same way")]
    let single = value as f32;
    if single.is_nan() {
        return ".nan".into();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.into();
    }
    let scientific = format!("{single:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Go's shortest form uses exponents from here on, however few digits there are.
    if (-4..6).contains(&exponent) {
        return single.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_within_64_bits_are_integers() {
        assert_eq!(as_integer(1000.0), Some(1000));
        assert_eq!(as_integer(-0.0), Some(0));
        assert_eq!(as_integer(0.5), None);
        assert_eq!(as_integer(92_233_720_368_547_504.0), Some(92_233_720_368_547_500));
        assert_eq!(as_integer(1e19), None);
        assert_eq!(as_integer(f64::NAN), None);
        assert_eq!(as_integer(f64::INFINITY), None);
    }

    #[test]
    fn keys_are_shortened_as_go_does() {
        assert_eq!(key(1.0), "1");
        assert_eq!(key(123_456.0), "123456");
        assert_eq!(key(1e6), "1e+06");
        assert_eq!(key(1.5e-5), "1.5e-05");
        assert_eq!(key(1.234_567_89), "1.2345679");
        assert_eq!(key(3.5e39), ".inf");
        assert_eq!(key(-3.5e39), "-.inf");
    }
}
