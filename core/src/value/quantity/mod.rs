//! Quantities of resources, as `resource.ParseQuantity` of `k8s.io/apimachinery` reads them and as far as the
//! pattern of Karpenter's CRD lets them through. Compared by value, never through 64 bits. Two amounts beyond
//! 1.7 × 10^29 units count as equal: no cluster has so much, and a quantity takes 16 bytes whatever its text says.

mod error;

pub use error::QuantityError;

use crate::value::{digits, excerpt};

/// The largest absolute exponent that is read. Kubernetes scales by it before it checks the size of the result: at
/// ten million that takes a second, beyond 32 bits it never returns.
pub(crate) const MAX_EXPONENT: u32 = 4_096;

/// The longest text, in bytes, that is read. Longer texts are rejected, whatever their value.
pub const MAX_LENGTH: usize = 1_024;

/// Nanos in a unit.
const NANOS: i128 = 1_000_000_000;

/// Nanos in a thousandth of a unit.
const NANOS_OF_THOUSANDTH: i128 = NANOS / 1_000;

/// The most nanos that are kept: a whole number of units, 1.7 × 10^29. Larger amounts become this one.
const MOST: i128 = i128::MAX / NANOS * NANOS;

/// An amount of some resource, exact to 10^-9, the finest that Kubernetes keeps. Ordered by value: `1Ki` and `1024`
/// are equal. So are two amounts beyond 1.7 × 10^29 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

impl Quantity {
    /// Reads a quantity such as `1000`, `500m`, `1.5Gi` or `1e3`.
    ///
    /// Fractions of a nano are rounded away from zero; binary suffixes (`Ki` to `Ei`) give at most 2^63 - 1. Reads
    /// what both the CRD's pattern and `ParseQuantity` accept, up to [`MAX_LENGTH`] and [`MAX_EXPONENT`].
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        nanos(text).map(Self::of_nanos)
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// Whether it is an integer number of units.
    pub fn is_whole(&self) -> bool {
        self.nanos % NANOS == 0
    }

    /// Both together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self::of_nanos(self.nanos.saturating_add(other.nanos))
    }

    /// What is left of it without the other one.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self::of_nanos(self.nanos.saturating_sub(other.nanos))
    }

    /// The number of units, rounded up, like Go's `Quantity.Value()`; beyond the range of an `i64`, the nearest
    /// one.
    pub(crate) fn rounded_up(&self) -> i64 {
        self.parts_rounded_up(NANOS)
    }

    /// The number of units, rounded down; beyond the range of an `i64`, the nearest one.
    pub(crate) fn rounded_down(&self) -> i64 {
        self.parts_rounded_down(NANOS)
    }

    /// The number of thousandths of a unit, rounded up; beyond the range of an `i64`, the nearest one.
    pub fn thousandths_rounded_up(&self) -> i64 {
        self.parts_rounded_up(NANOS_OF_THOUSANDTH)
    }

    /// The number of thousandths of a unit, rounded down; beyond the range of an `i64`, the nearest one.
    pub fn thousandths_rounded_down(&self) -> i64 {
        self.parts_rounded_down(NANOS_OF_THOUSANDTH)
    }

    /// This divided by another one, as precisely as a float is; `None` if that is no number.
    pub(crate) fn part_of(&self, whole: &Self) -> Option<f64> {
        let float = |quantity: &Self| quantity.nanos.to_string().parse::<f64>().ok();
        Some(float(self)? / float(whole)?).filter(|part| part.is_finite())
    }

    /// The number of parts of this many nanos, rounded up.
    fn parts_rounded_up(&self, nanos: i128) -> i64 {
        self.nearest(-(-self.nanos).div_euclid(nanos))
    }

    /// The number of parts of this many nanos, rounded down.
    fn parts_rounded_down(&self, nanos: i128) -> i64 {
        self.nearest(self.nanos.div_euclid(nanos))
    }

    fn nearest(&self, parts: i128) -> i64 {
        let nearest = if self.is_negative() { i64::MIN } else { i64::MAX };
        i64::try_from(parts).unwrap_or(nearest)
    }

    fn of_nanos(nanos: i128) -> Self {
        Self {
            nanos: nanos.clamp(-MOST, MOST),
        }
    }
}

