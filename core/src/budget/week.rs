//! What is allowed in each hour of a week.

use jiff::{SignedDuration, Timestamp};

use super::allowance::Allowance;
use super::list::Budgets;
use super::reasons::Reason;
use super::timeline::Timeline;
use super::window::{SearchLimit, StateEnd};

/// The hours of a week.
pub const HOURS: usize = 7 * 24;

/// What is allowed in a period in which windows may open and close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The least.
    pub lowest: Allowance,
    /// The most.
    pub highest: Allowance,
}

impl Spread {
    const fn of(allowance: Allowance) -> Self {
        Self {
            lowest: allowance,
            highest: allowance,
        }
    }

    fn add(&mut self, now: Allowance) {
        if now.is_below(self.lowest) {
            self.lowest = now;
        }
        if self.highest.is_below(now) {
            self.highest = now;
        }
    }
}

impl Budgets {
    /// What is allowed for each of these reasons in each hour of the week from an instant on: one row per reason, its hours
    /// in their order. Only correct if [`super::is_supported`].
    pub fn week(&self, reasons: &[Reason], nodes: u32, from: Timestamp) -> Vec<Vec<Spread>> {
        self.periods(reasons, nodes, from, SignedDuration::from_hours(1), HOURS)
    }

    /// What is allowed for each of these reasons in each of this many periods of this length.
    pub fn periods(
        &self,
        reasons: &[Reason],
        nodes: u32,
        from: Timestamp,
        length: SignedDuration,
        count: usize,
    ) -> Vec<Vec<Spread>> {
        let ends: Vec<Timestamp> =
            std::iter::successors(from.checked_add(length).ok(), |end| end.checked_add(length).ok())
                .take(count)
                .collect();
        // A window opens once a minute at most, so the time alone is a sufficient bound.
        let reach = SearchLimit {
            until: ends.last().copied().unwrap_or(from),
            fires: u32::MAX,
        };
        let mut walk = Timeline::from(self, from, reach, |_| true);
        let mut rows = vec![Vec::with_capacity(count); reasons.len()];
        for end in ends {
            let spreads = spreads_until(&mut walk, reasons, nodes, end);
            for (row, spread) in rows.iter_mut().zip(spreads) {
                row.push(spread);
            }
        }
        rows
    }
}

/// Walks up to the end of a period, which belongs to the next one: what is allowed before.
fn spreads_until(walk: &mut Timeline<'_>, reasons: &[Reason], nodes: u32, end: Timestamp) -> Vec<Spread> {
    let begun = |reason: &Reason| Spread::of(walk.allowance(*reason, nodes));
    let mut spreads: Vec<_> = reasons.iter().map(begun).collect();
    while let StateEnd::At(next) = walk.until()
        && next < end
    {
        walk.advance(next);
        for (spread, reason) in spreads.iter_mut().zip(reasons) {
            spread.add(walk.allowance(*reason, nodes));
        }
    }
    if walk.until() == StateEnd::At(end) {
        walk.advance(end);
    }
    spreads
}
