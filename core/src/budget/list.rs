//! The budgets of a NodePool, parsed once: rules report mistakes in them, everything else computes with them.

use jiff::Timestamp;

use super::reasons::{Reason, Reasons};
use super::timing::{SearchLimit, Timing, WindowState, Windows};
use crate::diagnostic::FieldPath;
use crate::facts::ApiVersion;
use crate::json::whole_number;
use crate::json::{Json, Object};
use crate::pool::{Disruption, Field, NodePool};
use crate::value::Mistake;
use crate::value::cron::{Schedule, ScheduleError};
use crate::value::duration::BudgetDuration;
use crate::value::nodes::BudgetNodes;

/// The CRD's default if a budget has no `nodes`.
const DEFAULT_NODES: BudgetNodes = BudgetNodes::Percent(10);

const FIELDS: [&str; 4] = ["nodes", "reasons", "schedule", "duration"];

/// The budgets of a NodePool, in its order. Results are right only if every budget can be read.
#[derive(Debug)]
pub struct Budgets {
    list: Vec<Budget>,
    are_written: bool,
}

/// One element of `spec.disruption.budgets`.
#[derive(Debug)]
pub struct Budget {
    /// Its index in the list, from 0.
    pub index: usize,
    /// `nodes`: a number of nodes, or a percentage.
    pub nodes: Field<Parsed<BudgetNodes, Mistake>>,
    /// What `nodes` means if it is a whole number and not a string: the API server rejects it, and its author means this.
    meant: Option<BudgetNodes>,
    /// `reasons`; mistyped also if one of them is unknown. v1beta1 has none.
    pub reasons: Field<Reasons>,
    /// `schedule`: when it starts to apply; a cron expression or a macro, in UTC.
    pub schedule: Field<Parsed<Schedule, ScheduleError>>,
    /// `duration`: how long it applies each time.
    pub duration: Field<Parsed<BudgetDuration, Mistake>>,
    /// When it applies, by its schedule and duration.
    pub timing: Timing,
    /// True if it has a field that its version does not know. Its intended meaning is then unknown.
    pub(crate) has_unknown_field: bool,
}

/// A string and its meaning.
#[derive(Debug)]
pub struct Parsed<T, E> {
    /// As it is in the object.
    pub text: Box<str>,
    /// Its meaning. The error is in a box because most strings have none: a NodePool may have tens of thousands of budgets.
    pub value: Result<T, Box<E>>,
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
    /// Parses the budgets of a pool. If it has none, those of the CRD's default: 10% at all times.
    pub fn parse(pool: &NodePool<'_>) -> Result<Self, UnreadableBudget> {
        let disruption = typed(&pool.disruption, || FieldPath::of(&["spec", "disruption"]))?;
        let list = match disruption {
            Some(disruption) => typed(&disruption.budgets, || Disruption::path("budgets"))?,
            None => None,
        };
        let Some(list) = list else {
            return Ok(Self {
                list: vec![Budget::parse(0, &Object::default(), pool)],
                are_written: false,
            });
        };
        if let Some(index) = list.iter().position(|element| !Json::is_object(element)) {
            return Err(unreadable(
                Disruption::path("budgets").index(index),
                "it is not an object",
            ));
        }
        let budgets = Self::parse_all(pool);
        budgets.iter().try_for_each(Budget::check)?;
        Ok(budgets)
    }

    /// Parses all elements of the list, whether they can be read or not; none if the object has no list.
    pub fn parse_all(pool: &NodePool<'_>) -> Self {
        let disruption = pool.disruption.as_ref().present();
        let list = disruption.and_then(|disruption| disruption.budgets.present());
        let elements = list.into_iter().flatten().enumerate();
        let budgets = elements.map(|(index, element)| match element.as_object() {
            Some(budget) => Budget::parse(index, budget, pool),
            None => Budget::unreadable(index),
        });
        Self {
            list: budgets.collect(),
            are_written: pool.is_written(&Disruption::path("budgets")),
        }
    }

