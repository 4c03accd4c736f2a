//! The five fields of a schedule once they are parsed: the values of each, and how the two day fields combine.

use std::fmt;
use std::ops::BitOr;

/// The calendar times at which a schedule fires. Bit n of a set is the value n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarFields {
    pub minutes: u64,
    pub hours: u64,
    pub months: u64,
    pub days: Days,
}

/// The macros and the fields that they mean.
pub const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A field of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CronField {
    /// Minutes, 0 to 59.
    Minute,
    /// Hours of the day, 0 to 23.
    Hour,
    /// Days of the month, 1 to 31.
    DayOfMonth,
    /// 1 to 12, or `jan` to `dec`.
    Month,
    /// 0 (Sunday) to 6, or `sun` to `sat`.
    DayOfWeek,
}

/// Names of the months, the first being month 1.
pub const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Names of the days, the first being day 0.
pub const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl CronField {
    /// The smallest legal value.
    pub const fn lowest(self) -> u8 {
        match self {
            Self::Minute | Self::Hour | Self::DayOfWeek => 0,
            Self::DayOfMonth | Self::Month => 1,
        }
    }

    /// The largest legal value.
    pub const fn highest(self) -> u8 {
        match self {
            Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => 6,
        }
    }

    /// The names that may be written for values, the first of them for the smallest.
    pub(crate) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Minute | Self::Hour | Self::DayOfMonth => &[],
            Self::Month => &MONTHS,
            Self::DayOfWeek => &WEEKDAYS,
        }
    }

    /// The name of a value, in the fields that have names.
    pub(crate) fn name_of(self, value: u8) -> Option<&'static str> {
        let place = value.checked_sub(self.lowest())?;
        self.names().get(usize::from(place)).copied()
    }
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}

/// Minutes of a day.
pub const DAY: usize = 24 * 60;

/// Minutes of a week.
pub const WEEK: usize = 7 * DAY;

/// Days in each month of a leap year: the most that it has.
pub const LEAP_YEAR: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// The days of the allowed months on which a schedule fires. Bits count from day 1 of the month (bit 1) and from
/// Sunday (bit 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Days {
    /// Every day of the allowed months.
    Every,
    /// These days of the month.
    Dates(u64),
    /// These days of the week.
    Weekdays(u64),
    /// These days of the month, and these days of the week as well. Neither set is empty or full.
    Either {
        /// Days of the month.
        dates: u64,
        /// Days of the week.
        weekdays: u64,
    },
}

impl Days {
    /// A day must match both fields if one of them has a star, either of them if neither has. As a field with a
    /// star is full, the other one decides alone.
    pub fn new(dates: Set, weekdays: Set) -> Self {
        let every_date = dates.is_all_of(CronField::DayOfMonth);
        let every_weekday = weekdays.is_all_of(CronField::DayOfWeek);
        let both_needed = dates.star || weekdays.star;
        match (every_date, every_weekday) {
            (true, false) if both_needed => Self::Weekdays(weekdays.bits),
            (false, true) if both_needed => Self::Dates(dates.bits),
            (true, _) | (_, true) => Self::Every,
            (false, false) if dates.bits == 0 => Self::Weekdays(weekdays.bits),
            (false, false) if weekdays.bits == 0 => Self::Dates(dates.bits),
            (false, false) => Self::Either {
                dates: dates.bits,
                weekdays: weekdays.bits,
            },
        }
    }

    /// True if one of the fields has every day without a star: either of them is enough, so the other one restricts nothing.
    pub fn restrict_in_vain(dates: Set, weekdays: Set) -> bool {
        let every_date = dates.is_all_of(CronField::DayOfMonth);
        let every_weekday = weekdays.is_all_of(CronField::DayOfWeek);
        let is_either_enough = !dates.star && !weekdays.star && dates.bits != 0 && weekdays.bits != 0;
        is_either_enough && every_date != every_weekday
    }

    /// True if none of these months ever has such a day. Every month has every day of the week.
    pub fn none_in(self, months: u64) -> bool {
        match self {
            Self::Every | Self::Either { .. } => months == 0,
            Self::Weekdays(weekdays) => months == 0 || weekdays == 0,
            Self::Dates(dates) => !values(months).any(|month| {
                let days = LEAP_YEAR
                    .get(usize::from(month).wrapping_sub(1))
                    .copied()
                    .unwrap_or(0);
                values(dates).any(|date| date <= days)
            }),
        }
    }
}

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

    /// True if these are all values of a field.
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
pub struct Gaps {
    pub first: u32,
    pub last: u32,
    pub widest: u32,
}

impl Gaps {
    /// The gaps of a set; `None` if it is empty.
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
    use super::super::Schedule;
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
    fn the_widest_gap_of_a_set_is_found() {
        assert_eq!(Gaps::of(0), None);
        let single = Gaps {
            first: 9,
            last: 9,
            widest: 0,
        };
        assert_eq!(Gaps::of(1 << 9), Some(single));
        let several = Gaps {
            first: 1,
            last: 63,
            widest: 58,
        };
        assert_eq!(Gaps::of(1 << 63 | 0b10_0010), Some(several));
    }

    fn never(text: &str) -> bool {
        Schedule::parse(text).unwrap().never_fires()
    }

    #[test]
    fn a_day_that_no_allowed_month_has_never_comes() {
        for text in [
            "0 0 30 2 *",
            "0 0 31 2 ?",
            "0 0 31 4,6,9,11 *",
            "0 0 31 2 */1",
            "0 0 , * *",
            ", * * * *",
            "* , * * *",
            "* * * , *",
            "* * * * ,",
            "* * , * ,",
            "* * * , 1",
        ] {
            assert!(never(text), "{text}");
        }
    }

    #[test]
    fn a_leap_day_or_a_day_of_the_week_beside_it_does_come() {
        for text in [
            "0 0 29 2 *",
            "0 0 31 2 1",
            "0 0 31 1,4 *",
            "0 0 , * 1",
            "0 0 1 * ,",
            "@every 1h",
            "0 0 31 2 0-6",
        ] {
            assert!(!never(text), "{text}");
        }
    }

    #[test]
    fn a_star_makes_the_other_day_field_decide() {
        let same = |one: &str, other: &str| Schedule::parse(one).unwrap() == Schedule::parse(other).unwrap();
        assert!(same("0 0 */1 * mon", "0 0 * * 1"));
        assert!(same("0 0 5,* * mon", "0 0 * * 1"));
        assert!(same("0 0 1 * *,5", "0 0 1 * *"));
        assert!(!same("0 0 */2 * mon", "0 0 * * mon"));
        // Full without a star: either field is enough, so every day matches.
        assert!(same("0 0 1-31 * mon", "@daily"));
        assert!(same("0 0 1 * 0-6", "@daily"));
    }
}
