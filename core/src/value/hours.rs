//! Hours of a week as people write them, such as `sat 02:00-06:00 Europe/Berlin`: in local time.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::cron::{DAY, WEEK, WEEKDAYS};
use super::excerpt;
use crate::diagnostic::nearest;

/// Hours in a time zone.
#[derive(Debug, Clone)]
pub struct LocalHours {
    /// The hours of each week, by the clock of the zone.
    pub hours: WeeklyHours,
    /// The time zone, whose UTC offset may change with the seasons.
    pub zone: TimeZone,
}

/// A time zone that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no time zone `{name}`")]
pub struct UnknownZone {
    name: String,
    /// The zone that was probably intended.
    pub likely: Option<String>,
}

/// A text that names no hours in a time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum LocalHoursError {
    /// Its days or hours cannot be read.
    Hours(#[from] HoursError),
    /// Its zone is not known.
    Zone(#[from] UnknownZone),
}

/// The time zone of this name.
pub fn zone(name: &str) -> Result<TimeZone, UnknownZone> {
    TimeZone::get(name).map_err(|_| {
        let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        UnknownZone {
            name: excerpt(name),
            likely: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
        }
    })
}

impl LocalHours {
    /// Parses days, hours or both, and a time zone: that of `default_zone` without one.
    pub fn parse(text: &str, default_zone: &str) -> Result<Self, LocalHoursError> {
        let (hours, zone) = WeeklyHours::parse(text)?;
        let zone = self::zone(zone.unwrap_or(default_zone))?;
        Ok(Self { hours, zone })
    }

    /// True if an instant is in these hours, by the clock of the zone.
    pub fn hold(&self, at: Timestamp) -> bool {
        let clock = at.to_zoned(self.zone.clone());
        let day = usize::try_from(clock.weekday().to_sunday_zero_offset()).unwrap_or(0);
        let hour = usize::try_from(clock.hour()).unwrap_or(0);
        let minute = usize::try_from(clock.minute()).unwrap_or(0);
        self.hours.hold(day * DAY + hour * 60 + minute)
    }
}

/// The same hours on some days of every week, in local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeeklyHours {
    /// The days on which they begin, from Sunday on.
    days: [bool; 7],
    /// When they begin, in minutes of the day.
    start: usize,
    /// How many minutes they last; up to a day.
    length: usize,
}

/// A text that names no hours of a week.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {why}. Write days, hours or both, and a time zone, such as sat 02:00-06:00 Europe/Berlin")]
pub struct HoursError {
    text: String,
    why: &'static str,
}

impl WeeklyHours {
    /// Parses days, hours or both; the rest of the text should be a time zone: `sat,sun`, `22:00-06:00 Asia/Tokyo`,
    /// `mon-fri 09:00-17:30`. Hours may extend past midnight.
    pub fn parse(text: &str) -> Result<(Self, Option<&str>), HoursError> {
        let error = |why| HoursError {
            text: text.escape_debug().to_string(),
            why,
        };
        let mut words = text.split_whitespace().peekable();
        let days = words
            .next_if(|word| is_days(word))
            .map(days)
            .transpose()
            .map_err(error)?;
        let is_time = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit());
        let times = words.next_if(is_time).map(times).transpose().map_err(error)?;
        if days.is_none() && times.is_none() {
            return Err(error("begins with neither days nor hours"));
        }
        let zone = words.next();
        if words.next().is_some() {
            return Err(error("has more than days, hours and a time zone"));
        }
        let (start, length) = times.unwrap_or((0, DAY));
        let days = days.unwrap_or([true; 7]);
        Ok((Self { days, start, length }, zone))
    }

    /// The minutes of the week in these hours, in local time; some occur twice if hours overlap.
    pub(crate) fn minutes(self) -> impl Iterator<Item = usize> {
        let days = self.days.into_iter().enumerate().filter(|(_, has)| *has);
        days.flat_map(move |(day, _)| {
            let start = day * DAY + self.start;
            (start..start + self.length).map(|minute| minute % WEEK)
        })
    }

    /// True if a minute of the week, in local time, is in these hours.
    pub fn hold(self, minute: usize) -> bool {
        let lasts = |day: usize| (minute + WEEK - (day * DAY + self.start)) % WEEK < self.length;
        self.days.iter().enumerate().any(|(day, has)| *has && lasts(day))
    }
}

/// The full names of the days.
const FULL: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

fn day(name: &str) -> Option<usize> {
    let is_name = |day: &&str| day.eq_ignore_ascii_case(name);
    let short = WEEKDAYS.iter().position(is_name);
    short.or_else(|| FULL.iter().position(is_name))
}