    /// The budgets in the order of the list; just the CRD's default if the object has none.
    pub fn iter(&self) -> std::slice::Iter<'_, Budget> {
        self.list.iter()
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there is none, so that nothing limits disruption.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if the budgets are in the object; if not, they are the CRD's default.
    pub const fn are_written(&self) -> bool {
        self.are_written
    }
}

impl<'b> IntoIterator for &'b Budgets {
    type Item = &'b Budget;
    type IntoIter = std::slice::Iter<'b, Budget>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Budget {
    /// True if Karpenter considers it active. Always false if its schedule cannot be read. Only correct if
    /// [`is_supported`](super::is_supported).
    // karpenter: pkg/apis/v1/nodepool.go Budget.IsActive
    pub fn is_active(&self, at: Timestamp) -> bool {
        match &self.timing {
            Timing::Always => true,
            Timing::Windows(windows) => windows.is_open(at),
            Timing::Never | Timing::Blocked | Timing::Unreadable => false,
        }
    }

    pub(super) fn phase(&self, at: Timestamp, reach: &mut SearchLimit) -> WindowState {
        match &self.timing {
            Timing::Always => WindowState::constant(true),
            Timing::Windows(windows) => windows.phase(at, reach),
            Timing::Never | Timing::Blocked | Timing::Unreadable => WindowState::constant(false),
        }
    }

    /// The path of a field of this budget.
    pub fn path(&self, field: &'static str) -> FieldPath {
        Disruption::path("budgets").index(self.index).key(field)
    }

    /// How many nodes may be disrupted; `None` if that cannot be read.
    pub fn nodes(&self) -> Option<BudgetNodes> {
        match &self.nodes {
            Field::Absent => Some(DEFAULT_NODES),
            Field::Mistyped | Field::Beyond => self.meant,
            Field::Present(nodes) => nodes.value(),
        }
    }

    /// True if it lets no node be disrupted while it applies.
    pub fn is_zero(&self) -> bool {
        self.nodes().is_some_and(BudgetNodes::is_zero)
    }

    /// Its reasons; none if they cannot be read.
    pub const fn reasons(&self) -> Reasons {
        match self.reasons {
            Field::Absent => Reasons::ALL,
            Field::Mistyped | Field::Beyond => Reasons::NONE,
            Field::Present(reasons) => reasons,
        }
    }

    /// True if it is for a reason.
    pub const fn has(&self, reason: Reason) -> bool {
        self.reasons().has(reason)
    }

    /// True if it has neither schedule nor duration.
    pub const fn has_no_window(&self) -> bool {
        self.schedule.is_absent() && self.duration.is_absent()
    }

    /// The part of its window that is missing, and the one that is there; `None` if it has both, or none.
    pub(crate) const fn half_window(&self) -> Option<(&'static str, &'static str)> {
        match (self.schedule.is_absent(), self.duration.is_absent()) {
            (true, false) => Some(("schedule", "duration")),
            (false, true) => Some(("duration", "schedule")),
            (true, true) | (false, false) => None,
        }
    }

    /// True if it applies at any time.
    pub const fn is_always_active(&self) -> bool {
        matches!(self.timing, Timing::Always)
    }

    /// Its windows, if it applies at some times only.
    pub const fn windows(&self) -> Option<&Windows> {
        match &self.timing {
            Timing::Windows(windows) => Some(windows),
            _ => None,
        }
    }

