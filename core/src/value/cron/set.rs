//! The values that one field allows.

use std::ops::BitOr;

use super::field::CronField;

/// A set of field values and the mark that decides how the two day fields combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Set {
    /// Bit n stands for the value n.
    pub(super) bits: u64,
    /// An item began with `*` or `?` and had no step above 1. Such a field is full.
    pub(super) star: bool,
}

impl Set {
    /// No value at all: what a field of commas means.
    pub(super) const EMPTY: Self = Self { bits: 0, star: false };

    /// Every `step`th value from `low` to `high`. A step beyond `high` leaves `low` alone.
    pub(super) fn stepped(low: u64, high: u64, step: u64) -> Self {
        let step = usize::try_from(step).unwrap_or(usize::MAX).max(1);
        let bits = (low..=high.min(63))
            .step_by(step)
            .fold(0, |bits, value| bits | 1 << value);
        Self { bits, star: false }
    }

    /// All values of a field, without the mark.
    pub(super) fn all(field: CronField) -> Self {
        Self::stepped(field.lowest().into(), field.highest().into(), 1)
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
pub(super) fn values(bits: u64) -> impl Iterator<Item = u8> {
    (0..64).filter(move |value| bits >> value & 1 == 1)
}
