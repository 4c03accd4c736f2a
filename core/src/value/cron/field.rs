//! The five fields of a schedule and the values allowed in each.

use std::fmt;

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
