//! All budgets of a NodePool, parsed for computing.

use std::time::Duration;

use jiff::Timestamp;

use super::reasons::Reasons;
use super::window::{Phase, Reach, Window, Windows};
use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::karpenter::{ApiVersion, Budget, Disruption, Field, NodePool};
use crate::value::cron::{Schedule, ScheduleError};
use crate::value::duration::BudgetDuration;
use crate::value::nodes::BudgetNodes;

/// The CRD's default if a budget has no `nodes`.
pub(crate) const DEFAULT_NODES: BudgetNodes = BudgetNodes::Percent(10);

/// The budgets of a NodePool, in its order.
#[derive(Debug)]
pub struct Budgets {
    entries: Vec<Entry>,
    written: bool,
}

/// One budget.
#[derive(Debug)]
pub struct Entry {
    /// Its index in the list, from 0.
    pub index: usize,
    /// How many nodes may be disrupted.
    pub nodes: BudgetNodes,
    /// For which reasons.
    pub reasons: Reasons,
    /// When it applies.
    pub timing: Timing,
}

/// When a budget applies, parsed.
#[derive(Debug)]
pub enum Timing {
    /// At any time.
    Always,
    /// Never: its window has no length, or its interval (`@every`) never ends, because Karpenter starts it again at
    /// each check.
    Never,
    /// In windows.
    Windows(Windows),
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
    pub fn of(pool: &NodePool<'_>) -> Result<Self, UnreadableBudget> {
        let disruption = typed(pool.disruption.as_ref(), || {
            FieldPath::of(&["spec", "disruption"])
        })?;
        let list = || Disruption::path("budgets");
        let budgets = match disruption {
            Some(disruption) => typed(disruption.budgets.as_ref(), list)?,
            None => None,
        };
        let Some(budgets) = budgets else {
            return Ok(Self::unwritten());
        };
        if let Some(index) = first_of_wrong_type(pool) {
            return Err(unreadable(list().index(index), "it is not an object"));
        }
        let entries: Result<_, _> = budgets
            .iter()
            .map(|budget| Entry::of(budget, pool.version))
            .collect();
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

    /// Each budget.
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
    /// [`super::is_reckoned`].
    pub fn is_active(&self, at: Timestamp) -> bool {
        match &self.timing {
            Timing::Always => true,
            Timing::Windows(windows) => windows.is_open(at),
            Timing::Never | Timing::Broken(_) => false,
        }
    }

    pub(crate) fn phase(&self, at: Timestamp, reach: &mut Reach) -> Phase {
        match &self.timing {
            Timing::Always => Phase::constant(true),
            Timing::Windows(windows) => windows.phase(at, reach),
            Timing::Never | Timing::Broken(_) => Phase::constant(false),
        }
    }

    fn of(budget: &Budget<'_>, version: ApiVersion) -> Result<Self, UnreadableBudget> {
        let path = |field: &'static str| move || budget.path(field);
        let nodes = match typed(budget.nodes, path("nodes"))? {
            Some(text) => {
                BudgetNodes::parse(text).map_err(|error| unreadable(budget.path("nodes"), &error))?
            }
            None => DEFAULT_NODES,
        };
        let reasons = Reasons::of(budget, version)
            .ok_or_else(|| unreadable(budget.path("reasons"), "it is not a list of Karpenter's reasons"))?;
        let schedule = typed(budget.schedule, path("schedule"))?;
        let duration = typed(budget.duration, path("duration"))?;
        let timing = match (schedule, duration) {
            (None, None) => Timing::Always,
            (Some(schedule), Some(duration)) => timing(schedule, length(budget, duration)?),
            (None, _) => {
                return Err(unreadable(
                    budget.path("schedule"),
                    "it is required with duration",
                ));
            }
            (_, None) => {
                return Err(unreadable(
                    budget.path("duration"),
                    "it is required with schedule",
                ));
            }
        };
        let index = budget.index;
        Ok(Self {
            index,
            nodes,
            reasons,
            timing,
        })
    }
}

fn timing(schedule: &str, duration: Duration) -> Timing {
    match Schedule::parse(schedule).map(|schedule| Window::of(schedule, duration)) {
        Ok(Window::Always) => Timing::Always,
        // Karpenter starts an interval again at each check.
        Ok(Window::Sometimes { schedule, duration }) if duration.is_zero() || schedule.every().is_some() => {
            Timing::Never
        }
        Ok(Window::Sometimes { schedule, duration }) => Timing::Windows(Windows::new(&schedule, duration)),
        Err(error) => Timing::Broken(error),
    }
}

fn length(budget: &Budget<'_>, duration: &str) -> Result<Duration, UnreadableBudget> {
    let read = BudgetDuration::parse(duration);
    read.map(BudgetDuration::as_duration)
        .map_err(|error| unreadable(budget.path("duration"), &error))
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
