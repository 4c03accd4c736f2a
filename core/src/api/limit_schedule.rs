//! Node limits that follow the clock: `mon-fri 07:00-19:00 Europe/Berlin = 40; else 10`.
//!
//! The leader alone evaluates a schedule. It stores the number in force in [`NODE_LIMIT_ANNOTATION`], from which everybody else
//! takes the limit: nobody else needs a clock.
//!
//! [`NODE_LIMIT_ANNOTATION`]: super::NODE_LIMIT_ANNOTATION

use jiff::{SignedDuration, Timestamp};

use super::keys::NODE_LIMIT_SCHEDULE_ANNOTATION;
use crate::pool::NodePool;
use crate::value::cron::DAY;
use crate::value::hours::{LocalHours, LocalHoursError};
use crate::value::{excerpt, is_number};

/// The longest schedule, in bytes: caches keep it with its NodePool.
pub const LONGEST_SCHEDULE: usize = 1_024;

/// How much later than scheduled a limit rises. Two leaders whose clocks differ by less never store a rise and then the fall
/// before it.
pub const RISE_DELAY: SignedDuration = SignedDuration::from_secs(60);

/// How far a change may be away: all hours of a week repeat, and a clock that is put forward skips some of them once.
const MOST_MINUTES: usize = 8 * DAY;

/// Which node limit holds in which hours.
#[derive(Debug, Clone)]
pub struct LimitSchedule {
    /// The hours in the order in which they are written. The first that hold decide.
    parts: Vec<(LocalHours, u32)>,
    /// The limit in all other hours.
    otherwise: u32,
}

/// Why a text is no schedule of node limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It is longer than [`LONGEST_SCHEDULE`].
    #[error("a schedule has at most {LONGEST_SCHEDULE} bytes")]
    TooLong,
    /// A part has no limit.
    #[error("`{0}` has no limit: write HOURS = NODES")]
    WithoutLimit(String),
    /// A limit is not a whole number.
    #[error("`{0}` is not a whole number of nodes")]
    Nodes(String),
    /// A part has hours or a time zone that cannot be read.
    #[error(transparent)]
    Hours(#[from] LocalHoursError),
    /// The last part does not say what holds in all other hours.
    #[error("the last part must be `else` with a limit for all other hours")]
    WithoutElse,
}

impl LimitSchedule {
    /// The schedule of a pool, if it has one, readable or not. The API server drops a `null`.
    pub fn of(pool: &NodePool<'_>) -> Option<Result<Self, ScheduleError>> {
        let text = pool.annotation(NODE_LIMIT_SCHEDULE_ANNOTATION)?;
        (!text.is_null()).then(|| Self::parse(text.as_str().unwrap_or_default()))
    }

    /// Parses hours as `poolgate budgets plan --allow` does, each with its limit, then the limit of all others.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        if text.len() > LONGEST_SCHEDULE {
            return Err(ScheduleError::TooLong);
        }
        let text = text.trim().trim_end_matches(';');
        let (parts, last) = text.rsplit_once(';').unwrap_or(("", text));
        let otherwise = last.trim().strip_prefix("else");
        let otherwise = otherwise.ok_or(ScheduleError::WithoutElse)?.trim();
        let otherwise = nodes(otherwise.strip_prefix('=').unwrap_or(otherwise))?;
        let parts = parts.split(';').map(str::trim).filter(|part| !part.is_empty());
        let parts = parts.map(part).collect::<Result<_, _>>()?;
        Ok(Self { parts, otherwise })
    }

    /// The limit at an instant, as it is written.
    pub fn scheduled(&self, at: Timestamp) -> u32 {
        let mut parts = self.parts.iter();
        let part = parts.find(|(hours, _)| hours.hold(at));
        part.map_or(self.otherwise, |(_, nodes)| *nodes)
    }

    /// The limit to store at an instant: a fall immediately, a rise [`RISE_DELAY`] later. Hours begin and end at full minutes.
    pub fn in_force(&self, at: Timestamp) -> u32 {
        let before = at.checked_sub(RISE_DELAY).unwrap_or(at);
        self.scheduled(at).min(self.scheduled(before))
    }

    /// The lowest limit: the one of a pool that has no number yet.
    pub fn lowest(&self) -> u32 {
        self.limits().min().unwrap_or(self.otherwise)
    }

    /// The highest limit: the one of a pool that poolgate leaves.
    pub fn highest(&self) -> u32 {
        self.limits().max().unwrap_or(self.otherwise)
    }

    fn limits(&self) -> impl Iterator<Item = u32> {
        let parts = self.parts.iter().map(|(_, nodes)| *nodes);
        parts.chain([self.otherwise])
    }

    /// When the scheduled limit changes next, and to what. `None` if it never does.
    pub fn next_change(&self, at: Timestamp) -> Option<(Timestamp, u32)> {
        let now = self.scheduled(at);
        let mut limits = self.minutes_after(at);
        limits.find(|(_, nodes)| *nodes != now)
    }

    /// When it is next lower than just before, and how low. `None` if it never is.
    pub fn next_fall(&self, at: Timestamp) -> Option<(Timestamp, u32)> {
        let mut before = self.scheduled(at);
        self.minutes_after(at).find(|(_, nodes)| {
            let falls = *nodes < before;
            before = *nodes;
            falls
        })
    }

    /// The scheduled limit of each full minute after an instant, as long as changes are looked for.
    fn minutes_after(&self, at: Timestamp) -> impl Iterator<Item = (Timestamp, u32)> {
        let first = at.as_second().div_euclid(60).saturating_add(1);
        let minutes = (first..).take(MOST_MINUTES);
        let instants = minutes.filter_map(|minute| Timestamp::from_second(minute.saturating_mul(60)).ok());
        instants.map(|minute| (minute, self.scheduled(minute)))
    }
}

