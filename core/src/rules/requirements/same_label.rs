//! The demands on one label together, under all its names.

use std::collections::{HashMap, HashSet};

use super::demand::{Demand, Group};
use super::scope::{NEVER_LAUNCHES, Scope};
use super::{min_values, misplaced};
use crate::diagnostic::{ErrorType, Severity, Suggestion};
use crate::facts::{INSTANCE_TYPE_LABEL, KarpenterVersion, Operator, Selection};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_CONTRADICTION: Rule = rule!("requirement-contradiction", Error, Silent);
pub static REQUIREMENT_REDUNDANT: Rule = rule!("requirement-redundant", Warning, Silent);
pub static REQUIREMENT_RANDOM_LABEL: Rule = rule!("requirement-random-label", Warning, Silent);
pub static EKS_AUTO_MODE_SIZE: Rule = rule!("eks-auto-mode-size", Warning, Silent);

/// Checks the demands on each label together; requirements come first.
pub fn check(demands: &[Demand<'_>], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    for group in Group::all(demands) {
        if contradict(&group.demands, scope) {
            report_contradiction(&group, scope, findings);
        } else {
            min_values::check_together(&group, scope, findings);
            check_redundant(&group, findings);
            check_narrowed(&group, findings);
            check_auto_mode(&group, scope, findings);
            check_random_label(&group, scope, findings);
        }
    }
}

