//! `minValues` compared with the number of values that all requirements and template labels on one label leave.

use super::Scope;
use super::groups::{Group, Source};
use super::min_values::{is_more_than, path};
use crate::karpenter::{CAPACITY_TYPE_LABEL, Operator, Selection};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_MIN_VALUES_TOGETHER: Rule = rule!("requirement-min-values-together", Error, Silent);

/// Checks the largest `minValues` on one label whose entries do not contradict each other.
pub fn check<'a>(group: &Group<'a>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    // No instance type has a value of a custom label; that is reported at the entry.
    if group.sources.len() < 2 || group.is_custom() {
        return;
    }
    let largest = group.entries().max_by_key(|entry| entry.min_values);
    let Some((entry, least)) = largest.and_then(|entry| Some((entry, entry.min_values?))) else {
        return;
    };
    let is_short = |left: &Selection<'_>| left.count().is_some_and(|count| is_more_than(least, count));
    // All existing capacity types are known.
    let known =
        (entry.key == CAPACITY_TYPE_LABEL).then(|| Selection::new(Operator::In, scope.capacity_types()));
    let existing = |selection: Selection<'a>| match &known {
        Some(known) => selection.and(known.clone()),
        None => selection,
    };
    let left = existing(group.selection(scope));
    // If the entry has too few values by itself, that is reported at the entry.
    if !is_short(&left) || is_short(&existing(Source::Entry(entry).selection(scope))) {
        return;
    }
    let left = left.count().unwrap_or(0);
    let others: Vec<&Source<'_>> = group
        .sources
        .iter()
        .filter(|source| !matches!(source, Source::Entry(other) if other.index == entry.index))
        .collect();
    let rest = match others.as_slice() {
        [only] => format!("{only}"),
        _ => format!("the other {} entries", others.len()),
    };
    let key = entry.key;
    let reason =
        format!("together with {rest}, {key} has only {left} values left, so the pool never launches a node");
    let path = path(entry.index);
    findings
        .report(&REQUIREMENT_MIN_VALUES_TOGETHER, path, least, reason)
        .suggest("allow more values, or lower it")
        .related = others.into_iter().map(Source::path).collect();
}
