//! When a budget applies.

use std::time::Duration;

use jiff::Timestamp;

use crate::value::cron::{FireTimes, Schedule, WeekMinutes};

/// 1990-01-01 and 2090-01-01, in seconds since 1970. Five years and the longest window that closes fit between
/// these and the limits of known fire times.
const SUPPORTED: std::ops::Range<i64> = 631_152_000..3_786_912_000;

/// Whether budgets can be computed at an instant: from 1990 up to 2090.
pub fn is_supported(at: Timestamp) -> bool {
    SUPPORTED.contains(&at.as_second())
}

/// When a budget applies, by its `schedule` and `duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// At any time, because there is no schedule, or because the windows leave no gap.
    Always,
    /// For some time after each fire, but not always.
    Sometimes {
        /// When the window opens.
        schedule: Schedule,
        /// How long it stays open.
        duration: Duration,
    },
}

impl Window {
    /// The window of a schedule and a duration. It is always open if it opens again before it closes, and if the
    /// schedule never fires: Karpenter treats never as always.
    pub fn new(schedule: Schedule, duration: Duration) -> Self {
        if schedule.longest_gap().is_none_or(|gap| duration >= gap) {
            Self::Always
        } else {
            Self::Sometimes { schedule, duration }
        }
    }
}

/// Windows `[fire, fire + duration)`, as Karpenter computes them; windows that overlap or touch are one.
#[derive(Debug, Clone)]
pub struct Windows {
    schedule: Schedule,
    fires: FireTimes,
    duration: Duration,
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
    pub(crate) fn new(schedule: &Schedule, duration: Duration) -> Self {
        Self {
            schedule: *schedule,
            fires: schedule.fire_times(),
            duration,
        }
    }

    /// The minutes of the week in which one is open, if it is the same every week.
    pub(crate) fn week(&self) -> Option<WeekMinutes> {
        self.schedule.week(self.duration)
    }

    /// The minutes of the week at which one begins, if they are the same every week.
    pub(crate) fn fires(&self) -> Option<WeekMinutes> {
        self.schedule.week(Duration::from_mins(1))
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
        self.fires.next_after(at.checked_sub(self.duration).ok()?)
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
            match self.fires.next_after(fire) {
                Some(next) if next <= end => fire = next,
                _ => return StateEnd::At(end),
            }
        }
    }
}