/// Whether several demands leave no value although a node must carry the label.
fn contradict(demands: &[&Demand<'_>], scope: &Scope<'_>) -> bool {
    let Some(first) = demands.first().filter(|_| demands.len() > 1) else {
        return false;
    };
    let existing = min_values::existing(first.key, scope);
    let is_demanded = existing.is_some() || demands.iter().any(|demand| demand.operator.demands_label());
    let selections = demands.iter().map(|demand| demand.selection());
    is_demanded && Selection::all(selections.chain(existing)).is_empty()
}

fn report_contradiction(group: &Group<'_, '_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let demands = &group.demands;
    // More demands never leave more values, so a binary search finds the first one that leaves none.
    let fine = (1..demands.len())
        .collect::<Vec<_>>()
        .partition_point(|count| !contradict(demands.get(..*count).unwrap_or_default(), scope));
    let (Some(before), Some(culprit)) = (demands.get(..fine), demands.get(fine)) else {
        return;
    };
    let partner = before.iter().find(|other| contradict(&[other, culprit], scope));
    let other = partner.copied().unwrap_or(group.first);
    let (at, other) = requirement_first(culprit, other);
    let (severity, effect) = effect_of_contradiction(group, scope);
    let (title, consequence) = if partner.is_some() {
        let other_place = other.place();
        (
            format!("the requirement contradicts {other_place}"),
            format!("{other} leaves no value, so {effect}"),
        )
    } else {
        let title = format!(
            "the requirement and {} others on this label leave no value",
            before.len()
        );
        (title, effect.to_owned())
    };
    findings
        .report(
            &REQUIREMENT_CONTRADICTION,
            at.at.path(),
            ErrorType::showing(at.to_string()),
            title,
        )
        .severity(severity)
        .consequence(consequence)
        .related(other.at.path())
        .suggest("remove one, or allow a common value");
}

/// The demand to report a contradiction at, and the other one: at a requirement if there is one, because a label is only the
/// other half of the mistake.
pub fn requirement_first<'d, 'a>(
    one: &'d Demand<'a>,
    other: &'d Demand<'a>,
) -> (&'d Demand<'a>, &'d Demand<'a>) {
    if one.is_label() && !other.is_label() {
        (other, one)
    } else {
        (one, other)
    }
}

/// The effect of a contradiction.
fn effect_of_contradiction(group: &Group<'_, '_>, scope: &Scope<'_>) -> (Severity, &'static str) {
    if !group.first.kind.is_custom() {
        (Severity::Error, NEVER_LAUNCHES)
    } else if group.demands.iter().any(|demand| demand.is_label()) {
        (
            Severity::Error,
            "every node gets the label from the template, drifts immediately and is replaced again and again",
        )
    } else if group.selection().is_open() || loses_upper_bound(group, scope) {
        // Nothing is left, but to Karpenter the bounds still are open: it picks a number between them.
        (
            Severity::Error,
            "every node gets an excluded number, drifts immediately and is replaced again and again",
        )
    } else {
        (Severity::Warning, "new nodes lack this label")
    }
}

/// Warns of parts without effect: values that are repeated or ignored, or an operator that lacks values.
pub fn check_redundant_values(demand: &Demand<'_>, findings: &mut Findings<'_>) {
    let distinct = demand.distinct();
    // If that leaves too few values, the check of `minValues` reports it.
    let is_short = demand.operator == Operator::In && demand.asks_for_more_than(distinct);
    if demand.lists_values() && distinct < demand.values.len() && !is_short {
        let mut seen = HashSet::new();
        let mut values = (0..).zip(&demand.values);
        // Only the first: a list that is pasted twice is one mistake.
        let twice = values.find(|(_, value)| !seen.insert(**value));
        if let Some((position, value)) = twice {
            findings
                .report(
                    &REQUIREMENT_REDUNDANT,
                    demand.at.value(position),
                    *value,
                    "the value is already in the list",
                )
                .suggest("remove it, or write the intended value");
        }
    }
    let operator = demand.operator;
    let path = || demand.at.field("values");
    match operator {
        Operator::Exists | Operator::DoesNotExist if !demand.values.is_empty() => {
            let likely = if operator == Operator::Exists {
                "In"
            } else {
                "NotIn"
            };
            let title = format!("operator {} takes no values", operator.as_str());
            findings
                .report(&REQUIREMENT_REDUNDANT, path(), ErrorType::showing("[…]"), title)
                .consequence("Karpenter drops the values")
                .suggest(format!("write operator {likely}, or remove the values"));
        }
        Operator::NotIn if demand.values.is_empty() => {
            findings
                .report(
                    &REQUIREMENT_REDUNDANT,
                    path(),
                    ErrorType::Required,
                    "operator NotIn has no values",
                )
                .consequence("the requirement excludes nothing and acts as Exists")
                .suggest("list the values to exclude, or write operator Exists");
        }
        _ => {}
    }
}

/// Warns of requirements on one label that say the same.
fn check_redundant(group: &Group<'_, '_>, findings: &mut Findings<'_>) {
    if group.demands.len() < 2 {
        return;
    }
    let mut seen = HashMap::new();
    for demand in group.requirements() {
        let mut values = demand.values.clone();
        values.sort_unstable();
        values.dedup();
        let first: &mut &Demand<'_> = seen.entry((demand.operator, values)).or_insert(demand);
        if first.at != demand.at {
            let earlier = first.at.path();
            findings
                .report(
                    &REQUIREMENT_REDUNDANT,
                    demand.at.path(),
                    ErrorType::showing(demand.to_string()),
                    format!("the requirement repeats {}", first.place()),
                )
                .related(earlier)
                .suggest("remove one of them");
        }
    }
}

/// Notes a list of values that a label of the template narrows to one.
fn check_narrowed(group: &Group<'_, '_>, findings: &mut Findings<'_>) {
    let Some(label) = group.demands.iter().find(|demand| demand.is_label()) else {
        return;
    };
    // If `minValues` requires more values than are left, another rule reports that.
    let is_list = |demand: &&Demand<'_>| {
        demand.operator == Operator::In && demand.min_values.is_none() && demand.distinct() > 1
    };
    let Some(list) = group.requirements().find(is_list) else {
        return;
    };
    let value = list.to_string();
    findings
        .report(
            &REQUIREMENT_REDUNDANT,
            list.at.path(),
            ErrorType::Note { value: Some(value) },
            "a label of the template leaves only one of these values",
        )
        .severity(Severity::Note)
        .consequence(format!("the other values are never used because of {label}"))
        .related(label.at.path())
        .suggest("list only that value, or remove the label from the template");
}

