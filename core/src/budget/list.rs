//! All budgets of a NodePool, parsed for computing.

use std::sync::Arc;

use jiff::Timestamp;

use super::parsed::{DEFAULT_NODES, ParsedBudget};
use super::reasons::Reasons;
use super::window::{SearchLimit, Window, WindowState, Windows};
use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::karpenter::{Disruption, Field, NodePool};
use crate::value::cron::ScheduleError;
use crate::value::nodes::BudgetNodes;

/// The budgets of a NodePool, in its order.
#[derive(Debug)]
pub struct Budgets {
    entries: Vec<Entry>,
    written: bool,
}

/// One budget of a pool, parsed.
#[derive(Debug)]
pub struct Entry {
    /// Its index in the list, from 0.
    pub index: usize,
    /// How many nodes may be disrupted.
    pub nodes: BudgetNodes,
    /// The reasons for disruption that it applies to.
    pub reasons: Reasons,
    /// When it applies: at any time, in windows, or never.
    pub timing: Timing,
}

/// When a budget applies, parsed.
#[derive(Debug)]
pub enum Timing {
    /// At any time, because it has no schedule.
    Always,
    /// Never: its window has no length, or its interval (`@every`) never ends, because Karpenter starts it again at
    /// each check.
    Never,
    /// For its duration after each fire of its schedule.
    Windows(Arc<Windows>),
    /// Unknown: the CRD accepts the schedule, but Karpenter cannot read it.
    Broken(ScheduleError),
}

/// A budget because of which the object is rejected or cannot be decoded, so that Karpenter never acts on it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct UnreadableBudget {
    /// The path of the field.
    pub path: FieldPath,
    /// Why: a clause without a full stop.
    pub why: String,
}

impl Budgets {
    /// Reads the budgets of a pool. If it has none, those of the CRD's default: 10% at all times.
    pub fn parse(pool: &NodePool<'_>) -> Result<Self, UnreadableBudget> {
        Self::of_parsed(pool, &ParsedBudget::all(pool))
    }

    /// Like [`Self::parse`], for a pool whose budgets are parsed already.
    pub(crate) fn of_parsed(
        pool: &NodePool<'_>,
        budgets: &[ParsedBudget<'_>],
    ) -> Result<Self, UnreadableBudget> {
        let disruption = typed(pool.disruption.as_ref(), || {
            FieldPath::of(&["spec", "disruption"])
        })?;
        let list = || Disruption::path("budgets");
        let written = match disruption {
            Some(disruption) => typed(disruption.budgets.as_ref(), list)?,
            None => None,
        };
        if written.is_none() {
            return Ok(Self::unwritten());
        }
        if let Some(index) = first_of_wrong_type(pool) {
            return Err(unreadable(list().index(index), "it is not an object"));
        }
        let entries: Result<_, _> = budgets.iter().map(Entry::new).collect();
        Ok(Self {
            entries: entries?,
            written: true,
        })
    }

    fn unwritten() -> Self {
        Self {
            entries: vec![Entry {
                index: 0,
                nodes: DEFAULT_NODES,
                reasons: Reasons::ALL,
                timing: Timing::Always,
            }],
            written: false,
        }
    }

    /// The budgets in the order of the list; just the CRD's default if the object has none.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether the budgets are in the object; if not, they are the CRD's default.
    pub const fn are_written(&self) -> bool {
        self.written
    }
}

impl Entry {
    /// Whether Karpenter considers it active. Always false if its schedule cannot be read. Only correct if
    /// [`super::is_supported`].
    pub fn is_active(&self, at: Timestamp) -> bool {
        match &self.timing {
            Timing::Always => true,
            Timing::Windows(windows) => windows.is_open(at),
            Timing::Never | Timing::Broken(_) => false,
        }
    }

    pub(crate) fn phase(&self, at: Timestamp, reach: &mut SearchLimit) -> WindowState {
        match &self.timing {
            Timing::Always => WindowState::constant(true),
            Timing::Windows(windows) => windows.phase(at, reach),
            Timing::Never | Timing::Broken(_) => WindowState::constant(false),
        }
    }

    fn new(budget: &ParsedBudget<'_>) -> Result<Self, UnreadableBudget> {
        let view = budget.view;
        let path = |field: &'static str| move || view.path(field);
        let nodes = match typed(budget.nodes.as_ref(), path("nodes"))? {
            Some(nodes) => *read(&nodes.value, path("nodes"))?,
            None => DEFAULT_NODES,
        };
        let reasons = budget
            .reasons
            .ok_or_else(|| unreadable(view.path("reasons"), "it is not a list of Karpenter's reasons"))?;
        let schedule = typed(budget.schedule.as_ref(), path("schedule"))?;
        let duration = typed(budget.duration.as_ref(), path("duration"))?;
        let timing = match (schedule, duration) {
            (None, None) => Timing::Always,
            (None, Some(_)) => return Err(unreadable(view.path("schedule"), "it is required with duration")),
            (Some(_), None) => return Err(unreadable(view.path("duration"), "it is required with schedule")),
            (Some(schedule), Some(duration)) => {
                let duration = read(&duration.value, path("duration"))?.as_duration();
                match schedule.value.as_ref().map_err(AsRef::as_ref) {
                    Ok(schedule) => {
                        let window = budget.window.clone();
                        timing(window.unwrap_or_else(|| Window::new(*schedule, duration)))
                    }
                    Err(error) => Timing::Broken(error.clone()),
                }
            }
        };
        let index = view.index;
        Ok(Self {
            index,
            nodes,
            reasons,
            timing,
        })
    }
}

fn timing(window: Window) -> Timing {
    match window {
        Window::Always => Timing::Always,
        Window::Sometimes(windows) if windows.never_open() => Timing::Never,
        Window::Sometimes(windows) => Timing::Windows(windows),
    }
}

fn read<T, E: ToString>(
    value: &Result<T, Box<E>>,
    path: impl FnOnce() -> FieldPath,
) -> Result<&T, UnreadableBudget> {
    value.as_ref().map_err(|error| unreadable(path(), error.as_ref()))
}

fn typed<T>(field: Field<T>, path: impl FnOnce() -> FieldPath) -> Result<Option<T>, UnreadableBudget> {
    match field {
        Field::Absent => Ok(None),
        Field::Present(value) => Ok(Some(value)),
        Field::Mistyped => Err(unreadable(path(), "it is of the wrong type")),
    }
}

/// The index of the first element of the list that is not an object. A view skips these.
fn first_of_wrong_type(pool: &NodePool<'_>) -> Option<usize> {
    let list = pool.spec.present()?.get("disruption")?.get("budgets")?;
    list.as_array()?
        .iter()
        .position(|element| !Json::is_object(element))
}

fn unreadable(path: FieldPath, why: &(impl ToString + ?Sized)) -> UnreadableBudget {
    let why = why.to_string();
    UnreadableBudget { path, why }
}
