//! Quantities of resources, as `resource.ParseQuantity` of `k8s.io/apimachinery` reads them and as far as the
//! pattern of Karpenter's CRD lets them through. Compared by value, never through 64 bits.

mod error;
mod parse;

use num_bigint::{BigInt, Sign};

pub use error::QuantityError;

/// The largest absolute exponent that is read. Kubernetes scales by it before it checks the size of the result: at
/// ten million that takes a second, beyond 32 bits it never returns.
pub(crate) const MAX_EXPONENT: u32 = 4_096;

/// The longest text, in bytes, that is read. Longer texts are rejected, whatever their value.
pub const MAX_LENGTH: usize = 1_024;

/// Nanos in a unit.
const NANOS: u32 = 1_000_000_000;

/// Nanos in a thousandth of a unit.
const NANOS_OF_THOUSANDTH: u32 = NANOS / 1_000;

/// An amount of some resource, exact to 10^-9, the finest that Kubernetes keeps. Ordered by value: `1Ki` and `1024`
/// are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: BigInt,
}

impl Quantity {
    /// Reads a quantity such as `1000`, `500m`, `1.5Gi` or `1e3`.
    ///
    /// Fractions of a nano are rounded away from zero; binary suffixes (`Ki` to `Ei`) give at most 2^63 - 1. Reads
    /// what both the CRD's pattern and `ParseQuantity` accept, up to [`MAX_LENGTH`] and [`MAX_EXPONENT`].
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse::nanos(text).map(|nanos| Self { nanos })
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.nanos.sign() == Sign::Minus
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.nanos.sign() == Sign::NoSign
    }

    /// Whether it is an integer number of units.
    pub fn is_whole(&self) -> bool {
        (&self.nanos % NANOS).sign() == Sign::NoSign
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

    /// The number of parts of this many nanos, rounded up.
    fn parts_rounded_up(&self, nanos: u32) -> i64 {
        let beyond = &self.nanos % nanos;
        self.nearest(&self.nanos / nanos + i32::from(beyond.sign() == Sign::Plus))
    }

    /// The number of parts of this many nanos, rounded down.
    fn parts_rounded_down(&self, nanos: u32) -> i64 {
        let below = &self.nanos % nanos;
        self.nearest(&self.nanos / nanos - i32::from(below.sign() == Sign::Minus))
    }

    fn nearest(&self, parts: BigInt) -> i64 {
        let nearest = if self.is_negative() { i64::MIN } else { i64::MAX };
        i64::try_from(parts).unwrap_or(nearest)
    }
}

impl From<i64> for Quantity {
    /// A quantity that is written as a JSON integer.
    fn from(units: i64) -> Self {
        Self {
            nanos: BigInt::from(units) * NANOS,
        }
    }
}

impl From<u64> for Quantity {
    /// A quantity that is written as a JSON integer.
    fn from(units: u64) -> Self {
        Self {
            nanos: BigInt::from(units) * NANOS,
        }
    }
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
