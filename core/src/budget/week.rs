//! What is allowed in each hour of a week.

use jiff::{SignedDuration, Timestamp};

use super::allowance::Allowance;
use super::list::Budgets;
use super::reasons::Reason;
use super::timeline::Timeline;
use super::window::{SearchLimit, StateEnd};

/// The hours of a week.
pub const HOURS: usize = 7 * 24;

impl Budgets {
    /// The least that is allowed for each of these reasons in each hour of the week from an instant on: one row per
    /// reason, its hours in their order. Only correct if [`super::is_supported`].
    pub fn week(&self, reasons: &[Reason], nodes: u32, from: Timestamp) -> Vec<Vec<Allowance>> {
        self.lowest(reasons, nodes, from, SignedDuration::from_hours(1), HOURS)
    }

    /// The least that is allowed for each of these reasons in each of this many periods of this length.
    pub fn lowest(
        &self,
        reasons: &[Reason],
        nodes: u32,
        from: Timestamp,
        length: SignedDuration,
        count: usize,
    ) -> Vec<Vec<Allowance>> {
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
            let lowest = lowest_until(&mut walk, reasons, nodes, end);
            for (row, lowest) in rows.iter_mut().zip(lowest) {
                row.push(lowest);
            }
        }
        rows
    }
}

/// Walks up to the end of a period, which belongs to the next one: the least that is allowed before.
fn lowest_until(walk: &mut Timeline<'_>, reasons: &[Reason], nodes: u32, end: Timestamp) -> Vec<Allowance> {
    let begun = |reason: &Reason| walk.allowance(*reason, nodes);
    let mut lowest: Vec<_> = reasons.iter().map(begun).collect();
    while let StateEnd::At(next) = walk.until()
        && next < end
    {
        walk.advance(next);
        for (lowest, reason) in lowest.iter_mut().zip(reasons) {
            let now = walk.allowance(*reason, nodes);
            if now.is_below(*lowest) {
                *lowest = now;
            }
        }
    }
    if walk.until() == StateEnd::At(end) {
        walk.advance(end);
    }
    lowest
}
