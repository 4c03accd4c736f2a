//! Requirements and template labels that contradict each other.

use super::Scope;
use super::groups::{Group, Source};
use crate::diagnostic::ErrorType;
use crate::karpenter::{CAPACITY_TYPE_LABEL, Operator, Selection};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The most values that the entries of one label may have in all for every pair to be compared. If there are more,
/// the message names the entry that leaves no value, but not the one that it contradicts.
const MOST_COMPARED: usize = 10_000;

pub static REQUIREMENT_CONTRADICTION: Rule = rule!("requirement-contradiction", Error, Silent);
pub static REQUIREMENT_CONTRADICTION_CUSTOM: Rule =
    rule!("requirement-contradiction-custom", Warning, Silent);
pub static REQUIREMENT_CONTRADICTION_DRIFT: Rule = rule!("requirement-contradiction-drift", Error, Silent);

/// Returns whether the entries of one label can be satisfied together; reports those that contradict each other.
pub fn check(group: &Group<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let sources = &group.sources;
    let existing = existing(group, scope);
    if sources.len() < 2 || !contradict(sources, existing, scope) {
        return true;
    }
    // More entries never leave more values, so a binary search finds the first one that leaves none.
    let fine = (1..sources.len())
        .collect::<Vec<_>>()
        .partition_point(|count| !contradict(sources.get(..*count).unwrap_or_default(), existing, scope));
    let (before, culprit) = (sources.get(..fine).unwrap_or_default(), sources.get(fine));
    if let Some(culprit) = culprit {
        let values: usize = sources.iter().map(Source::count).sum();
        let partner = before
            .iter()
            .find(|source| values <= MOST_COMPARED && contradict(&[**source, *culprit], existing, scope));
        report(group, culprit, before, partner, scope, findings);
    }
    false
}

/// The only values that a label can have, if they are known and every node has one of them.
fn existing(group: &Group<'_>, scope: &Scope<'_>) -> Option<&'static [&'static str]> {
    let entry = group.entries().next()?;
    (entry.key == CAPACITY_TYPE_LABEL).then(|| scope.capacity_types())
}

/// Whether no value is left although a node must carry the label.
fn contradict(sources: &[Source<'_>], existing: Option<&[&str]>, scope: &Scope<'_>) -> bool {
    let existing = existing.map(|values| Selection::new(Operator::In, values));
    let is_demanded = existing.is_some() || sources.iter().any(Source::demands_label);
    let selections = sources.iter().map(|source| source.selection(scope));
    is_demanded && Selection::all(selections.chain(existing)).is_empty()
}

fn report(
    group: &Group<'_>,
    culprit: &Source<'_>,
    before: &[Source<'_>],
    partner: Option<&Source<'_>>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) {
    // The mistake is shown at a requirement if there is one: a label is only the other half of it.
    let (at, other) = match (culprit, partner.or(before.first())) {
        (Source::Label { .. }, Some(other @ Source::Entry(_))) => (other, culprit),
        (_, Some(other)) => (culprit, other),
        (_, None) => (culprit, culprit),
    };
    let (rule, effect) = consequence(group, scope);
    let place = other.path();
    let reason = if partner.is_some() {
        format!("contradicts {other} at {place}, {effect}")
    } else {
        format!(
            "leaves no value together with the other {} entries, the first at {place}, {effect}",
            before.len()
        )
    };
    findings
        .report(rule, at.path(), ErrorType::showing(at.to_string()), reason)
        .related(place)
        .suggest("remove one, or allow a common value");
}

/// The rule that the contradiction breaks, and what comes of it.
fn consequence(group: &Group<'_>, scope: &Scope<'_>) -> (&'static Rule, &'static str) {
    let sources = &group.sources;
    if !group.is_custom() {
        return (&REQUIREMENT_CONTRADICTION, "so the pool never launches a node");
    }
    if sources
        .iter()
        .any(|source| matches!(source, Source::Label { .. }))
    {
        return (
            &REQUIREMENT_CONTRADICTION_DRIFT,
            "so every node gets the label from the template, counts as drifted at once, and is replaced again and again",
        );
    }
    // Nothing is left, but to Karpenter the bounds still are open: it picks a number between them.
    if group.selection(scope).is_open() {
        return (
            &REQUIREMENT_CONTRADICTION_DRIFT,
            "so every node gets a number that is excluded, counts as drifted at once, and is replaced again and again",
        );
    }
    (
        &REQUIREMENT_CONTRADICTION_CUSTOM,
        "so nodes are launched without this label",
    )
}
