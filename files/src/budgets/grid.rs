//! Seven days, beginning with the day of a moment, by the clock of a zone: what is allowed in each hour.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use poolgate_core::budget::{Allowance, AllowanceRange, Reason};

use super::subject::Subject;
use crate::clock::Clock;

pub const HOURS_A_DAY: usize = 24;
const DAYS: usize = 7;

/// The offsets of all zones are whole quarters of an hour.
const QUARTER: SignedDuration = SignedDuration::from_mins(15);

/// How many nodes may be disrupted simultaneously.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount {
    /// At most this many nodes.
    Nodes(u32),
    /// Every node: no budget limits it.
    All,
}

/// The allowance in an hour. An hour that occurs twice is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub lowest: Amount,
    highest: Amount,
}

/// The hours of a day; `None` for one that the clock skips.
pub type Hours = [Option<Cell>; HOURS_A_DAY];

/// The week of reasons with the same answers.
#[derive(Debug)]
pub struct Row {
    pub reasons: Vec<Reason>,
    pub days: [Hours; DAYS],
}

/// A week, hour by hour, in one time zone.
#[derive(Debug)]
pub struct Grid {
    /// The instant at which the week begins.
    pub from: Timestamp,
    /// The date of the first day in the zone.
    first: Date,
    zone: TimeZone,
    pub rows: Vec<Row>,
}

impl From<Allowance> for Amount {
    fn from(allowance: Allowance) -> Self {
        allowance.nodes().map_or(Self::All, Self::Nodes)
    }
}

impl Amount {
    /// In a few characters.
    pub fn short(self) -> String {
        match self {
            Self::All => "*".into(),
            Self::Nodes(nodes @ 0..1000) => nodes.to_string(),
            Self::Nodes(nodes @ 1000..1_000_000) => format!("{}k", nodes / 1000),
            Self::Nodes(nodes) => format!("{}M", nodes / 1_000_000),
        }
    }
}

impl From<AllowanceRange> for Cell {
    fn from(range: AllowanceRange) -> Self {
        Self {
            lowest: range.lowest.into(),
            highest: range.highest.into(),
        }
    }
}

impl Cell {
    /// In a few characters: one amount, or the lowest and the highest.
    pub fn short(self) -> String {
        if self.is_mixed() {
            format!("{}-{}", self.lowest.short(), self.highest.short())
        } else {
            self.lowest.short()
        }
    }

    /// Whether the amount changes within the hour.
    pub fn is_mixed(self) -> bool {
        self.lowest != self.highest
    }

    /// Whether nothing limits during a part of the hour.
    pub fn is_ever_unlimited(self) -> bool {
        self.highest == Amount::All
    }

    fn and(self, other: Self) -> Self {
        Self {
            lowest: self.lowest.min(other.lowest),
            highest: self.highest.max(other.highest),
        }
    }
}

impl Grid {
    /// The week that begins with the day of an instant.
    pub fn week(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> Self {
        let zone = clock.grid_zone();
        let first = at.to_zoned(zone.clone()).date();
        let mut grid = Self {
            from: at,
            first,
            zone,
            rows: Vec::new(),
        };
        grid.from = grid.midnight(0);
        let quarters = (grid.midnight(DAYS).duration_since(grid.from)).as_secs() / QUARTER.as_secs();
        let quarters = usize::try_from(quarters).unwrap_or(0);
        let reasons = subject.active_reasons();
        let weeks = subject
            .budgets
            .periods(&reasons, subject.nodes, grid.from, QUARTER, quarters);
        for (reason, week) in reasons.into_iter().zip(weeks) {
            let days = grid.days(&week);
            match grid.rows.iter_mut().find(|row| row.days == days) {
                Some(row) => row.reasons.push(reason),
                None => grid.rows.push(Row {
                    reasons: vec![reason],
                    days,
                }),
            }
        }
        grid
    }

    pub fn dates(&self) -> [String; DAYS] {
        std::array::from_fn(|day| self.date(day).strftime("%a %m-%d").to_string())
    }

    /// Whether the clock skips an hour.
    pub fn has_gap(&self) -> bool {
        let hours = self.rows.iter().flat_map(|row| row.days.iter().flatten());
        hours.clone().any(Option::is_none)
    }

    /// How many characters the longest cell has; 1 if there is none.
    pub fn longest(&self) -> usize {
        self.cells().map(|cell| cell.short().len()).max().unwrap_or(1)
    }

    /// The cells of all hours.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        let hours = self.rows.iter().flat_map(|row| row.days.iter().flatten());
        hours.flatten().copied()
    }

    fn date(&self, day: usize) -> Date {
        self.first.saturating_add(i64::try_from(day).unwrap_or(0).days())
    }

    fn midnight(&self, day: usize) -> Timestamp {
        self.date(day)
            .to_zoned(self.zone.clone())
            .map_or(self.from, |midnight| midnight.timestamp())
    }

    /// The quarters of an hour, grouped by the hours of the clock.
    fn days(&self, quarters: &[AllowanceRange]) -> [Hours; DAYS] {
        let mut days = [[None; HOURS_A_DAY]; DAYS];
        let begins = std::iter::successors(Some(self.from), |begin| begin.checked_add(QUARTER).ok());
        for (begin, range) in begins.zip(quarters) {
            let clock = begin.to_zoned(self.zone.clone());
            let day = (clock.date() - self.first).get_days();
            let day = usize::try_from(day).ok().and_then(|day| days.get_mut(day));
            let hour = usize::try_from(clock.hour()).unwrap_or(0);
            if let Some(place) = day.and_then(|day| day.get_mut(hour)) {
                let cell = Cell::from(*range);
                *place = Some(place.map_or(cell, |known: Cell| known.and(cell)));
            }
        }
        days
    }
}