/// Hours with their limit.
fn part(text: &str) -> Result<(LocalHours, u32), ScheduleError> {
    let (hours, limit) = text
        .split_once('=')
        .ok_or_else(|| ScheduleError::WithoutLimit(excerpt(text)))?;
    let limit = nodes(limit)?;
    Ok((LocalHours::parse(hours, "UTC")?, limit))
}

fn nodes(text: &str) -> Result<u32, ScheduleError> {
    let text = text.trim();
    let number = is_number(text).then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| ScheduleError::Nodes(excerpt(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFICE: &str = "mon-fri 07:00-19:00 Europe/Berlin = 40; sat = 20; else 10";

    fn schedule(text: &str) -> LimitSchedule {
        LimitSchedule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    #[test]
    fn a_limit_holds_in_its_hours_by_the_clock_of_its_zone() {
        let office = schedule(OFFICE);
        for (time, nodes) in [
            ("2026-01-05T05:59:59Z", 10),
            ("2026-01-05T06:00:00Z", 40),
            ("2026-01-05T17:59:59Z", 40),
            ("2026-01-05T18:00:00Z", 10),
            // Summer time.
            ("2026-07-06T04:59:00Z", 10),
            ("2026-07-06T05:00:00Z", 40),
            ("2026-01-10T12:00:00Z", 20),
        ] {
            assert_eq!(office.scheduled(at(time)), nodes, "{time}");
        }
        assert_eq!((office.lowest(), office.highest()), (10, 40));
        assert_eq!(schedule("else 3").scheduled(at("2026-01-05T00:00:00Z")), 3);
        assert_eq!(schedule("else = 0;").highest(), 0);
    }

    #[test]
    fn the_first_hours_that_hold_decide() {
        let nested = schedule("12:00-13:00 = 5; 08:00-18:00 = 9; else 1");
        let limits = ["T11:59:00Z", "T12:30:00Z", "T13:00:00Z", "T18:00:00Z"]
            .map(|time| nested.scheduled(at(&format!("2026-01-05{time}"))));
        assert_eq!(limits, [9, 5, 9, 1]);
    }

    #[test]
    fn a_fall_is_in_force_immediately_and_a_rise_a_minute_later() {
        let office = schedule(OFFICE);
        for (time, nodes) in [
            ("2026-01-05T06:00:59Z", 10),
            ("2026-01-05T06:01:00Z", 40),
            ("2026-01-05T17:59:59Z", 40),
            ("2026-01-05T18:00:00Z", 10),
        ] {
            assert_eq!(office.in_force(at(time)), nodes, "{time}");
        }
    }

    #[test]
    fn the_next_change_and_the_next_fall_are_found_within_a_week() {
        let office = schedule(OFFICE);
        let saturday = at("2026-01-10T12:34:56Z");
        let sunday = at("2026-01-11T00:00:00Z");
        assert_eq!(office.next_change(saturday), Some((sunday, 10)));
        assert_eq!(office.next_change(sunday), Some((at("2026-01-12T06:00:00Z"), 40)));
        assert_eq!(office.next_fall(sunday), Some((at("2026-01-12T18:00:00Z"), 10)));
        for constant in ["else 3", "mon = 3; else 3"] {
            assert_eq!(schedule(constant).next_change(sunday), None);
        }
    }

    #[test]
    fn a_clock_that_is_put_forward_or_back_skips_no_limit_for_ever() {
        // 02:00 to 03:00 does not exist on 2026-03-29, and exists twice on 2026-10-25.
        let night = schedule("sun 02:00-03:00 Europe/Berlin = 1; else 9");
        assert_eq!(night.scheduled(at("2026-03-29T01:00:00Z")), 9);
        assert_eq!(
            night.next_change(at("2026-03-29T00:30:00Z")),
            Some((at("2026-04-05T00:00:00Z"), 1))
        );
        assert_eq!(night.scheduled(at("2026-10-25T00:30:00Z")), 1);
        assert_eq!(night.scheduled(at("2026-10-25T01:30:00Z")), 1);
    }

    #[test]
    fn a_text_that_is_no_schedule_is_rejected_with_what_is_wrong() {
        for (text, why) in [
            ("", "the last part must be `else`"),
            ("mon = 3", "the last part must be `else`"),
            ("else 3; mon = 4", "the last part must be `else`"),
            ("else", "`` is not a whole number of nodes"),
            ("else ten", "`ten` is not a whole number"),
            ("else -1", "`-1` is not a whole number"),
            ("else 99999999999", "is not a whole number"),
            ("mon 3; else 1", "`mon 3` has no limit: write HOURS = NODES"),
            ("mon 25-26 = 3; else 1", "has hours other than"),
            ("mon Europe/Berlim = 3; else 1", "no time zone `Europe/Berlim`"),
        ] {
            let error = LimitSchedule::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let unknown = LimitSchedule::parse("mon Europe/Berlim = 3; else 1");
        let Err(ScheduleError::Hours(LocalHoursError::Zone(zone))) = unknown else {
            panic!("no such zone");
        };
        assert_eq!(zone.likely.as_deref(), Some("Europe/Berlin"));
        let long = format!("{}else 1", "mon = 1; ".repeat(200));
        assert_eq!(LimitSchedule::parse(&long).unwrap_err(), ScheduleError::TooLong);
    }
}
