//! Bounds at the ends of the range of 64-bit integers.

use super::{Entry, Scope};
use crate::karpenter::{KarpenterVersion, Operator, integer};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_BOUND: Rule = rule!("requirement-bound", Error, Silent);

/// Returns whether the bound leaves a number.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(text) = entry.values.first().filter(|_| entry.operator.is_numeric()) else {
        return true;
    };
    let reason = match (entry.operator, integer(text)) {
        (Operator::Lt, Some(0)) => "no label has a value below 0",
        (Operator::Gt, Some(i64::MAX)) => "no label has a value above it",
        // One larger number is legal, but Karpenter's own arithmetic does not reach it.
        (Operator::Gt, Some(bound)) if bound == i64::MAX - 1 => "no label has a value above it",
        (Operator::Gte, Some(i64::MAX)) => "no label has so large a value",
        (Operator::Lte, Some(i64::MAX)) if !entry.kind.is_well_known() => {
            "it is so large that Karpenter's arithmetic overflows"
        }
        _ => return true,
    };
    let is_nothing = entry.operator == Operator::Gt
        && integer(text) == Some(i64::MAX)
        && scope.context.release.has(KarpenterVersion::GTE_LTE);
    let effect = if entry.kind.is_well_known() {
        "so the pool never launches a node"
    } else if is_nothing {
        "so nodes are launched without this label"
    } else {
        "and Karpenter crashes when it picks a value for this label"
    };
    findings.report(
        &REQUIREMENT_BOUND,
        Scope::value(entry.index, 0),
        *text,
        format!("{reason}, {effect}"),
    );
    false
}
