//! What is allowed in each hour of a week.

use jiff::{SignedDuration, Timestamp};

use super::allowance::Allowance;
use super::list::Budgets;
use super::reasons::Reason;
use super::walk::Walk;
use super::window::{Reach, Until};

/// The hours of a week.
pub const HOURS: usize = 7 * 24;

/// What is allowed in an hour, or a shorter period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The least that is allowed during it.
    pub lowest: Allowance,
    /// Whether the number changes during it.
    pub changes: bool,
}

impl Budgets {
    /// What is allowed for each of these reasons in each hour of the week from an instant on: one row per reason,
    /// its hours in their order. Only correct if [`super::is_reckoned`].
    pub fn week(&self, reasons: &[Reason], nodes: u32, from: Timestamp) -> Vec<Vec<Cell>> {
        self.cells(reasons, nodes, from, SignedDuration::from_hours(1), HOURS)
    }

    /// The same for this many periods of this length.
    pub fn cells(
        &self,
        reasons: &[Reason],
        nodes: u32,
        from: Timestamp,
        length: SignedDuration,
        count: usize,
    ) -> Vec<Vec<Cell>> {
        let ends: Vec<Timestamp> =
            std::iter::successors(from.checked_add(length).ok(), |end| end.checked_add(length).ok())
                .take(count)
                .collect();
        // A window opens once a minute at most, so the time alone is a sufficient bound.
        let reach = Reach {
            until: ends.last().copied().unwrap_or(from),
            fires: u32::MAX,
        };
        let mut walk = Walk::from(self, from, reach, |_| true);
        let mut rows = vec![Vec::with_capacity(count); reasons.len()];
        for end in ends {
            let cells = cells_until(&mut walk, reasons, nodes, end);
            for (row, cell) in rows.iter_mut().zip(cells) {
                row.push(cell);
            }
        }
        rows
    }
}

/// Walks up to the end of a period, which belongs to the next one.
fn cells_until(walk: &mut Walk<'_>, reasons: &[Reason], nodes: u32, end: Timestamp) -> Vec<Cell> {
    let begun = |reason: &Reason| Cell {
        lowest: walk.allowance(*reason, nodes),
        changes: false,
    };
    let mut cells: Vec<_> = reasons.iter().map(begun).collect();
    while let Until::At(next) = walk.until()
        && next < end
    {
        walk.advance(next);
        for (cell, reason) in cells.iter_mut().zip(reasons) {
            let now = walk.allowance(*reason, nodes);
            cell.changes |= now.nodes() != cell.lowest.nodes();
            if now.is_below(cell.lowest) {
                cell.lowest = now;
            }
        }
    }
    if walk.until() == Until::At(end) {
        walk.advance(end);
    }
    cells
}
