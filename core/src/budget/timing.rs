//! When a budget applies.

use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::value::cron::{FireTimes, Schedule, WeekMinutes};

/// 1990-01-01 and 2090-01-01, in seconds since 1970. Five years and the longest window that closes fit between
/// these and the limits of known fire times.
const SUPPORTED: std::ops::Range<i64> = 631_152_000..3_786_912_000;

/// The most fires that are checked. More than a month of every second minute.
pub(super) const MOST_FIRES: u32 = 30_000;

/// Whether budgets can be computed at an instant: from 1990 up to 2090.
pub fn is_supported(at: Timestamp) -> bool {
    SUPPORTED.contains(&at.as_second())
}

/// An instant to the minute, in the only zone that Karpenter knows.
pub fn utc(at: Timestamp) -> String {
    format!("{} UTC", at.to_zoned(TimeZone::UTC).strftime("%a %F %H:%M"))
}

/// When a budget applies, by its `schedule` and `duration`.
#[derive(Debug)]
pub enum Timing {
    /// At any time: it has no schedule, its windows leave no gap, or its schedule never fires, which Karpenter treats as
    /// always.
    Always,
    /// Never: its window has no length, or its interval (`@every`) never ends, because Karpenter starts it again at
    /// each check.
    Never,
    /// For its duration after each fire of its schedule.
    Windows(Windows),
    /// Never, and no other budget allows anything: Karpenter cannot read its schedule.
    Blocked,
    /// Unknown: the API server or Karpenter's decoder rejects its duration, or that only one of the two is there.
    Unreadable,
}

impl Timing {
    // karpenter: pkg/apis/v1/nodepool.go Budget.IsActive
    pub(super) fn new(schedule: Schedule, duration: Duration) -> Self {
        if schedule.longest_gap().is_none_or(|gap| duration >= gap) {
            Self::Always
        } else if duration.is_zero() || schedule.every().is_some() {
            Self::Never
        } else {
            Self::Windows(Windows::new(schedule, duration))
        }
    }
}

/// Windows `[fire, fire + duration)`, as Karpenter computes them; windows that overlap or touch are one.
///
/// A review needs no fire times, and most need no week. Each is computed on first use and then kept.
#[derive(Debug)]
pub struct Windows {
    schedule: Schedule,
    duration: Duration,
    fires: OnceLock<FireTimes>,
    week: OnceLock<Option<Box<WeekMinutes>>>,
    certain_week: OnceLock<Option<Box<WeekMinutes>>>,
}

/// How long something stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateEnd {
    /// It never changes.
    Always,
    /// Up to this instant, when it changes.
    At(Timestamp),
    /// Up to this instant and perhaps longer: the search ended there.
    AtLeast(Timestamp),
}

/// How far to search.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimit {
    /// Nothing after this instant matters.
    pub until: Timestamp,
    /// How many more fires may be checked.
    pub(crate) fires: u32,
}

/// Whether windows are open, and how long that stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowState {
    pub(crate) open: bool,
    pub(crate) until: StateEnd,
}

impl WindowState {
    /// A phase that never changes.
    pub const fn constant(open: bool) -> Self {
        let until = StateEnd::Always;
        Self { open, until }
    }
}

impl Windows {
    pub(crate) const fn new(schedule: Schedule, duration: Duration) -> Self {
        Self {
            schedule,
            duration,
            fires: OnceLock::new(),
            week: OnceLock::new(),
            certain_week: OnceLock::new(),
        }
    }

    /// The minutes of the week in which one is open, if it is the same every week.
    pub(crate) fn week(&self) -> Option<&WeekMinutes> {
        self.week
            .get_or_init(|| self.schedule.week(self.duration))
            .as_deref()
    }

    /// Minutes of the week in which one is open in every week, perhaps not all.
    fn certain_week(&self) -> Option<&WeekMinutes> {
        let certain = || self.schedule.certain_week(self.duration);
        let computed = || self.certain_week.get_or_init(certain).as_deref();
        self.week().or_else(computed)
    }