/// True if a word is days, or was probably intended as days.
fn is_days(word: &str) -> bool {
    let first = word.split([',', '-']).next().unwrap_or_default();
    word.eq_ignore_ascii_case("daily") || day(first).is_some()
}

/// `sat`, `mon-fri`, `fri-mon`, `mon,wed`, `daily`.
fn days(word: &str) -> Result<[bool; 7], &'static str> {
    if word.eq_ignore_ascii_case("daily") {
        return Ok([true; 7]);
    }
    let mut days = [false; 7];
    for part in word.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let known = "has a day other than sun, mon, tue, wed, thu, fri, sat";
        let (first, last) = (day(first).ok_or(known)?, day(last).ok_or(known)?);
        let count = (last + 7 - first) % 7 + 1;
        for number in first..first + count {
            if let Some(day) = days.get_mut(number % 7) {
                *day = true;
            }
        }
    }
    Ok(days)
}

/// The start of `02:00-06:00`, and its length.
fn times(word: &str) -> Result<(usize, usize), &'static str> {
    let wrong = "has hours other than from 00:00 to 24:00, such as 02:00-06:00";
    let (start, end) = word.split_once('-').ok_or(wrong)?;
    let (start, end) = (time(start).ok_or(wrong)?, time(end).ok_or(wrong)?);
    match (start, end) {
        (DAY, _) => Err(wrong),
        _ if start == end => Err("has an empty range of hours"),
        _ if start < end => Ok((start, end - start)),
        _ => Ok((start, end + DAY - start)),
    }
}

fn time(text: &str) -> Option<usize> {
    let (hour, minute) = text.split_once(':').unwrap_or((text, "00"));
    let number = |text: &str| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<usize>().ok())?
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let time = hour * 60 + minute;
    (minute < 60 && time <= DAY).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (WeeklyHours, Option<&str>) {
        WeeklyHours::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn minutes(text: &str) -> Vec<usize> {
        let mut minutes: Vec<usize> = parsed(text).0.minutes().collect();
        minutes.sort_unstable();
        minutes
    }

    #[test]
    fn days_hours_and_both_are_read_and_a_zone_behind_them() {
        assert_eq!(parsed("sat 02:00-06:00 Europe/Berlin").1, Some("Europe/Berlin"));
        let sat = 6 * DAY;
        assert_eq!(
            minutes("sat 02:00-06:00"),
            (sat + 120..sat + 360).collect::<Vec<_>>()
        );
        assert_eq!(minutes("saturday 2-6"), minutes("sat 02:00-06:00"));
        assert_eq!(minutes("Monday-friday 9-17:30"), minutes("mon-fri 09:00-17:30"));
        assert_eq!(minutes("Sat-Sun").len(), 2 * DAY);
        assert_eq!(
            minutes("fri-mon 9:00-17:30"),
            minutes("fri,sat,sun,mon 09:00-17:30")
        );
        assert_eq!(minutes("00:00-24:00").len(), WEEK);
        assert_eq!(minutes("daily 01:00-02:00"), minutes("01:00-02:00"));
        assert_eq!(minutes("sat 22:00-02:00"), {
            let mut over_the_end: Vec<usize> = (0..120).chain(sat + 22 * 60..WEEK).collect();
            over_the_end.sort_unstable();
            over_the_end
        });
    }

    #[test]
    fn every_minute_is_held_or_not_as_it_is_listed() {
        for text in ["sat 22:00-02:00", "mon-fri 09:00-17:00", "sun", "12:30-12:00"] {
            let hours = parsed(text).0;
            let listed = minutes(text);
            let held: Vec<usize> = (0..WEEK).filter(|minute| hours.hold(*minute)).collect();
            assert_eq!(held, listed, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_hours_is_rejected_with_a_reason() {
        for (text, why) in [
            ("", "begins with neither days nor hours"),
            ("Europe/Berlin", "begins with neither days nor hours"),
            ("sat,xyz", "has a day other than"),
            ("sat 2-25", "has hours other than"),
            ("sat 2-", "has hours other than"),
            ("sat 2", "has hours other than"),
            ("satur 2-6", "begins with neither days nor hours"),
            ("sat 02:00", "has hours other than"),
            ("sat 24:00-25:00", "has hours other than"),
            ("sat 24:00-02:00", "has hours other than"),
            ("sat 02:60-03:00", "has hours other than"),
            ("sat 02:00-02:00", "has an empty range of hours"),
            ("sat 02:00-06:00 Europe Berlin", "has more than days"),
        ] {
            let error = WeeklyHours::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
