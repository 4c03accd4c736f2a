//! The budgets of a NodePool with their texts parsed, also those that cannot be read: rules say why, and [`Budgets`] is
//! made from them.
//!
//! [`Budgets`]: super::Budgets

use super::reasons::{Reason, Reasons};
use super::window::{Window, Windows};
use crate::karpenter::{Budget, Field, NodePool};
use crate::value::Mistake;
use crate::value::cron::{Schedule, ScheduleError};
use crate::value::duration::BudgetDuration;
use crate::value::nodes::BudgetNodes;

/// The CRD's default if a budget has no `nodes`.
pub const DEFAULT_NODES: BudgetNodes = BudgetNodes::Percent(10);

/// One element of `spec.disruption.budgets`, parsed.
#[derive(Debug)]
pub(crate) struct ParsedBudget<'a> {
    /// The budget as it is in the object.
    pub view: &'a Budget<'a>,
    /// `nodes`: a number of nodes, or a percentage.
    pub nodes: Field<Parsed<'a, BudgetNodes, Mistake>>,
    /// For which reasons; `None` if one of them cannot be read.
    pub reasons: Option<Reasons>,
    /// `schedule`: when the budget starts to apply.
    pub schedule: Field<Parsed<'a, Schedule, ScheduleError>>,
    /// `duration`: how long the budget applies each time.
    pub duration: Field<Parsed<'a, BudgetDuration, Mistake>>,
    /// When it holds; `None` if its schedule or duration cannot be read, or if only one of them is there.
    pub window: Option<Window>,
}

/// A text with what it says, or why it cannot be read.
#[derive(Debug)]
pub(crate) struct Parsed<'a, T, E> {
    /// As it is in the object.
    pub text: &'a str,
    /// What it says. The error is in a box because most texts have none: a NodePool may have tens of thousands of budgets.
    pub value: Result<T, Box<E>>,
}

impl<'a, T, E> Parsed<'a, T, E> {
    fn new(text: &'a str, parse: impl FnOnce(&str) -> Result<T, E>) -> Self {
        let value = parse(text).map_err(Box::new);
        Self { text, value }
    }
}

impl<T: Copy, E> Parsed<'_, T, E> {
    fn value(&self) -> Option<T> {
        self.value.as_ref().ok().copied()
    }
}

impl<'a> ParsedBudget<'a> {
    /// Parses all budgets of a pool that are objects.
    pub fn all(pool: &'a NodePool<'a>) -> Vec<Self> {
        let disruption = pool.disruption.as_ref().present();
        let budgets = disruption.and_then(|disruption| disruption.budgets.as_ref().present());
        let parse = |view| Self::parse(view, pool);
        budgets.into_iter().flatten().map(parse).collect()
    }

    fn parse(view: &'a Budget<'a>, pool: &NodePool<'_>) -> Self {
        let schedule = view.schedule.map(|text| Parsed::new(text, Schedule::parse));
        let duration = view.duration.map(|text| Parsed::new(text, BudgetDuration::parse));
        let window = match (&schedule, &duration) {
            (Field::Absent, Field::Absent) => Some(Window::Always),
            (Field::Present(schedule), Field::Present(duration)) => schedule
                .value()
                .zip(duration.value())
                .map(|(schedule, duration)| Window::new(schedule, duration.as_duration())),
            _ => None,
        };
        Self {
            view,
            nodes: view.nodes.map(|text| Parsed::new(text, BudgetNodes::parse)),
            reasons: Reasons::parse(view, pool.version),
            schedule,
            duration,
            window,
        }
    }

    /// How many nodes may be disrupted; `None` if that cannot be read.
    pub fn nodes(&self) -> Option<BudgetNodes> {
        match &self.nodes {
            Field::Absent => Some(DEFAULT_NODES),
            Field::Mistyped => None,
            Field::Present(nodes) => nodes.value(),
        }
    }

    /// Whether it lets no node be disrupted while it holds.
    pub fn is_zero(&self) -> bool {
        self.nodes().is_some_and(BudgetNodes::is_zero)
    }

    /// Its reasons; none if they cannot be read.
    pub fn reasons(&self) -> Reasons {
        self.reasons.unwrap_or(Reasons::NONE)
    }

    /// Whether it is for a reason.
    pub fn has(&self, reason: Reason) -> bool {
        self.reasons().has(reason)
    }

    /// Whether it has neither schedule nor duration.
    pub const fn has_no_window(&self) -> bool {
        self.view.schedule.is_absent() && self.view.duration.is_absent()
    }

    /// Whether it always holds.
    pub fn is_always_active(&self) -> bool {
        matches!(self.window, Some(Window::Always))
    }

    /// Its windows, if it does not always hold.
    pub fn windows(&self) -> Option<&Windows> {
        match self.window.as_ref()? {
            Window::Always => None,
            Window::Sometimes(windows) => Some(windows.as_ref()),
        }
    }
}
