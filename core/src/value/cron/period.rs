//! The longest and the shortest time between two fires of a calendar schedule.

use std::time::Duration;

use super::fields::{CalendarFields, Days, Gaps, LEAP_YEAR, values};

/// Days in each month of a common year.
const COMMON_YEAR: [u8; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/// From one 29 February to the next across a century year without one, in days.
const BETWEEN_LEAP_DAYS: u32 = 8 * 365 + 1;
pub const ALL_MONTHS: u64 = 0b1_1111_1111_1110;
const ALL_DATES: u64 = 0xffff_fffe;
/// [`super::DAY`], as a number of the sets.
const MINUTES_A_DAY: u32 = 24 * 60;

/// The longest gap, exact or overestimated as [`super::Schedule::longest_gap`] says. The schedule must fire.
pub fn longest_gap(fields: &CalendarFields) -> Option<Duration> {
    let days = days_apart(fields)?;
    let minutes = Gaps::of(fields.minutes)?;
    let hours = Gaps::of(fields.hours)?;
    let across_hours = (hours.widest * 60 + minutes.first).saturating_sub(minutes.last);
    let first = hours.first * 60 + minutes.first;
    let last = hours.last * 60 + minutes.last;
    let over_night = days * MINUTES_A_DAY + first - last;
    let longest = minutes.widest.max(across_hours).max(over_night);
    Some(Duration::from_secs(u64::from(longest) * 60))
}

/// No two fires are closer than this; most are farther apart.
pub fn least_gap(fields: &CalendarFields) -> Duration {
    let minutes = match (fields.minutes.count_ones(), fields.hours.count_ones()) {
        (2.., _) => narrowest(fields.minutes, 60),
        (_, 2..) => narrowest(fields.hours, 24) * 60,
        _ => MINUTES_A_DAY,
    };
    Duration::from_mins(minutes.into())
}

/// The least distance between two values of a set, around the end of their range, too.
fn narrowest(set: u64, range: u32) -> u32 {
    let next = values(set).skip(1).map(u32::from);
    let first_again = values(set).next().map(|first| u32::from(first) + range);
    let distances = values(set).zip(next.chain(first_again));
    distances
        .map(|(value, next)| next - u32::from(value))
        .min()
        .unwrap_or(range)
}

/// The longest distance between two days with fires, in days, exact or overestimated.
fn days_apart(fields: &CalendarFields) -> Option<u32> {
    let months = fields.months;
    match fields.days {
        Days::Every if months == ALL_MONTHS => Some(1),
        Days::Every => dates_apart(ALL_DATES, months),
        Days::Dates(dates) => dates_apart(dates, months),
        Days::Weekdays(weekdays) => weekdays_apart(weekdays, months),
        // Each set alone already bounds the gap; the dates may not exist in these months.
        Days::Either { dates, weekdays } => {
            let bounds = [dates_apart(dates, months), weekdays_apart(weekdays, months)];
            bounds.into_iter().flatten().min()
        }
    }
}

/// The longest distance between two such days of the month in these months. If any of the days is not 29 February,
/// every year has one, so the gap is within two years; both may be common years, or one of them a leap year.
fn dates_apart(dates: u64, months: u64) -> Option<u32> {
    let pairs = [
        [COMMON_YEAR, COMMON_YEAR],
        [COMMON_YEAR, LEAP_YEAR],
        [LEAP_YEAR, COMMON_YEAR],
    ];
    if widest(dates, months, &[COMMON_YEAR]).is_none() {
        return widest(dates, months, &[LEAP_YEAR]).map(|_| BETWEEN_LEAP_DAYS);
    }
    pairs
        .iter()
        .filter_map(|years| widest(dates, months, years))
        .max()
}

/// The longest distance between two such days in these consecutive years; `None` if there are none.
fn widest(dates: u64, months: u64, years: &[[u8; 12]]) -> Option<u32> {
    let mut widest = 0;
    let mut last = None;
    let mut before = 0;
    for (month, &length) in years.iter().flat_map(|year| (1_u8..).zip(year)) {
        let dates = if months >> month & 1 == 1 {
            dates & !(u64::MAX << length << 1)
        } else {
            0
        };
        if let Some(gaps) = Gaps::of(dates) {
            let across_months = last.map_or(0, |last| before + gaps.first - last);
            widest = widest.max(gaps.widest).max(across_months);
            last = Some(before + gaps.last);
        }
        before += u32::from(length);
    }
    last.map(|_| widest)
}

/// The longest distance between two of these days of the week. If months are left out, their first and last such
/// day can each be up to one distance less a day inside the remaining months.
fn weekdays_apart(weekdays: u64, months: u64) -> Option<u32> {
    let widest = Gaps::of(weekdays | weekdays << 7)?.widest;
    if months == ALL_MONTHS {
        return Some(widest);
    }
    let between_months = dates_apart(ALL_DATES, months)?;
    Some(between_months + 2 * (widest - 1))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::Schedule;
    use super::*;

    const DAY: u64 = 86_400;

    fn gap(text: &str) -> Option<u64> {
        Schedule::parse(text)
            .unwrap()
            .longest_gap()
            .map(|gap| gap.as_secs())
    }

    #[test]
    fn gaps_are_those_that_a_calendar_shows() {
        for (text, seconds) in [
            ("* * * * *", 60),
            ("*/7 * * * *", 7 * 60),
            ("@hourly", 3_600),
            ("@daily", DAY),
            ("0 9,17 * * *", 16 * 3_600),
            ("0 9 * * mon-fri", 3 * DAY),
            ("0 9,17 * * mon-fri", 2 * DAY + 16 * 3_600),
            ("@weekly", 7 * DAY),
            ("0 0 * * 1,3", 5 * DAY),
            ("@monthly", 31 * DAY),
            ("0 0 31 * *", 61 * DAY),
            ("0 0 30 * *", 60 * DAY),
            ("0 0 15,29 * *", 28 * DAY),
            ("@yearly", 366 * DAY),
            ("0 0 28 2 *", 366 * DAY),
            ("0 0 * 1 *", 336 * DAY),
            ("0 0 * 1,12 *", 305 * DAY),
            ("0 0 29 2 *", 2_921 * DAY),
            ("0 0 31 2,4 1", 289 * DAY),
            ("@every 1h30m1.5s", 5_401),
        ] {
            assert_eq!(gap(text), Some(seconds), "{text}");
        }
        assert_eq!(gap("0 0 30 2 *"), None);
    }

    #[test]
    fn a_union_is_bounded_by_the_denser_of_its_sets() {
        assert_eq!(gap("0 0 1 * mon"), Some(7 * DAY));
        assert_eq!(gap("0 0 */2 * mon"), Some(2 * DAY));
        assert_eq!(gap("0 0 1 1,7 mon"), Some(166 * DAY));
    }

    /// A few values of a field, to keep the number of fires per year small.
    fn few(lowest: u8, highest: u8) -> impl Strategy<Value = String> {
        proptest::collection::vec(lowest..=highest, 1..3).prop_map(|values| {
            values
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(",")
        })
    }

    fn star_or(some: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        prop_oneof![Just("*".to_owned()), some]
    }

    /// The longest distance between two consecutive fires after an instant, among at most `count`.
    fn longest_seen(schedule: &Schedule, from: i64, count: usize) -> Duration {
        let fires = schedule.fire_times();
        let first = fires.next_after(Timestamp::from_second(from).unwrap());
        let times: Vec<_> = std::iter::successors(first, |time| fires.next_after(*time))
            .take(count)
            .collect();
        times
            .windows(2)
            .map(|pair| pair[1].duration_since(pair[0]).unsigned_abs())
            .max()
            .unwrap_or_default()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn no_two_fires_are_further_apart(
            minute in star_or(few(0, 59)), hour in star_or(few(0, 23)), date in star_or(few(1, 31)),
            month in star_or(few(1, 12)), weekday in star_or(few(0, 6)), from in 0_i64..4_000_000_000,
        ) {
            let schedule = Schedule::parse(&format!("{minute} {hour} {date} {month} {weekday}")).unwrap();
            if let Some(gap) = schedule.longest_gap() {
                prop_assert!(longest_seen(&schedule, from, 60) <= gap, "{:?}", gap);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn nine_years_show_the_whole_gap_where_one_day_field_decides(
            minute in few(0, 59), hour in few(0, 23), date in few(1, 28), month in star_or(few(1, 12)),
            weekday in few(0, 6), by_date: bool,
        ) {
            let text = if by_date {
                format!("{minute} {hour} {date} {month} *")
            } else {
                format!("{minute} {hour} * * {weekday}")
            };
            let schedule = Schedule::parse(&text).unwrap();
            // From 2024 on: common years, leap years, and every way in which they follow each other.
            prop_assert_eq!(schedule.longest_gap(), Some(longest_seen(&schedule, 1_704_067_200, 14_000)), "{}", text);
        }
    }
}
