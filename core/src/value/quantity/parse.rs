//! Converts text to nanos. Everything that could grow is bounded before anything is computed.

use num_bigint::{BigInt, Sign};

use super::error::QuantityError;
use super::{MAX_EXPONENT, MAX_LENGTH, NANOS};
use crate::value::{digits, excerpt};

/// What follows the number, as a factor.
#[derive(Clone, Copy)]
enum Scale {
    /// A power of ten.
    Decimal(i32),
    /// A power of two.
    Binary(u8),
}

const SUFFIXES: [(&str, Scale); 16] = [
    ("", Scale::Decimal(0)),
    ("n", Scale::Decimal(-9)),
    ("u", Scale::Decimal(-6)),
    ("m", Scale::Decimal(-3)),
    ("k", Scale::Decimal(3)),
    ("M", Scale::Decimal(6)),
    ("G", Scale::Decimal(9)),
    ("T", Scale::Decimal(12)),
    ("P", Scale::Decimal(15)),
    ("E", Scale::Decimal(18)),
    ("Ki", Scale::Binary(10)),
    ("Mi", Scale::Binary(20)),
    ("Gi", Scale::Binary(30)),
    ("Ti", Scale::Binary(40)),
    ("Pi", Scale::Binary(50)),
    ("Ei", Scale::Binary(60)),
];

/// Reads a quantity, in units of 10^-9.
pub fn nanos(text: &str) -> Result<BigInt, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Empty);
    }
    if text.contains(char::is_whitespace) {
        let joined: String = text.split_whitespace().collect();
        return Err(QuantityError::Blank {
            joined: excerpt(&joined),
        });
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction, suffix) = number(unsigned);
    if whole.is_empty() && fraction.is_empty() {
        return Err(QuantityError::NotANumber);
    }
    let scale = scale_of(suffix)?;
    if text.len() > MAX_LENGTH {
        return Err(QuantityError::TooLong { length: text.len() });
    }
    let digits: Vec<u8> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|digit| digit - b'0')
        .collect();
    // At most MAX_LENGTH digits, each below the radix.
    let value = BigInt::from_radix_be(Sign::Plus, &digits, 10).unwrap_or_default();
    let decimals = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let magnitude = scaled(value, scale, decimals);
    Ok(if text.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

/// The digits before and after the decimal point, and what follows the number.
fn number(text: &str) -> (&str, &str, &str) {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    (whole, fraction, rest)
}

/// The factor of a suffix or an exponent.
fn scale_of(suffix: &str) -> Result<Scale, QuantityError> {
    if let Some((_, scale)) = SUFFIXES.iter().find(|(known, _)| *known == suffix) {
        return Ok(*scale);
    }
    let exponent = suffix.strip_prefix(['e', 'E']).unwrap_or_default();
    let (whole, fraction, rest) = number(exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
    if (whole.is_empty() && fraction.is_empty()) || !rest.is_empty() {
        return Err(QuantityError::UnknownSuffix {
            suffix: excerpt(suffix),
        });
    }
    if exponent.contains('.') {
        return Err(QuantityError::FractionalExponent {
            exponent: excerpt(exponent),
        });
    }
    let size = whole.parse::<u32>().ok().filter(|size| *size <= MAX_EXPONENT);
    let size = size.and_then(|size| i32::try_from(size).ok());
    let size = size.ok_or_else(|| QuantityError::ExponentOutOfBounds {
        exponent: excerpt(exponent),
    })?;
    Ok(Scale::Decimal(if exponent.starts_with('-') {
        -size
    } else {
        size
    }))
}

/// A magnitude with `decimals` digits after the point and a factor, in nanos. Rounded up; binary factors are
/// capped, decimal ones are not.
fn scaled(value: BigInt, scale: Scale, decimals: i32) -> BigInt {
    match scale {
        Scale::Decimal(power) => shifted(value, power + 9 - decimals),
        Scale::Binary(power) => {
            let nanos = shifted(value << power, 9 - decimals);
            nanos.min(BigInt::from(i64::MAX) * NANOS)
        }
    }
}

/// A magnitude times a power of ten, rounded up.
fn shifted(value: BigInt, power: i32) -> BigInt {
    let factor = BigInt::from(10).pow(power.unsigned_abs());
    if power >= 0 {
        return value * factor;
    }
    let up = &factor - 1;
    (value + up) / factor
}
