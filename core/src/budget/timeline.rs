//! The allowance over time: its next change, and its value in each hour of a week.

use jiff::{SignedDuration, Timestamp};

use super::allowance::Allowance;
use super::list::{Budget, Budgets};
use super::reasons::Reason;
use super::timing::{MOST_FIRES, SearchLimit, StateEnd, WindowState};
use crate::facts::shape::{BUDGETS, nodepool};
use crate::facts::{ApiVersion, KarpenterVersion};

/// How far ahead is searched: past the next 29 February.
const HORIZON: SignedDuration = SignedDuration::from_hours(5 * 366 * 24);

/// The hours of a week.
pub const HOURS: usize = 7 * 24;

/// When the number of nodes that may be disrupted for a reason changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The number never changes.
    Never,
    /// The number changes at a known instant.
    At {
        /// The instant of the change.
        at: Timestamp,
        /// The allowance from then on.
        to: Allowance,
    },
    /// Not before this instant: the search ends there, after five years or some 30,000 fires.
    NotBefore(Timestamp),
}

/// The allowance in a period with windows that may open and close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowanceRange {
    /// The least.
    pub lowest: Allowance,
    /// The most.
    pub highest: Allowance,
}

impl AllowanceRange {
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
    /// When the number of a pool's `nodes` that may be disrupted for a reason differs from that at an instant. Only
    /// correct if [`super::is_supported`].
    pub fn next_change(&self, reason: Reason, nodes: u32, at: Timestamp) -> Change {
        let horizon = at.checked_add(HORIZON).unwrap_or(Timestamp::MAX);
        let reach = SearchLimit {
            until: horizon,
            fires: MOST_FIRES,
        };
        let always = self.always_allowed(reason, nodes);
        let mut walk = Timeline::from(self, at, reach, |budget| {
            budget.has(reason)
                && always.is_none_or(|always| budget.allows(nodes).is_some_and(|allowed| allowed < always))
        });
        let now = walk.allowance(reason, nodes).nodes();
        loop {
            let next = match walk.until() {
                StateEnd::Always => return Change::Never,
                StateEnd::AtLeast(until) => return Change::NotBefore(until.min(horizon)),
                StateEnd::At(next) if next > horizon => return Change::NotBefore(horizon),
                StateEnd::At(next) => next,
            };
            walk.advance(next);
            let to = walk.allowance(reason, nodes);
            if to.nodes() != now {
                return Change::At { at: next, to };
            }
            if walk.is_exhausted() {
                return Change::NotBefore(next);
            }
        }
    }
}

impl Budgets {
    /// The allowance for each of these reasons in each hour of the week from an instant on: one row per reason, its hours
    /// in their order. Only correct if [`super::is_supported`].
    pub fn week(&self, reasons: &[Reason], nodes: u32, from: Timestamp) -> Vec<Vec<AllowanceRange>> {
        self.periods(reasons, nodes, from, SignedDuration::from_hours(1), HOURS)
    }

    /// The allowance for each of these reasons in each of this many periods of this length.
    pub fn periods(
        &self,
        reasons: &[Reason],
        nodes: u32,
        from: Timestamp,
        length: SignedDuration,
        count: usize,
    ) -> Vec<Vec<AllowanceRange>> {
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
            let ranges = ranges_until(&mut walk, reasons, nodes, end);
            for (row, range) in rows.iter_mut().zip(ranges) {
                row.push(range);
            }
        }
        rows
    }
}

impl Budgets {
    /// What is allowed for a reason from an instant on, and each change up to another instant. Only correct if
    /// [`super::is_supported`]. Of more budgets than a NodePool can have, only the first number is computed.
    pub fn steps(
        &self,
        reason: Reason,
        nodes: u32,
        from: Timestamp,
        until: Timestamp,
    ) -> Vec<(Timestamp, Allowance)> {
        let mut allowance = self.allowance(reason, nodes, from);
        let mut steps = vec![(from, allowance)];
        let most = nodepool(ApiVersion::V1)
            .at(BUDGETS)
            .most(KarpenterVersion::NEWEST);
        if most.is_some_and(|most| self.len() > most) {
            return steps;
        }
        // A window opens once a minute at most, so the time alone is a sufficient bound.
        let reach = SearchLimit {
            until,
            fires: u32::MAX,
        };
        let mut walk = Timeline::from(self, from, reach, |budget| budget.has(reason));
        while let StateEnd::At(next) = walk.until()
            && next < until
        {
            walk.advance(next);
            let to = walk.allowance(reason, nodes);
            if to.nodes() != allowance.nodes() {
                steps.push((next, to));
            }
            allowance = to;
        }
        steps
    }
}

/// Walks up to the end of a period, which belongs to the next one: what is allowed before.
fn ranges_until(
    walk: &mut Timeline<'_>,
    reasons: &[Reason],
    nodes: u32,
    end: Timestamp,
) -> Vec<AllowanceRange> {
    let begun = |reason: &Reason| AllowanceRange::of(walk.allowance(*reason, nodes));
    let mut ranges: Vec<_> = reasons.iter().map(begun).collect();
    while let StateEnd::At(next) = walk.until()
        && next < end
    {
        walk.advance(next);
        for (range, reason) in ranges.iter_mut().zip(reasons) {
            range.add(walk.allowance(*reason, nodes));
        }
    }
    if walk.until() == StateEnd::At(end) {
        walk.advance(end);
    }
    ranges
}

/// The budgets of a pool at an instant, to be advanced in time.
struct Timeline<'b> {
    budgets: &'b Budgets,
    phases: Vec<WindowState>,
    reach: SearchLimit,
}

impl<'b> Timeline<'b> {
    /// Begins at an instant with the budgets that matter; the others are assumed not to change. Searches no further
    /// than `reach` in total.
    fn from(
        budgets: &'b Budgets,
        at: Timestamp,
        mut reach: SearchLimit,
        matters: impl Fn(&Budget) -> bool,
    ) -> Self {
        let begin = |budget: &Budget| {
            if matters(budget) {
                budget.phase(at, &mut reach)
            } else {
                WindowState::constant(budget.is_active(at))
            }
        };
        let phases = budgets.iter().map(begin).collect();
        Self {
            budgets,
            phases,
            reach,
        }
    }

    /// The allowance for a reason now.
    fn allowance(&self, reason: Reason, nodes: u32) -> Allowance {
        let is_open = |place| {
            self.phases
                .get(place)
                .is_some_and(|phase: &WindowState| phase.open)
        };
        self.budgets
            .allowance_where(reason, nodes, |place, _| is_open(place))
    }

    /// How long no window opens or closes.
    fn until(&self) -> StateEnd {
        let instant = |until: &StateEnd| match until {
            StateEnd::Always => None,
            StateEnd::At(at) | StateEnd::AtLeast(at) => Some(*at),
        };
        let untils = self.phases.iter().map(|phase| phase.until);
        untils
            .filter(|until| *until != StateEnd::Always)
            .min_by_key(instant)
            .unwrap_or(StateEnd::Always)
    }

    /// Advances to the instant at which windows open or close.
    fn advance(&mut self, to: Timestamp) {
        for (phase, budget) in self.phases.iter_mut().zip(self.budgets) {
            if phase.until == StateEnd::At(to) {
                self.reach.fires = self.reach.fires.saturating_sub(1);
                *phase = budget.phase(to, &mut self.reach);
            }
        }
    }

    /// Whether `reach` is used up.
    fn is_exhausted(&self) -> bool {
        self.reach.fires == 0
    }
}
