//! `minValues`: how many different values the instance types for one node must offer.

use super::{Entry, Scope};
use crate::diagnostic::FieldPath;
use crate::json::FewMap;
use crate::karpenter::shape::nodepool;
use crate::karpenter::{Field, Operator, Requirement, whole_number};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_MIN_VALUES: Rule = rule!("requirement-min-values", Error, Schema);
pub static REQUIREMENT_MIN_VALUES_DISTINCT: Rule = rule!("requirement-min-values-distinct", Error, Silent);
pub static REQUIREMENT_MIN_VALUES_CUSTOM: Rule = rule!("requirement-min-values-custom", Warning, Silent);

/// Checks the number by itself, even if the rest of its requirement is wrong. `None` if it is missing or wrong.
pub fn check_range(
    requirement: &Requirement<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<i64> {
    let Field::Present(number) = requirement.min_values else {
        return None;
    };
    // A fraction has the wrong type, which the type check reports.
    let least = whole_number(number)?;
    let field = "spec.template.spec.requirements[].minValues";
    let range = nodepool(scope.template.version)
        .at(field)
        .range(scope.context.release)?;
    if !range.contains(&least) {
        let reason = format!("must be from {} to {}", range.start(), range.end());
        findings.report(&REQUIREMENT_MIN_VALUES, path(requirement.index), least, reason);
        return None;
    }
    Some(least)
}

/// Compares the number with how many values the requirement lists, valid or not. Returns it if there are enough.
pub fn check_count(
    least: i64,
    requirement: &Requirement<'_>,
    operator: Operator,
    findings: &mut Findings<'_>,
) -> Option<i64> {
    let listed = requirement.values.present().map_or(0, <[_]>::len);
    // The check of the values reports an empty list.
    if operator != Operator::In || listed == 0 || !is_more_than(least, listed) {
        return Some(least);
    }
    let reason = format!("operator In lists only {listed} values");
    findings
        .report(&REQUIREMENT_MIN_VALUES, path(requirement.index), least, reason)
        .suggest("list more values, or lower it");
    None
}

/// Checks the number as the scheduler reads it; returns whether it can be satisfied.
pub fn check_kind(entry: &Entry<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(least) = entry.min_values else {
        return true;
    };
    let path = || path(entry.index);
    if entry.kind.is_custom() {
        let reason = format!(
            "no instance type has {}, so there are never enough values and the pool never launches a node",
            entry.key
        );
        findings
            .report(&REQUIREMENT_MIN_VALUES_CUSTOM, path(), least, reason)
            .suggest("remove it");
        return false;
    }
    if entry.operator == Operator::In {
        let distinct = distinct(entry);
        if is_more_than(least, distinct) {
            let reason = format!("the scheduler counts distinct values, of which there are {distinct}");
            findings
                .report(&REQUIREMENT_MIN_VALUES_DISTINCT, path(), least, reason)
                .suggest("list more values, or lower it");
            return false;
        }
    }
    true
}

/// How many different values an entry lists.
pub fn distinct(entry: &Entry<'_>) -> usize {
    let mut values = FewMap::default();
    for value in &entry.values {
        values.insert(*value, ());
    }
    values.len()
}

pub fn path(index: usize) -> FieldPath {
    Scope::field(index, "minValues")
}

/// Whether more values are required than there are.
pub fn is_more_than(least: i64, count: usize) -> bool {
    usize::try_from(least).is_ok_and(|least| least > count)
}
