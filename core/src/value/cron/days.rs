//! How the two day fields of a schedule combine.

use super::field::CronField;
use super::set::{Set, values};

/// Days in each month, February as in a leap year.
const LONGEST_MONTHS: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

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

    /// Whether one of the fields has every day without a star: either of them is enough, so the other one restricts nothing.
    pub fn restrict_in_vain(dates: Set, weekdays: Set) -> bool {
        let every_date = dates.is_all_of(CronField::DayOfMonth);
        let every_weekday = weekdays.is_all_of(CronField::DayOfWeek);
        let is_either_enough = !dates.star && !weekdays.star && dates.bits != 0 && weekdays.bits != 0;
        is_either_enough && every_date != every_weekday
    }

    /// Whether none of these months ever has such a day. Every month has every day of the week.
    pub fn none_in(self, months: u64) -> bool {
        match self {
            Self::Every | Self::Either { .. } => months == 0,
            Self::Weekdays(weekdays) => months == 0 || weekdays == 0,
            Self::Dates(dates) => !values(months).any(|month| {
                let days = LONGEST_MONTHS
                    .get(usize::from(month).wrapping_sub(1))
                    .copied()
                    .unwrap_or(0);
                values(dates).any(|date| date <= days)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Schedule;

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
