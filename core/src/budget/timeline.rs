//! Walks from one opening or closing of a window to the next.

use jiff::Timestamp;

use super::allowance::Allowance;
use super::list::{Budgets, Entry};
use super::reasons::Reason;
use super::window::{SearchLimit, StateEnd, WindowState};

/// The budgets of a pool at an instant, to be advanced in time.
pub struct Timeline<'b> {
    budgets: &'b Budgets,
    phases: Vec<WindowState>,
    reach: SearchLimit,
}

impl<'b> Timeline<'b> {
    /// Begins at an instant with the budgets that matter; the others are assumed not to change. Searches no further
    /// than `reach` in total.
    pub fn from(
        budgets: &'b Budgets,
        at: Timestamp,
        mut reach: SearchLimit,
        matters: impl Fn(&Entry) -> bool,
    ) -> Self {
        let begin = |entry: &Entry| {
            if matters(entry) {
                entry.phase(at, &mut reach)
            } else {
                WindowState::constant(entry.is_active(at))
            }
        };
        let phases = budgets.entries().iter().map(begin).collect();
        Self {
            budgets,
            phases,
            reach,
        }
    }

    /// What is allowed for a reason now.
    pub fn allowance(&self, reason: Reason, nodes: u32) -> Allowance {
        let is_open = |place| {
            self.phases
                .get(place)
                .is_some_and(|phase: &WindowState| phase.open)
        };
        self.budgets
            .allowance_where(reason, nodes, |place, _| is_open(place))
    }

    /// How long no window opens or closes.
    pub fn until(&self) -> StateEnd {
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
    pub fn advance(&mut self, to: Timestamp) {
        let entries = self.budgets.entries().iter();
        for (phase, entry) in self.phases.iter_mut().zip(entries) {
            if phase.until == StateEnd::At(to) {
                self.reach.fires = self.reach.fires.saturating_sub(1);
                *phase = entry.phase(to, &mut self.reach);
            }
        }
    }

    /// Whether `reach` is used up.
    pub fn is_exhausted(&self) -> bool {
        self.reach.fires == 0
    }
}
