//! The minutes of a week that are inside windows that open by a schedule. Only for schedules that are the same
//! every week.

use std::time::Duration;

use super::calendar::Fields;
use super::days::Days;
use super::period::ALL_MONTHS;
use super::set::values;
use super::{Kind, Schedule};

const MINUTES: usize = 7 * 24 * 60;
/// A week is exactly 315 words of this many bits.
const BITS: usize = 32;
const WORDS: usize = MINUTES / BITS;
const ALL_WEEKDAYS: u64 = 0b111_1111;

/// A set of minutes of the week, from Sunday 00:00 UTC on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeekMinutes([u32; WORDS]);

impl WeekMinutes {
    /// The empty set.
    pub const NONE: Self = Self([0; WORDS]);

    /// Adds the minutes of another set.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    /// How many minutes it holds.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The minutes that it does not hold.
    pub(crate) fn others(&self) -> Self {
        Self(self.0.map(|word| !word))
    }

    /// Whether it holds every minute of another set.
    pub(crate) fn has_all_of(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .all(|(mine, theirs)| theirs & !mine == 0)
    }

    /// Whether it holds a minute of the week.
    pub(crate) fn has(&self, minute: usize) -> bool {
        let word = self.0.get(minute / BITS);
        word.is_some_and(|word| word >> (minute % BITS) & 1 == 1)
    }

    /// Whether it holds some minute of another set.
    pub(crate) fn has_any_of(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .any(|(mine, theirs)| theirs & mine != 0)
    }

    /// Whether it holds every minute of the week.
    pub(crate) fn is_whole_week(&self) -> bool {
        self.0 == [u32::MAX; WORDS]
    }

    fn set(&mut self, minute: usize) {
        if let Some(word) = self.0.get_mut(minute / BITS) {
            *word |= 1 << (minute % BITS);
        }
    }

    /// The set shifted by some minutes, wrapping from the end of the week to its beginning.
    fn moved(&self, minutes: usize) -> Self {
        let mut moved = self.clone();
        moved.0.rotate_right(minutes / BITS % WORDS);
        let bits = minutes % BITS;
        let mut before = moved.0.last().copied().unwrap_or_default();
        for word in &mut moved.0 {
            // To the right in two steps, because a shift by a whole word would overflow.
            let shifted = *word << bits | before >> 1 >> (BITS - 1 - bits);
            before = std::mem::replace(word, shifted);
        }
        moved
    }
}

impl Schedule {
    /// The minutes of the week inside windows of this length, in whole minutes; `None` if the schedule is not the
    /// same every week. Takes some microseconds for any schedule.
    pub fn week(&self, length: Duration) -> Option<WeekMinutes> {
        let Kind::Calendar(fields) = self.0 else {
            return None;
        };
        let mut covered = beginnings(&fields)?;
        let length = usize::try_from(length.as_secs() / 60).map_or(MINUTES, |length| length.min(MINUTES));
        // A window of one minute, then widened repeatedly: each step at most doubles it.
        let mut width = 1;
        while width < length {
            let step = width.min(length - width);
            let moved = covered.moved(step);
            covered.add(&moved);
            width += step;
        }
        Some(covered)
    }
}

/// The minutes of the week at which a schedule fires.
fn beginnings(fields: &Fields) -> Option<WeekMinutes> {
    let weekdays = match fields.days {
        _ if fields.months != ALL_MONTHS => return None,
        Days::Every => ALL_WEEKDAYS,
        Days::Weekdays(weekdays) => weekdays,
        Days::Dates(_) | Days::Either { .. } => return None,
    };
    let mut beginnings = WeekMinutes::NONE;
    for day in values(weekdays).map(usize::from) {
        for hour in values(fields.hours).map(usize::from) {
            for minute in values(fields.minutes).map(usize::from) {
                beginnings.set((day * 24 + hour) * 60 + minute);
            }
        }
    }
    Some(beginnings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn week(schedule: &str, minutes: u64) -> Option<WeekMinutes> {
        Schedule::parse(schedule)
            .unwrap()
            .week(Duration::from_secs(minutes * 60))
    }

    /// The minutes computed one by one, in the simplest way.
    fn slowly(schedule: &str, minutes: usize) -> WeekMinutes {
        let starts = week(schedule, 1).unwrap();
        let mut covered = WeekMinutes::NONE;
        for start in (0..MINUTES).filter(|minute| starts.0[minute / BITS] >> (minute % BITS) & 1 == 1) {
            for minute in start..start + minutes {
                covered.set(minute % MINUTES);
            }
        }
        covered
    }

    #[test]
    fn windows_that_follow_each_other_make_a_whole_week() {
        let mut both = week("0 9 * * *", 8 * 60).unwrap();
        assert!(!both.is_whole_week());
        both.add(&week("0 17 * * *", 16 * 60).unwrap());
        assert!(both.is_whole_week());
        let mut short = week("0 9 * * *", 8 * 60).unwrap();
        short.add(&week("0 17 * * *", 16 * 60 - 1).unwrap());
        assert!(!short.is_whole_week());
    }

    #[test]
    fn a_window_over_the_end_of_the_week_continues_at_its_beginning() {
        let mut both = week("0 12 * * 6", 24 * 60).unwrap();
        both.add(&week("0 12 * * 0", 6 * 24 * 60).unwrap());
        assert!(both.is_whole_week());
        assert!(week("0 0 * * 3", 7 * 24 * 60).unwrap().is_whole_week());
        assert!(week("0 0 * * 3", u64::MAX / 60).unwrap().is_whole_week());
    }

    #[test]
    fn a_schedule_of_dates_or_months_has_no_week() {
        for schedule in ["0 0 1 * *", "0 0 * 1-6 *", "0 0 1 * mon", "@every 1h", "@yearly"] {
            assert_eq!(week(schedule, 60), None, "{schedule}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_window_covers_its_minutes_and_no_other(
            minute in 0_u8..60, every in 1_u8..60, hour in 0_u8..24, from in 0_u8..7, length in 1_usize..MINUTES,
        ) {
            let schedule = format!("{minute}/{every} {hour} * * {from}-6");
            prop_assert_eq!(week(&schedule, length as u64), Some(slowly(&schedule, length)));
        }
    }
}
