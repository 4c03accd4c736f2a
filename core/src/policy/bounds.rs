//! The organisation's bounds for every pool. Each bound that is set is a separate rule; one that is not set is not
//! checked.

use std::collections::BTreeMap;

use super::Glob;
use super::kinds::{List, MapOf, Switch, karpenter_word, whole};
use super::record::{object, record};
use super::texts::{Amount, BUDGET_DURATION, DURATION, LABEL_KEY, NAME_PATTERN, RESOURCE, SCHEDULE, Written};
use crate::facts::shape::CAPACITY_TYPES;
use crate::value::cron::Schedule;
use crate::value::duration::{BudgetDuration, GoDuration};
use crate::value::quantity::Quantity;

record! {
    /// The bounds of a policy.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Bounds {
        limits: LimitBounds = or_default "limits", object(), "Bounds on spec.limits.";
        budgets: BudgetBounds = or_default "budgets", object(), "Bounds on spec.disruption.budgets.";
        template: TemplateBounds = or_default "template", object(), "Bounds on spec.template.";
    }
}

record! {
    /// Which limits a pool must have in `spec.limits`, and the largest that each may be.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct LimitBounds {
        required: Vec<String> = or_default "required", List(0, RESOURCE), "Resources that must have a limit.";
        max: BTreeMap<String, Written<Quantity>> = or_default "max", MapOf(RESOURCE, Amount),
            "The largest limit of each resource. A missing limit violates the bound.";
    }
}

record! {
    /// How many nodes the budgets of a pool may let Karpenter disrupt, and when none.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct BudgetBounds {
        max_percent: Option<u8> = optional "maxPercent", whole(0, 100), "The largest percentage in a budget.";
        max_nodes: Option<i32> = optional "maxNodes", whole(0, i64::from(i32::MAX)),
            "The largest number in a budget that counts nodes.";
        max_budgets: Option<usize> = optional "maxBudgets", whole(1, 50), "How many budgets a NodePool may have.";
        require_always: bool = or_default "requireAlways", Switch,
            "Whether a budget must be active for every reason at all times.";
        freeze_windows: Vec<FreezeWindow> = or_default "freezeWindows", List(0, object()),
            "Times in which every NodePool must block disruption.";
    }
}

record! {
    /// A recurring time in which no node may be disrupted.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct FreezeWindow {
        schedule: Written<Schedule> = required "schedule", SCHEDULE, "The start of the window, in UTC.";
        duration: Written<BudgetDuration> = required "duration", BUDGET_DURATION, "The length of the window.";
    }
}

record! {
    /// Bounds on the template of a pool.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct TemplateBounds {
        required_labels: Vec<String> = or_default "requiredLabels", List(0, LABEL_KEY),
            "Labels that every node must have.";
        capacity_types: Option<Vec<String>> = optional "capacityTypes",
            List(1, karpenter_word(CAPACITY_TYPES)), "The allowed capacity types.";
        node_classes: Option<Vec<NodeClassPattern>> = optional "nodeClasses", List(1, object()),
            "The allowed node classes. A part that is left out matches anything.";
        expire_after: DurationBounds = or_default "expireAfter", object(), "Bounds on the lifetime of nodes.";
        termination_grace_period: DurationBounds = or_default "terminationGracePeriod", object(),
            "Bounds on the drain of nodes.";
    }
}

record! {
    /// Bounds on a duration.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct DurationBounds {
        min: Option<Written<GoDuration>> = optional "min", DURATION, "The shortest duration.";
        max: Option<Written<GoDuration>> = optional "max", DURATION,
            "The longest duration. Never, or no value, counts as longer.";
    }
}

record! {
    /// Node classes that may be used: if a part is not given, any will do.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct NodeClassPattern {
        group: Option<Glob> = optional "group", NAME_PATTERN, "The API group. * matches any characters.";
        kind: Option<Glob> = optional "kind", NAME_PATTERN, "The kind. * matches any characters.";
        name: Option<Glob> = optional "name", NAME_PATTERN, "The name. * matches any characters.";
    }
}

impl NodeClassPattern {
    /// Whether both group and kind are given, and are these.
    pub fn names(&self, group: &str, kind: &str) -> bool {
        let fits =
            |pattern: &Option<Glob>, text| pattern.as_ref().is_some_and(|pattern| pattern.matches(text));
        fits(&self.group, group) && fits(&self.kind, kind)
    }
}