impl From<i64> for Quantity {
    /// A quantity that is written as a JSON integer.
    fn from(units: i64) -> Self {
        Self::of_nanos(i128::from(units) * NANOS)
    }
}

impl From<u64> for Quantity {
    /// A quantity that is written as a JSON integer.
    fn from(units: u64) -> Self {
        Self::of_nanos(i128::from(units) * NANOS)
    }
}

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
fn nanos(text: &str) -> Result<i128, QuantityError> {
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
    let magnitude = match scale {
        Scale::Decimal(power) => decimal(whole, fraction, power + 9),
        Scale::Binary(power) => binary(whole, fraction, power),
    };
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

/// A decimal number times a power of ten, rounded up.
fn decimal(whole: &str, fraction: &str, power: i32) -> i128 {
    let digits = || whole.bytes().chain(fraction.bytes());
    let kept = i32::try_from(whole.len())
        .unwrap_or(i32::MAX)
        .saturating_add(power);
    let kept = usize::try_from(kept).unwrap_or_default();
    // With so many zeros, every number but zero is beyond an i128.
    let zeros = kept.saturating_sub(whole.len() + fraction.len()).min(39);
    let number = integer(digits().take(kept).chain(std::iter::repeat_n(b'0', zeros)));
    let is_cut = digits().skip(kept).any(|digit| digit != b'0');
    number.saturating_add(i128::from(is_cut))
}

/// A decimal number times a power of two, in nanos, rounded up and capped as Kubernetes does.
fn binary(whole: &str, fraction: &str, power: u8) -> i128 {
    let unit = NANOS << power;
    // From the last digit to the first: each takes the ones behind it as a tenth.
    let (mut part, mut is_cut) = (0, false);
    for digit in fraction.bytes().rev() {
        let sum = i128::from(digit - b'0') * unit + part;
        part = sum / 10;
        is_cut |= sum % 10 != 0;
    }
    let number = integer(whole.bytes()).saturating_mul(unit);
    let number = number.saturating_add(part + i128::from(is_cut));
    number.min(i128::from(i64::MAX) * NANOS)
}

/// The number that digits write, or the largest that fits.
fn integer(digits: impl Iterator<Item = u8>) -> i128 {
    digits.fold(0_i128, |number, digit| {
        number.saturating_mul(10).saturating_add(i128::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_rounded_and_kept_within_64_bits() {
        for (text, up, down) in [
            ("0", 0, 0),
            ("1.5", 2, 1),
            ("1n", 1, 0),
            ("-1.5", -1, -2),
            ("2000m", 2, 2),
            ("1Ki", 1_024, 1_024),
            ("1e30", i64::MAX, i64::MAX),
            ("-1e30", i64::MIN, i64::MIN),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().rounded_up(), up, "{text}");
            assert_eq!(Quantity::parse(text).unwrap().rounded_down(), down, "{text}");
        }
    }

    #[test]
    fn thousandths_are_rounded_either_way() {
        for (text, up, down) in [
            ("0", 0, 0),
            ("1.5", 1_500, 1_500),
            ("1n", 1, 0),
            ("100m", 100, 100),
            ("-1n", 0, -1),
            ("1Ki", 1_024_000, 1_024_000),
            ("1e30", i64::MAX, i64::MAX),
        ] {
            assert_eq!(
                Quantity::parse(text).unwrap().thousandths_rounded_up(),
                up,
                "{text}"
            );
            assert_eq!(
                Quantity::parse(text).unwrap().thousandths_rounded_down(),
                down,
                "{text}"
            );
        }
    }
}
