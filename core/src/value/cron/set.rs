//! The values that one field allows.

use std::ops::BitOr;

use super::field::CronField;

/// A set of field values and the mark that decides how the two day fields combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set {
    /// Bit n is the value n.
    pub bits: u64,
    /// An item began with `*` or `?` and had no step above 1. Such a field is full.
    pub star: bool,
}

impl Set {
    /// No values: the meaning of a field that has only commas.
    pub const EMPTY: Self = Self { bits: 0, star: false };

    /// Every `step`th value from `low` to `high`. With a step beyond `high`, only `low`.
    pub fn stepped(low: u64, high: u64, step: u64) -> Self {
        let step = usize::try_from(step).unwrap_or(usize::MAX).max(1);
        let high = high.min(63);
        let bits = if step == 1 && low <= high {
            u64::MAX << low & u64::MAX >> (63 - high)
        } else {
            (low..=high)
                .step_by(step)
                .fold(0, |bits, value| bits | 1 << value)
        };
        Self { bits, star: false }
    }

    /// All values of a field, without the mark.
    pub fn all(field: CronField) -> Self {
        Self::stepped(field.lowest().into(), field.highest().into(), 1)
    }

    /// Whether these are all values of a field.
    pub fn is_all_of(self, field: CronField) -> bool {
        self.bits == Self::all(field).bits
    }
}

impl BitOr for Set {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
            star: self.star || other.star,
        }
    }
}

/// The values in a set of bits, in ascending order.
pub fn values(bits: u64) -> impl Iterator<Item = u8> {
    let rest = |bits: u64| (bits != 0).then_some(bits);
    std::iter::successors(rest(bits), move |bits| rest(bits & (bits - 1)))
        .filter_map(|bits| u8::try_from(bits.trailing_zeros()).ok())
}

/// The ends of a set of bits, and the longest distance between two neighbours in it: 0 for a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    pub first: u32,
    pub last: u32,
    pub widest: u32,
}

impl Spread {
    /// The spread of a set; `None` if it is empty.
    pub fn of(bits: u64) -> Option<Self> {
        let last = bits.checked_ilog2()?;
        let first = bits.trailing_zeros();
        let mut widest = 0;
        let mut seen = first;
        for value in values(bits).map(u32::from) {
            widest = widest.max(value - seen);
            seen = value;
        }
        Some(Self { first, last, widest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_start_at_the_low_end_and_may_leave_the_field() {
        assert_eq!(Set::stepped(0, 59, 1).bits, (1 << 60) - 1);
        assert_eq!(Set::stepped(1, 7, 3).bits, 0b1001_0010);
        assert_eq!(Set::stepped(5, 59, u64::MAX).bits, 1 << 5);
        assert_eq!(values(0b1001_0010).collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(values(1 << 63 | 1).collect::<Vec<_>>(), [0, 63]);
        assert_eq!(values(0).count(), 0);
    }

    #[test]
    fn a_spread_is_as_wide_as_its_widest_gap() {
        assert_eq!(Spread::of(0), None);
        let single = Spread {
            first: 9,
            last: 9,
            widest: 0,
        };
        assert_eq!(Spread::of(1 << 9), Some(single));
        let several = Spread {
            first: 1,
            last: 63,
            widest: 58,
        };
        assert_eq!(Spread::of(1 << 63 | 0b10_0010), Some(several));
    }
}
