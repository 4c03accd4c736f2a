//! The instants at which a schedule fires. The `cron` crate searches the calendar; it gets explicit lists of
//! numbers in its own dialect, which our parser has computed from the schedule.

use std::str::FromStr as _;
use std::time::Duration;

use chrono::{DateTime, Datelike as _, Utc};
use jiff::Timestamp;

use super::fields::{CalendarFields, CronField, Days, Set, values};
use super::{Recurrence, Schedule};

/// How many years after the year of the instant Karpenter's parser searches for the next fire.
const YEARS_SEARCHED: i32 = 5;

/// Computes the fire times of one schedule. Costs some ten microseconds to build.
#[derive(Debug, Clone)]
pub struct FireTimes(Source);

#[derive(Debug, Clone)]
enum Source {
    /// A constant delay after any given instant.
    Every(Duration),
    /// The earliest fire of any of these; two if day of month *or* day of week decides, none if it never fires.
    Calendar(Vec<cron::Schedule>),
}

impl FireTimes {
    pub(crate) fn of(schedule: &Schedule) -> Self {
        Self(match schedule.0 {
            Recurrence::Every(delay) => Source::Every(delay),
            // A search without a result would check every day up to the end of the calendar.
            Recurrence::Calendar(_) if schedule.never_fires() => Source::Calendar(Vec::new()),
            Recurrence::Calendar(fields) => Source::Calendar(dialects(&fields)),
        })
    }

    /// The first fire time after an instant, to the second, like robfig/cron's `Next`.
    ///
    /// `None` if there is none up to the end of the fifth year after that of the instant (from March 2096 on, this
    /// affects 29 February), or outside the years 1970 to 2100, the only ones that the `cron` crate knows. An
    /// `@every` fires at a constant delay after any instant.
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        let second = instant.as_nanosecond().div_euclid(1_000_000_000);
        let second = Timestamp::from_second(i64::try_from(second).ok()?).ok()?;
        match &self.0 {
            Source::Every(delay) => second.checked_add(*delay).ok(),
            Source::Calendar(dialects) => next_of(dialects, second),
        }
    }
}

/// The earliest fire of any of the schedules after a whole second.
fn next_of(dialects: &[cron::Schedule], second: Timestamp) -> Option<Timestamp> {
    if second < Timestamp::UNIX_EPOCH {
        return None;
    }
    let after = DateTime::<Utc>::from_timestamp(second.as_second(), 0)?;
    let last_year = DateTime::<Utc>::from_timestamp(second.as_second() + 1, 0)?.year() + YEARS_SEARCHED;
    let next = dialects
        .iter()
        .filter_map(|dialect| dialect.after(&after).next())
        .min()?;
    if next.year() > last_year {
        return None;
    }
    Timestamp::from_second(next.timestamp()).ok()
}

/// The schedules of the `cron` crate that together fire as the fields say.
fn dialects(fields: &CalendarFields) -> Vec<cron::Schedule> {
    let minutes = list(fields.minutes, CronField::Minute);
    let hours = list(fields.hours, CronField::Hour);
    let months = list(fields.months, CronField::Month);
    let dates = |bits| (list(bits, CronField::DayOfMonth), "*".to_owned());
    let weekdays = |bits| ("*".to_owned(), list(bits, CronField::DayOfWeek));
    let day_fields = match fields.days {
        Days::Every => vec![("*".to_owned(), "*".to_owned())],
        Days::Dates(bits) => vec![dates(bits)],
        Days::Weekdays(bits) => vec![weekdays(bits)],
        Days::Either {
            dates: some,
            weekdays: others,
        } => vec![dates(some), weekdays(others)],
    };
    day_fields
        .into_iter()
        .map(|(dates, weekdays)| format!("0 {minutes} {hours} {dates} {months} {weekdays}"))
        // Non-empty lists of values in range can always be parsed; the tests try every value of every field.
        .filter_map(|dialect| cron::Schedule::from_str(&dialect).ok())
        .collect()
}

/// A set as a list in the `cron` crate's dialect, in which Sunday is day 1.
fn list(bits: u64, field: CronField) -> String {
    if bits == Set::all(field).bits {
        return "*".into();
    }
    let offset = u8::from(field == CronField::DayOfWeek);
    let written: Vec<String> = values(bits).map(|value| (value + offset).to_string()).collect();
    written.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        let schedule = Schedule::parse(schedule).unwrap();
        Some(schedule.next_after(after.parse().unwrap())?.to_string())
    }

    #[test]
    fn a_fire_lies_strictly_after_the_second_of_the_instant() {
        let nine = Some("2026-01-05T09:00:00Z".to_owned());
        assert_eq!(next("0 9 * * mon", "2026-01-05T08:59:59.999999999Z"), nine);
        assert_eq!(
            next("0 9 * * mon", "2026-01-05T09:00:00Z").unwrap(),
            "2026-01-12T09:00:00Z"
        );
        assert_eq!(next("@every 90s", "2026-01-05T08:58:30.7Z"), nine);
    }

    #[test]
    fn either_day_field_is_enough_where_neither_has_a_star() {
        assert_eq!(
            next("0 0 13 * fri", "2026-02-10T00:00:00Z").unwrap(),
            "2026-02-13T00:00:00Z"
        );
        assert_eq!(
            next("0 0 13 * fri", "2026-02-13T00:00:00Z").unwrap(),
            "2026-02-20T00:00:00Z"
        );
    }

    #[test]
    fn the_search_ends_after_five_years_and_at_the_ends_of_the_calendar() {
        assert_eq!(
            next("0 0 29 2 *", "2096-02-28T00:00:00Z").unwrap(),
            "2096-02-29T00:00:00Z"
        );
        assert_eq!(next("0 0 29 2 *", "2096-03-01T00:00:00Z"), None);
        assert_eq!(
            next("@daily", "2100-12-30T12:00:00Z").unwrap(),
            "2100-12-31T00:00:00Z"
        );
        assert_eq!(next("@daily", "2100-12-31T12:00:00Z"), None);
        assert_eq!(next("@daily", "9999-12-30T22:00:00Z"), None);
        assert_eq!(next("@every 1h", "9999-12-30T22:00:00Z"), None);
        assert_eq!(next("@daily", "-009999-01-02T03:00:00Z"), None);
        assert_eq!(next("@daily", "1969-12-31T23:59:59.5Z"), None);
        assert_eq!(
            next("@daily", "1970-01-01T00:00:00Z").unwrap(),
            "1970-01-02T00:00:00Z"
        );
    }

    #[test]
    fn the_cron_crate_reads_every_value_that_we_hand_it() {
        let fields = [
            CronField::Minute,
            CronField::Hour,
            CronField::DayOfMonth,
            CronField::Month,
            CronField::DayOfWeek,
        ];
        for (place, field) in fields.into_iter().enumerate() {
            for value in field.lowest()..=field.highest() {
                let mut words = ["*"; 5].map(str::to_owned);
                words[place] = value.to_string();
                let schedule = Schedule::parse(&words.join(" ")).unwrap();
                assert!(schedule.next_after(Timestamp::UNIX_EPOCH).is_some(), "{words:?}");
            }
        }
    }

    #[test]
    fn what_never_fires_is_not_searched_for() {
        let never = Schedule::parse("0 0 30 2 *").unwrap().fire_times();
        assert!(matches!(never.0, Source::Calendar(dialects) if dialects.is_empty()));
    }
}