/// Warns of a custom label whose value Karpenter has to choose.
// karpenter: pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go NodeClaimTemplate.resolveCustomLabelsFromRequirements
// karpenter: pkg/scheduling/requirement.go Requirement.Any
fn check_random_label(group: &Group<'_, '_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    if group.first.kind.is_custom() && group.selection().is_open() {
        // In the wrong domain, no list of values selects anything either.
        let meant = misplaced::meant(group.first.key, scope);
        let fix = "set the label in template.metadata.labels, or list values with operator In";
        let finding = findings
            .report(
                &REQUIREMENT_RANDOM_LABEL,
                group.first.at.path(),
                ErrorType::showing(group.first.to_string()),
                "the label gets a random number unless pods select a value",
            )
            .suggest(meant.map_or_else(|| fix.into(), Suggestion::did_you_mean));
        if loses_upper_bound(group, scope) {
            finding.severity(Severity::Error).consequence(
                "before 1.9 the number ignores the upper bound: the node drifts immediately and is replaced again and again",
            );
        }
    }
}

/// Whether the number that Karpenter invents for the label ignores an upper bound.
// karpenter: pkg/scheduling/requirements.go Requirements.NodeSelectorRequirements
fn loses_upper_bound(group: &Group<'_, '_>, scope: &Scope<'_>) -> bool {
    if scope.context.release.has(KarpenterVersion::BOTH_BOUNDS) || !group.first.kind.is_custom() {
        return false;
    }
    let is_listed = |demand: &&Demand<'_>| matches!(demand.operator, Operator::In | Operator::DoesNotExist);
    let bounds = |operator| {
        let those = group
            .demands
            .iter()
            .filter(move |demand| demand.operator == operator);
        those.filter_map(|demand| demand.values.first()?.parse::<i64>().ok())
    };
    let between = bounds(Operator::Gt).max().zip(bounds(Operator::Lt).min());
    !group.demands.iter().any(is_listed) && between.is_some_and(|(lower, upper)| lower < upper)
}

/// Warns of demands that leave only machines which the provider does not launch: on EKS Auto Mode those of one CPU, and the
/// smallest sizes.
fn check_auto_mode(group: &Group<'_, '_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let Some(provider) = scope.labels.provider else {
        return;
    };
    let settings = &provider.settings;
    let Some(fewest) = settings.fewest_cpus else {
        return;
    };
    let key = group.first.key;
    let left = || group.selection();
    let is_small = |size: &str| settings.sizes_not_launched.contains(&size);
    let is_of_small = |name: &str| name.split_once('.').is_some_and(|(_, size)| is_small(size));
    let is_unsupported = match key.strip_prefix(provider.group) {
        Some("/instance-cpu") => left().most().is_some_and(|most| most < fewest),
        Some("/instance-size") => leaves_only(group, &left(), is_small),
        _ if key == INSTANCE_TYPE_LABEL => leaves_only(group, &left(), is_of_small),
        _ => false,
    };
    if is_unsupported {
        let title = format!("{} launches no machine this small", provider.name);
        let help = format!(
            "allow at least {fewest} CPUs, and sizes other than {}",
            settings.sizes_not_launched.join(", ")
        );
        findings
            .report(
                &EKS_AUTO_MODE_SIZE,
                group.first.at.path(),
                ErrorType::showing(group.first.to_string()),
                title,
            )
            .consequence("the pool launches nothing")
            .suggest(help);
    }
}

/// Whether values are listed, and all that are left are of this kind.
fn leaves_only(group: &Group<'_, '_>, left: &Selection<'_>, is_of_kind: impl Fn(&str) -> bool) -> bool {
    let mut listed = group.requirements().flat_map(|demand| demand.values.iter());
    !left.is_open() && listed.all(|value| !left.has(value) || is_of_kind(value))
}