    fn parse(index: usize, budget: &Object<'_>, pool: &NodePool<'_>) -> Self {
        let schedule = Field::text(budget, "schedule").map(|text| Parsed::new(text, Schedule::parse));
        let duration = Field::text(budget, "duration").map(|text| Parsed::new(text, BudgetDuration::parse));
        let timing = match (&schedule, &duration) {
            (Field::Absent, Field::Absent) => Timing::Always,
            (Field::Present(Parsed { value: Err(_), .. }), Field::Present(Parsed { value: Ok(_), .. })) => {
                Timing::Blocked
            }
            (Field::Present(schedule), Field::Present(duration)) => schedule
                .value()
                .zip(duration.value())
                .map_or(Timing::Unreadable, |(schedule, duration)| {
                    Timing::new(schedule, duration.as_duration())
                }),
            _ => Timing::Unreadable,
        };
        let names_reasons = budget.get("reasons").is_some_and(|reasons| !reasons.is_null());
        let is_unknown = |field: &str| !FIELDS.contains(&field);
        Self {
            index,
            nodes: Field::text(budget, "nodes").map(|text| Parsed::new(text, BudgetNodes::parse)),
            meant: budget.get("nodes").and_then(meant),
            reasons: match pool.version {
                ApiVersion::V1 => Reasons::parse(pool.list(budget, "reasons")),
                ApiVersion::V1Beta1 => Field::Absent,
            },
            schedule,
            duration,
            timing,
            has_unknown_field: budget.keys().any(is_unknown)
                || pool.version == ApiVersion::V1Beta1 && names_reasons,
        }
    }

    /// An element that is not an object.
    const fn unreadable(index: usize) -> Self {
        Self {
            index,
            nodes: Field::Mistyped,
            meant: None,
            reasons: Field::Mistyped,
            schedule: Field::Mistyped,
            duration: Field::Mistyped,
            timing: Timing::Unreadable,
            has_unknown_field: false,
        }
    }

    /// Why the API server or Karpenter's decoder rejects it, if they do.
    // karpenter: pkg/apis/v1/nodepool.go Disruption.Budgets
    fn check(&self) -> Result<(), UnreadableBudget> {
        let path = |field| move || self.path(field);
        if let Some(nodes) = typed(&self.nodes, path("nodes"))? {
            nodes.check(path("nodes"))?;
        }
        if matches!(self.reasons, Field::Mistyped | Field::Beyond) {
            return Err(unreadable(
                self.path("reasons"),
                "it is not a list of Karpenter's reasons",
            ));
        }
        typed(&self.schedule, path("schedule"))?;
        let duration = typed(&self.duration, path("duration"))?;
        if let Some((missing, beside)) = self.half_window() {
            let why = format!("it is required with {beside}");
            return Err(unreadable(self.path(missing), &why));
        }
        duration.map_or(Ok(()), |duration| duration.check(path("duration")))
    }
}

/// The meaning of a whole number of nodes that is not a string.
fn meant(nodes: &Json<'_>) -> Option<BudgetNodes> {
    let number = whole_number(nodes.as_number()?)?;
    let count = i32::try_from(number).ok()?;
    (count >= 0).then_some(BudgetNodes::Count(count))
}

impl<T: Copy, E: ToString> Parsed<T, E> {
    fn new(text: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Self {
        let value = parse(text).map_err(Box::new);
        let text = text.into();
        Self { text, value }
    }

    fn value(&self) -> Option<T> {
        self.value.as_ref().ok().copied()
    }

    fn check(&self, path: impl FnOnce() -> FieldPath) -> Result<(), UnreadableBudget> {
        match &self.value {
            Ok(_) => Ok(()),
            Err(error) => Err(unreadable(path(), error.as_ref())),
        }
    }
}

fn typed<T>(field: &Field<T>, path: impl FnOnce() -> FieldPath) -> Result<Option<&T>, UnreadableBudget> {
    match field {
        Field::Absent => Ok(None),
        Field::Present(value) => Ok(Some(value)),
        Field::Mistyped => Err(unreadable(path(), "it is of the wrong type")),
        Field::Beyond => Err(unreadable(path(), "it has too many entries")),
    }
}

fn unreadable(path: FieldPath, why: &(impl ToString + ?Sized)) -> UnreadableBudget {
    let why = why.to_string();
    UnreadableBudget { path, why }
}
