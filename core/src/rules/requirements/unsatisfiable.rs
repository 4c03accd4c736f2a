//! Operators that no node satisfies, whatever else the pool demands.

use super::demand::Demand;
use super::scope::{NEVER_LAUNCHES, Scope, Unsatisfiable};
use crate::facts::{KarpenterVersion, LabelKind, Operator, REGION_LABEL, WINDOWS_BUILD_LABEL, integer};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_UNSATISFIABLE: Rule = rule!("requirement-unsatisfiable", Error, Silent);

/// Reports a requirement that no node satisfies because of its operator.
pub fn check(
    demand: &Demand<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Unsatisfiable> {
    let operator = demand.operator;
    let path = || demand.at.field("operator");
    if operator == Operator::DoesNotExist && demand.is_on_every_instance_type() {
        let title = "every instance type has this label";
        findings
            .report(&REQUIREMENT_UNSATISFIABLE, path(), operator.as_str(), title)
            .consequence(NEVER_LAUNCHES)
            .suggest("remove it, or list the unwanted values with operator NotIn");
        return Err(Unsatisfiable);
    }
    if operator.demands_label() && is_never_carried(demand, scope) {
        let title = "no instance type of the provider has this label";
        findings
            .report(&REQUIREMENT_UNSATISFIABLE, path(), operator.as_str(), title)
            .consequence(NEVER_LAUNCHES)
            .suggest("remove it");
        return Err(Unsatisfiable);
    }
    if operator.is_numeric() && has_words(demand, scope) {
        let title = "the values of this label are not numbers";
        findings
            .report(&REQUIREMENT_UNSATISFIABLE, path(), operator.as_str(), title)
            .consequence(NEVER_LAUNCHES)
            .suggest("list the values with operator In");
        return Err(Unsatisfiable);
    }
    match demand.values.first() {
        Some(bound) if operator.is_numeric() => check_bound(bound, demand, scope, findings),
        _ => Ok(()),
    }
}

/// Whether no instance type of the provider ever carries the label, which is one of its own.
fn is_never_carried(demand: &Demand<'_>, scope: &Scope<'_>) -> bool {
    let own = scope
        .labels
        .provider
        .filter(|provider| demand.key.starts_with(provider.group));
    let label = own.and_then(|provider| provider.label(demand.key));
    label.is_some_and(|label| label.is_never_carried)
}

/// Whether nodes carry the label, and none of its values is a number.
fn has_words(demand: &Demand<'_>, scope: &Scope<'_>) -> bool {
    let knows_label = |provider: &crate::facts::Provider| provider.label(demand.key).is_some();
    let are_words = matches!(demand.kind, LabelKind::WellKnown(values) if values.are_words());
    // A requirement on a well-known label that the provider's instance types do not carry has no effect.
    are_words
        && match demand.key {
            WINDOWS_BUILD_LABEL => scope.labels.provider.is_some_and(knows_label),
            REGION_LABEL => scope.labels.provider.is_none_or(knows_label),
            _ => true,
        }
}

/// Checks bounds at the ends of the range of 64-bit integers.
fn check_bound(
    bound: &str,
    demand: &Demand<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Unsatisfiable> {
    let is_well_known = demand.kind.is_well_known();
    let title = match (demand.operator, integer(bound)) {
        (Operator::Lt, Some(0)) => "no label has a value below 0",
        (Operator::Gt, Some(i64::MAX)) => "no label has a larger value",
        // One larger number is legal, but Karpenter's own arithmetic does not reach it.
        (Operator::Gt, Some(bound)) if bound == i64::MAX - 1 => "no label has a larger value",
        (Operator::Gte, Some(i64::MAX)) => "no label has a value this large",
        (Operator::Lte, Some(i64::MAX)) if !is_well_known => "a bound this large overflows in Karpenter",
        _ => return Ok(()),
    };
    let is_nothing = demand.operator == Operator::Gt
        && integer(bound) == Some(i64::MAX)
        && scope.context.release.has(KarpenterVersion::GTE_LTE);
    let consequence = if is_well_known {
        NEVER_LAUNCHES
    } else if is_nothing {
        "nodes are launched without this label"
    } else {
        "Karpenter crashes when it picks a value for this label"
    };
    findings
        .report(&REQUIREMENT_UNSATISFIABLE, demand.at.value(0), bound, title)
        .consequence(consequence);
    Err(Unsatisfiable)
}
