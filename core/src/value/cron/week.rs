//! The minutes of a week that are inside windows that open by a schedule. Only for schedules that are the same
//! every week.

use std::time::Duration;

use super::fields::{CalendarFields, Days, WEEK, values};
use super::period::ALL_MONTHS;
use super::{Recurrence, Schedule};

/// A week is exactly 315 words of this many bits.
const BITS: usize = 32;
const WORDS: usize = WEEK / BITS;
const WORDS_OF_DAY: usize = WORDS / 7;
const ALL_WEEKDAYS: u64 = 0b111_1111;

/// A set of minutes of the week, from Sunday 00:00 UTC on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeekMinutes([u32; WORDS]);

impl WeekMinutes {
    /// The empty set.
    pub const NONE: Self = Self([0; WORDS]);

    /// Adds the minutes of another set.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
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

    /// True if each of its minutes is in one of these sets. Ends at the first one that is in none.
    pub(crate) fn is_within(&self, sets: &[&Self]) -> bool {
        self.0.iter().enumerate().all(|(number, word)| {
            let mut left = *word;
            let mut words = sets.iter().filter_map(|set| set.0.get(number));
            while left != 0
                && let Some(word) = words.next()
            {
                left &= !word;
            }
            left == 0
        })
    }

    /// True if it holds a minute of the week.
    pub(crate) fn has(&self, minute: usize) -> bool {
        let word = self.0.get(minute / BITS);
        word.is_some_and(|word| word >> (minute % BITS) & 1 == 1)
    }

    /// True if it holds some minute of another set.
    pub(crate) fn has_any_of(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .any(|(mine, theirs)| theirs & mine != 0)
    }

    /// True if it holds every minute of the week.
    pub(crate) fn is_whole_week(&self) -> bool {
        self.0 == [u32::MAX; WORDS]
    }

    /// The last minute that it holds.
    fn last(&self) -> Option<usize> {
        let number = self.0.iter().rposition(|word| *word != 0)?;
        let word = self.0.get(number)?;
        Some((number + 1) * BITS - 1 - word.leading_zeros() as usize)
    }

    /// Makes each of its minutes a window of this many minutes. A window over the end of the week continues at its
    /// beginning.
    fn widen(&mut self, length: usize) {
        let Some(last) = self.last() else { return };
        // Where the last of the windows so far ends.
        let mut end = (last + length).saturating_sub(WEEK);
        for (word, first) in self.0.iter_mut().zip((0..).step_by(BITS)) {
            let begun = *word;
            if begun != 0 {
                let mut width = 1;
                while width < length.min(BITS) {
                    let step = width.min(length - width);
                    *word |= *word << step;
                    width += step;
                }
            }
            *word |= lowest(end.saturating_sub(first));
            if begun != 0 {
                end = first + BITS - 1 - begun.leading_zeros() as usize + length;
            }
        }
    }
}

/// A word with this many of its lowest bits set.
fn lowest(bits: usize) -> u32 {
    let rest = u32::try_from(bits)
        .ok()
        .and_then(|bits| u32::MAX.checked_shl(bits));
    !rest.unwrap_or_default()
}

impl Schedule {
    /// The minutes of the week inside windows of this length, in whole minutes; `None` if the schedule is not the
    /// same every week. Takes about a microsecond: keep it if you need it again.
    pub fn week(&self, length: Duration) -> Option<Box<WeekMinutes>> {
        let (fields, weekdays) = self.weekly()?;
        let mut week = beginnings(fields, weekdays);
        let length = usize::try_from(length.as_secs() / 60).map_or(WEEK, |length| length.min(WEEK));
        week.widen(length.max(1));
        Some(week)
    }

    /// Minutes that are inside such windows in every week, perhaps not all: a schedule that fires on days of the month or of the
    /// week fires on all these days of the week.
    pub(crate) fn certain_week(&self, length: Duration) -> Option<Box<WeekMinutes>> {
        let Recurrence::Calendar(fields) = &self.0 else {
            return None;
        };
        let days = match fields.days {
            Days::Either { weekdays, .. } => Days::Weekdays(weekdays),
            days => days,
        };
        Self(Recurrence::Calendar(CalendarFields { days, ..*fields })).week(length)
    }

    /// The first minute of the week at which it fires, if it is the same every week.
    pub(crate) fn first_of_week(&self) -> Option<usize> {
        let (fields, weekdays) = self.weekly()?;
        let [day, hour, minute] =
            [weekdays, fields.hours, fields.minutes].map(|bits| bits.trailing_zeros() as usize);
        (!self.never_fires()).then_some((day * 24 + hour) * 60 + minute)
    }

    /// The fields of a schedule that is the same every week, and its days of the week.
    fn weekly(&self) -> Option<(&CalendarFields, u64)> {
        let Recurrence::Calendar(fields) = &self.0 else {
            return None;
        };
        let weekdays = match fields.days {
            _ if fields.months != ALL_MONTHS => return None,
            Days::Every => ALL_WEEKDAYS,
            Days::Weekdays(weekdays) => weekdays,
            Days::Dates(_) | Days::Either { .. } => return None,
        };
        Some((fields, weekdays))
    }
}

/// The minutes of the week at which a schedule fires, on these days of the week.
fn beginnings(fields: &CalendarFields, weekdays: u64) -> Box<WeekMinutes> {
    let mut day = [0; WORDS_OF_DAY];
    for hour in values(fields.hours).map(usize::from) {
        for minute in values(fields.minutes).map(usize::from) {
            set(&mut day, hour * 60 + minute);
        }
    }
    let mut beginnings = Box::new(WeekMinutes::NONE);
    for (number, words) in beginnings.0.chunks_exact_mut(WORDS_OF_DAY).enumerate() {
        if weekdays >> number & 1 == 1 {
            words.copy_from_slice(&day);
        }
    }
    beginnings
}

fn set(words: &mut [u32], minute: usize) {
    if let Some(word) = words.get_mut(minute / BITS) {
        *word |= 1 << (minute % BITS);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn week(schedule: &str, minutes: u64) -> Option<Box<WeekMinutes>> {
        Schedule::parse(schedule)
            .unwrap()
            .week(Duration::from_secs(minutes * 60))
    }

    /// The minutes computed one by one, in the simplest way.
    fn slowly(schedule: &str, minutes: usize) -> Box<WeekMinutes> {
        let starts = week(schedule, 1).unwrap();
        let mut covered = Box::new(WeekMinutes::NONE);
        for start in (0..WEEK).filter(|minute| starts.0[minute / BITS] >> (minute % BITS) & 1 == 1) {
            for minute in start..start + minutes {
                set(&mut covered.0, minute % WEEK);
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
    fn a_schedule_of_dates_or_weekdays_is_certain_of_its_weekdays() {
        let certain = |text: &str| {
            let schedule = Schedule::parse(text).unwrap();
            schedule.certain_week(Duration::from_hours(1))
        };
        assert_eq!(certain("0 3 1 * sat"), week("0 3 * * sat", 60));
        assert_eq!(certain("0 3 * * sat"), week("0 3 * * sat", 60));
        for schedule in ["0 3 1 * *", "0 3 1 6 sat", "@every 1h"] {
            assert_eq!(certain(schedule), None, "{schedule}");
        }
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
            minute in 0_u8..60, every in 1_u8..60, hour in 0_u8..24, from in 0_u8..7, length in 1_usize..WEEK,
        ) {
            let schedule = format!("{minute}/{every} {hour} * * {from}-6");
            prop_assert_eq!(week(&schedule, length as u64), Some(slowly(&schedule, length)));
        }
    }
}