    /// The minutes of the week at which one begins, if they are the same every week.
    pub(crate) fn fires(&self) -> Option<Box<WeekMinutes>> {
        self.schedule.week(Duration::from_mins(1))
    }

    /// Whether one may begin before the one before it has ended: a look at the fields, which spares most weeks.
    pub(crate) fn may_join(&self) -> bool {
        self.schedule.least_gap() < self.duration
    }

    /// Whether one of these is open whenever one of the others is. Only what is certain.
    pub(crate) fn cover(&self, others: &Self) -> bool {
        let opens_with_each = self.duration >= others.duration && self.schedule.covers(&others.schedule);
        opens_with_each || Self::cover_together(std::iter::once(self), others)
    }

    /// Whether some window of several budgets is open whenever one of the others is, as far as that is the same every week.
    pub(crate) fn cover_together<'w>(windows: impl Iterator<Item = &'w Self> + Clone, others: &Self) -> bool {
        // Most do not even cover the first minute.
        let first = others.schedule.first_of_week();
        let weeks = windows.filter_map(Self::certain_week);
        let is_open = |minute| weeks.clone().any(|week| week.has(minute));
        if !first.is_some_and(is_open) {
            return false;
        }
        let weeks: Vec<&WeekMinutes> = weeks.collect();
        others.week().is_some_and(|wanted| wanted.is_within(&weeks))
    }

    /// How long each of them is; whole minutes.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Whether one is open. Only correct if [`is_supported`].
    pub fn is_open(&self, at: Timestamp) -> bool {
        // Karpenter treats a schedule without fires as always open.
        self.first_fire(at).is_none_or(|fire| fire <= at)
    }

    /// The first windows that close after an instant, this many: when each opens, and when it closes if that is known. Only
    /// correct if [`is_supported`].
    pub fn after(&self, mut at: Timestamp, count: usize) -> Vec<(Timestamp, Option<Timestamp>)> {
        let mut reach = SearchLimit {
            until: Timestamp::MAX,
            fires: MOST_FIRES,
        };
        let mut windows = Vec::new();
        while windows.len() < count
            && let Some(start) = self.first_fire(at)
        {
            let end = match self.end(start, &mut reach) {
                StateEnd::At(end) => Some(end),
                StateEnd::Always | StateEnd::AtLeast(_) => None,
            };
            windows.push((start, end));
            match end {
                Some(end) => at = end,
                None => break,
            }
        }
        windows
    }

    /// Whether one is open, and how long that stays so. Searches no further than `reach`, and subtracts what it
    /// used.
    pub(crate) fn phase(&self, at: Timestamp, reach: &mut SearchLimit) -> WindowState {
        match self.first_fire(at) {
            None => WindowState::constant(true),
            Some(fire) if fire <= at => WindowState {
                open: true,
                until: self.end(fire, reach),
            },
            Some(fire) => WindowState {
                open: false,
                until: StateEnd::At(fire),
            },
        }
    }

    /// The first fire whose window ends after this instant. It may be in the future.
    fn first_fire(&self, at: Timestamp) -> Option<Timestamp> {
        self.next_fire(at.checked_sub(self.duration).ok()?)
    }

    fn next_fire(&self, after: Timestamp) -> Option<Timestamp> {
        self.fires
            .get_or_init(|| self.schedule.fire_times())
            .next_after(after)
    }

    /// The end of the window that this fire opens, together with those that follow without a gap.
    fn end(&self, mut fire: Timestamp, reach: &mut SearchLimit) -> StateEnd {
        loop {
            let Ok(end) = fire.checked_add(self.duration) else {
                return StateEnd::Always;
            };
            if end > reach.until || reach.fires == 0 {
                return StateEnd::AtLeast(end);
            }
            reach.fires -= 1;
            match self.next_fire(fire) {
                Some(next) if next <= end => fire = next,
                _ => return StateEnd::At(end),
            }
        }
    }
}
