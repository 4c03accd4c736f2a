//! Schedules as Karpenter reads them: robfig/cron v3.0.1 `ParseStandard` after the prefix `TZ=UTC ` that
//! `Budget.IsActive` adds. Always UTC. Knows nothing of windows, nor of how Karpenter treats a schedule that never
//! fires.

mod error;
mod fields;
mod fires;
mod parse;
mod period;
mod suggestion;
mod week;

use std::time::Duration;

use fields::{CalendarFields, Days};

pub use error::{CountCause, RangeItem, ScheduleError};
pub use fields::{CronField, DAY, WEEK, WEEKDAYS};
pub use fires::FireTimes;
pub use week::WeekMinutes;

/// When a window of a budget opens. Two spellings of the same times are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule(Recurrence);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recurrence {
    /// A constant delay after any given instant; whole seconds, at least one.
    Every(Duration),
    /// Times by the calendar, in UTC.
    Calendar(CalendarFields),
}

impl Schedule {
    /// Parses a schedule. White space around it is ignored.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        parse::schedule(text).map(Self)
    }

    /// True if it never fires, as with 30 February or a field that has only commas. Computed from the sets. 29
    /// February does fire.
    pub fn never_fires(&self) -> bool {
        match self.0 {
            Recurrence::Every(_) => false,
            Recurrence::Calendar(fields) => {
                fields.minutes == 0 || fields.hours == 0 || fields.days.none_in(fields.months)
            }
        }
    }

    /// The constant delay of an `@every`: whole seconds, at least one.
    pub fn every(&self) -> Option<Duration> {
        match self.0 {
            Recurrence::Every(delay) => Some(delay),
            Recurrence::Calendar(_) => None,
        }
    }

    /// The longest time between two consecutive fires, or somewhat more; `None` if it never fires. Whole minutes,
    /// except for `@every`. Computed from the sets, without a search through years.
    ///
    /// Exact for `@every`, for all days of all months, for days of the week in all months, and for days of the
    /// month or months alone, unless only 29 February is left: then it is the eight years around a century year
    /// without that day. Can be too long only for days of the month *or* of the week together, and for days of the
    /// week in some months only.
    pub(crate) fn longest_gap(&self) -> Option<Duration> {
        match self.0 {
            Recurrence::Every(delay) => Some(delay),
            Recurrence::Calendar(_) if self.never_fires() => None,
            Recurrence::Calendar(fields) => period::longest_gap(&fields),
        }
    }

    /// No two fires are closer than this. Computed from the sets; it can be too short.
    pub(crate) fn least_gap(&self) -> Duration {
        match self.0 {
            Recurrence::Every(delay) => delay,
            Recurrence::Calendar(fields) => period::least_gap(&fields),
        }
    }

    /// True if both day fields are restricted, so that a day which matches either of them is enough.
    pub(crate) fn fires_on_either_day(&self) -> bool {
        matches!(self.0, Recurrence::Calendar(fields) if matches!(fields.days, Days::Either { .. }))
    }

    /// True if a text that can be parsed restricts one day field in vain: the other one has every day without a star, as in
    /// `0 0 1 * 0-6`, so that it fires every day.
    pub(crate) fn restricts_days_in_vain(text: &str) -> bool {
        parse::day_fields(text).is_some_and(|(dates, weekdays)| Days::restrict_in_vain(dates, weekdays))
    }

    /// Computes its fire times. Keep it if you need more than one.
    pub fn fire_times(&self) -> FireTimes {
        FireTimes::of(self)
    }

    /// The first fire time after an instant; see [`FireTimes::next_after`].
    pub fn next_after(&self, instant: jiff::Timestamp) -> Option<jiff::Timestamp> {
        self.fire_times().next_after(instant)
    }

    /// True if it fires at least whenever `other` fires, judging by the fields alone: if true, this is certain. An
    /// `@every` only covers an equal one.
    pub fn covers(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Recurrence::Every(ours), Recurrence::Every(theirs)) => ours == theirs,
            (Recurrence::Calendar(ours), Recurrence::Calendar(theirs)) => {
                holds(ours.minutes, theirs.minutes)
                    && holds(ours.hours, theirs.hours)
                    && holds(ours.months, theirs.months)
                    && holds_days(ours.days, theirs.days)
            }
            (Recurrence::Every(_), Recurrence::Calendar(_))
            | (Recurrence::Calendar(_), Recurrence::Every(_)) => false,
        }
    }
}

/// True if a set contains all values of another one.
const fn holds(ours: u64, theirs: u64) -> bool {
    theirs & !ours == 0
}

fn holds_days(ours: Days, theirs: Days) -> bool {
    match (ours, theirs) {
        (Days::Every, _) => true,
        (Days::Dates(ours) | Days::Either { dates: ours, .. }, Days::Dates(theirs))
        | (Days::Weekdays(ours) | Days::Either { weekdays: ours, .. }, Days::Weekdays(theirs)) => {
            holds(ours, theirs)
        }
        (
            Days::Either { dates, weekdays },
            Days::Either {
                dates: their_dates,
                weekdays: their_weekdays,
            },
        ) => holds(dates, their_dates) && holds(weekdays, their_weekdays),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_covers_what_it_never_misses() {
        for (ours, theirs, wanted) in [
            ("0 9 * * mon-fri", "0 9 * * 1-5", true),
            ("0 9 * * *", "0 9 * * 1-5", true),
            ("0 9 * * 1-5", "0 9 * * *", false),
            ("@daily", "0 0 * * *", true),
            ("0 * * * *", "0 9 1 * *", true),
            ("0 9 1 * *", "0 9 1 1 *", true),
            ("0 9 1 1 *", "0 9 1 * *", false),
            ("0 9 1,15 * mon", "0 9 15 * *", true),
            ("0 9 1,15 * mon", "0 9 * * mon", true),
            ("0 9 15 * *", "0 9 1,15 * mon", false),
            ("0 9 * * mon", "0 9 15 * *", false),
            ("5 9 * * *", "0 9 * * *", false),
        ] {
            let [ours_read, theirs_read] = [ours, theirs].map(|text| Schedule::parse(text).unwrap());
            assert_eq!(ours_read.covers(&theirs_read), wanted, "{ours} / {theirs}");
        }
    }
}
