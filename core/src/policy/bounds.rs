//! The organisation's bounds for every pool. Each bound that is set is a separate rule; one that is not set is not
//! checked.

use std::collections::BTreeMap;

use crate::value::cron::Schedule;
use crate::value::duration::{BudgetDuration, GoDuration};
use crate::value::quantity::Quantity;

use super::Glob;

/// A value that was parsed from text, with that text for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<T> {
    /// The text in the policy.
    pub text: String,
    /// What the text was parsed to.
    pub value: T,
}

/// The bounds of a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Bounds on `spec.limits`: which limits a pool must have, and the largest of each.
    pub limits: LimitBounds,
    /// Bounds on `spec.disruption.budgets`: how many nodes may be disrupted, and when none.
    pub budgets: BudgetBounds,
    /// Bounds on `spec.template`: labels, capacity types, node classes and durations.
    pub template: TemplateBounds,
}

/// Which limits a pool must have in `spec.limits`, and the largest that each may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitBounds {
    /// Resources that must have a limit.
    pub required: Vec<String>,
    /// The largest limit of a resource. A pool without that limit is unlimited, and so violates the bound.
    pub max: BTreeMap<String, Written<Quantity>>,
}

/// How many nodes the budgets of a pool may let Karpenter disrupt, and when none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BudgetBounds {
    /// The largest percentage in a budget, 0 to 100.
    pub max_percent: Option<u8>,
    /// The largest number of nodes in a budget that is not a percentage.
    pub max_nodes: Option<i32>,
    /// How many budgets a pool may have.
    pub max_budgets: Option<usize>,
    /// Whether one budget must always apply, for every reason.
    pub require_always: bool,
    /// Times in which nothing may be disrupted.
    pub freeze_windows: Vec<FreezeWindow>,
}

/// A recurring time in which no node may be disrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeWindow {
    /// When it begins: a cron expression in UTC, as in a budget.
    pub schedule: Written<Schedule>,
    /// How long it is.
    pub duration: Written<BudgetDuration>,
}

/// What the template of a pool must contain, and what it may.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateBounds {
    /// Labels that every node must get.
    pub required_labels: Vec<String>,
    /// The capacity types that a pool may use; `None` if all are allowed.
    pub capacity_types: Option<Vec<String>>,
    /// The node classes that a pool may use; `None` if all are allowed.
    pub node_classes: Option<Vec<NodeClassPattern>>,
    /// How long nodes may and must live.
    pub expire_after: DurationBounds,
    /// How long a node may take to drain.
    pub termination_grace_period: DurationBounds,
}

/// Bounds on a duration. If the object sets none, or `Never`, it is unlimited: that is longer than any maximum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurationBounds {
    /// The shortest duration allowed; `None` if there is no minimum.
    pub min: Option<Written<GoDuration>>,
    /// The longest duration allowed; `None` if there is no maximum.
    pub max: Option<Written<GoDuration>>,
}

/// Node classes that may be used: if a part is not given, any will do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeClassPattern {
    /// The API group, without version.
    pub group: Option<Glob>,
    /// A pattern for the kind.
    pub kind: Option<Glob>,
    /// A pattern for the name of the node class.
    pub name: Option<Glob>,
}

impl NodeClassPattern {
    /// Whether both group and kind are given, and are these.
    pub fn names(&self, group: &str, kind: &str) -> bool {
        let fits =
            |pattern: &Option<Glob>, text| pattern.as_ref().is_some_and(|pattern| pattern.matches(text));
        fits(&self.group, group) && fits(&self.kind, kind)
    }
}
