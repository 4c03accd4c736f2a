//! A tolerant, borrowed view of `spec.disruption`.

use super::Field;
use crate::diagnostic::FieldPath;
use crate::json::{Json, Object};

/// `spec.disruption`.
#[derive(Debug)]
pub struct Disruption<'a> {
    /// `budgets`: those elements that are objects.
    pub budgets: Field<Vec<Budget<'a>>>,
    /// `consolidationPolicy`.
    pub consolidation_policy: Field<&'a str>,
    /// `consolidateAfter`.
    pub consolidate_after: Field<&'a str>,
    /// `nodeLimitMode`.
    pub node_limit_mode: Field<&'a str>,
}

/// One element of `spec.disruption.budgets`.
#[derive(Debug)]
pub struct Budget<'a> {
    /// Its index in the list, from 0.
    pub index: usize,
    /// `nodes`.
    pub nodes: Field<&'a str>,
    /// `reasons`. Only v1 knows them.
    pub reasons: Field<&'a [Json<'a>]>,
    /// `schedule`.
    pub schedule: Field<&'a str>,
    /// `duration`.
    pub duration: Field<&'a str>,
}

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

    fn view(index: usize, budget: &'a Object<'a>) -> Self {
        Self {
            index,
            nodes: Field::text(budget, "nodes"),
            reasons: Field::list(budget, "reasons"),
            schedule: Field::text(budget, "schedule"),
            duration: Field::text(budget, "duration"),
        }
    }
}
