//! A tolerant, borrowed view of `spec.disruption`.

use super::{ApiVersion, Field};
use crate::diagnostic::FieldPath;
use crate::json::{Json, Object};

/// `spec.disruption`: which nodes Karpenter may disrupt, how soon, and how many at once.
#[derive(Debug)]
pub struct Disruption<'a> {
    /// `budgets`: those elements that are objects.
    pub budgets: Field<Vec<Budget<'a>>>,
    /// `consolidationPolicy`: which nodes Karpenter consolidates.
    pub consolidation_policy: Field<&'a str>,
    /// `consolidateAfter`: how long a node must be unchanged before it is consolidated, or `Never`.
    pub consolidate_after: Field<&'a str>,
    /// `nodeLimitMode`: `Hard` or `Soft`, a mode of poolgate's.
    pub node_limit_mode: Field<&'a str>,
}

/// One element of `spec.disruption.budgets`.
#[derive(Debug)]
pub struct Budget<'a> {
    /// Its index in the list, from 0.
    pub index: usize,
    /// `nodes`: a number or a percentage such as `10%`.
    pub nodes: Field<&'a str>,
    /// `reasons`. Only v1 knows them.
    pub reasons: Field<&'a [Json<'a>]>,
    /// `schedule`: when the budget starts to apply; a cron expression or a macro, in UTC.
    pub schedule: Field<&'a str>,
    /// `duration`: how long the budget applies each time.
    pub duration: Field<&'a str>,
    /// Whether it has fields that no version knows.
    has_other_fields: bool,
}

const BUDGET_FIELDS: [&str; 4] = ["nodes", "reasons", "schedule", "duration"];

impl<'a> Disruption<'a> {
    /// The path of a field of `spec.disruption`.
    pub fn path(field: &'static str) -> FieldPath {
        FieldPath::of(&["spec", "disruption", field])
    }

    pub(crate) fn view(disruption: &'a Object<'a>) -> Self {
        Self {
            budgets: Field::list(disruption, "budgets").views(Budget::view),
            consolidation_policy: Field::text(disruption, "consolidationPolicy"),
            consolidate_after: Field::text(disruption, "consolidateAfter"),
            node_limit_mode: Field::text(disruption, "nodeLimitMode"),
        }
    }
}

impl<'a> Budget<'a> {
    /// The path of a field of this budget.
    pub fn path(&self, field: &'static str) -> FieldPath {
        Disruption::path("budgets").index(self.index).key(field)
    }

    /// Whether it has a field that this version does not know. What the budget was meant to say is then open.
    pub(crate) fn has_unknown_field(&self, version: ApiVersion) -> bool {
        self.has_other_fields || version == ApiVersion::V1Beta1 && !self.reasons.is_absent()
    }

    fn view(index: usize, budget: &'a Object<'a>) -> Self {
        Self {
            index,
            has_other_fields: budget.iter().any(|(field, _)| !BUDGET_FIELDS.contains(&field)),
            nodes: Field::text(budget, "nodes"),
            reasons: Field::list(budget, "reasons"),
            schedule: Field::text(budget, "schedule"),
            duration: Field::text(budget, "duration"),
        }
    }
}
