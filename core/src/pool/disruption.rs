//! A tolerant, borrowed view of `spec.disruption`.

use super::Field;
use super::door::{self, Door};
use crate::diagnostic::FieldPath;
use crate::json::{Json, Object};

/// `spec.disruption`: which nodes Karpenter may disrupt, how soon, and how many at once.
#[derive(Debug)]
pub struct Disruption<'a> {
    /// `budgets`, see [`Budgets`](crate::budget::Budgets).
    pub budgets: Field<&'a [Json<'a>]>,
    /// `consolidationPolicy`: which nodes Karpenter consolidates.
    pub consolidation_policy: Field<&'a str>,
    /// `consolidateAfter`: how long a node must be unchanged before it is consolidated, or `Never`.
    pub consolidate_after: Field<&'a str>,
    /// `nodeLimitMode`: `Hard` or `Soft`, a mode of poolgate's.
    pub node_limit_mode: Field<&'a str>,
}

impl<'a> Disruption<'a> {
    /// The path of a field of `spec.disruption`.
    pub fn path(field: &'static str) -> FieldPath {
        FieldPath::of(&["spec", "disruption", field])
    }

    pub(crate) fn view(disruption: &'a Object<'a>, door: &mut Door<'a>) -> Self {
        let budgets = door.list(Some(disruption), &door::BUDGETS);
        // The budgets are parsed later; see `Budgets`.
        for (index, budget) in budgets.present().into_iter().flatten().enumerate() {
            let _ = door.list_in(index, budget.as_object(), &door::REASONS);
        }
        Self {
            budgets,
            consolidation_policy: Field::text(disruption, "consolidationPolicy"),
            consolidate_after: Field::text(disruption, "consolidateAfter"),
            node_limit_mode: Field::text(disruption, "nodeLimitMode"),
        }
    }
}
