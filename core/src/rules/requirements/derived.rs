//! Requirements and template labels on labels that the provider cuts out of the names of instance types: whether they leave
//! one of the types or families that are listed.

use std::borrow::Cow;

use super::groups::Source;
use super::{Entry, Scope};
use crate::diagnostic::ErrorType;
use crate::karpenter::{Cut, Named, Operator, Part, Selection, canonical_label};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The most comparisons of two values, so that a review takes a bounded time; what needs more is not judged.
const MOST_COMPARED: usize = 1_000_000;

/// How many of the listed values a message explains.
const MOST_EXPLAINED: usize = 2;

pub static REQUIREMENT_TYPE_CONTRADICTION: Rule = rule!("requirement-type-contradiction", Warning, Silent);

/// A requirement or label on one part of the name.
type Demand<'a> = (Part, Source<'a>);

pub fn check<'a>(
    entries: &'a [Entry<'a>],
    labels: &[(&'a str, &'a str)],
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) {
    let Some(naming) = scope.naming else {
        return;
    };
    let labels = labels.iter().map(|&(written, value)| Source::Label {
        written,
        key: canonical_label(written, scope.provider),
        value,
    });
    let sources = entries.iter().map(Source::Entry).chain(labels);
    let part = |source: &Source<'_>| match source {
        Source::Entry(entry) => entry.part,
        Source::Label { key, .. } => scope.part(key),
    };
    let demands = sources
        .filter_map(|source| Some((part(&source)?, source)))
        .enumerate();
    let lists = demands
        .clone()
        .filter(|(_, (part, source))| matches!(part, Part::Name | Part::Family) && is_list(source));
    // Types show more than families do.
    let Some((at, (listed, list))) = lists.min_by_key(|(_, (part, _))| *part != Part::Name) else {
        return;
    };
    let rest = demands
        .filter(|(other, _)| *other != at)
        .map(|(_, demand)| demand);
    let (same, others): (Vec<_>, Vec<_>) = rest.partition(|(part, _)| *part == listed);
    let compared: usize = same.iter().chain(&others).map(|(_, source)| source.count()).sum();
    if others.is_empty() || list.count().saturating_mul(compared) > MOST_COMPARED {
        return;
    }
    let named = if listed == Part::Name {
        Named::Type
    } else {
        Named::Family
    };
    let values = list.values().iter().copied();
    let values = values.filter(|value| same.iter().all(|(_, source)| source.allows(value)));
    // Which release of the provider runs is not known: what may fit in any of them is left.
    let is_left = |value| {
        naming
            .cuts()
            .iter()
            .any(|cut| excluding(named(value), *cut, &others).is_none())
    };
    if values.clone().any(is_left) || contradict(&[&[(listed, list)], &*same, &others].concat(), scope) {
        return;
    }
    let Some(newest) = naming.cuts().first().copied() else {
        return;
    };
    // One demand that excludes all values says more than several that share them.
    let excludes_all = |demand: &&Demand<'_>| {
        let mut values = values.clone();
        values.all(|value| excluding(named(value), newest, std::slice::from_ref(demand)).is_some())
    };
    let only = others.iter().find(excludes_all);
    let others = only.map_or(others.as_slice(), std::slice::from_ref);
    let excluded = values.filter_map(|value| Some((value, excluding(named(value), newest, others)?)));
    report(&list, excluded, findings);
}

/// Whether a requirement or label names the only values that it allows.
fn is_list(source: &Source<'_>) -> bool {
    match source {
        Source::Entry(entry) => entry.operator == Operator::In,
        Source::Label { .. } => true,
    }
}

/// The first demand that a type or family does not fit, with the value that it has instead.
fn excluding<'n, 'd, 'a>(
    named: Named<'n>,
    cut: Cut,
    demands: &'d [Demand<'a>],
) -> Option<(Cow<'n, str>, &'d Source<'a>)> {
    demands.iter().find_map(|(part, source)| {
        let value = cut(named, *part).filter(|value| !source.allows(value))?;
        Some((value, source))
    })
}

/// Whether the demands on one part contradict each other: that is reported already.
fn contradict(demands: &[Demand<'_>], scope: &Scope<'_>) -> bool {
    demands.iter().any(|(part, _)| {
        let on_it = demands.iter().filter(|(other, _)| other == part);
        Selection::all(on_it.map(|(_, source)| source.selection(scope))).is_empty()
    })
}

/// Reports that no listed value fits, with the reasons for the first ones.
fn report<'n, 'd, 'a: 'd>(
    list: &Source<'_>,
    excluded: impl Iterator<Item = (&'n str, (Cow<'n, str>, &'d Source<'a>))>,
    findings: &mut Findings<'_>,
) {
    let mut reasons: Vec<String> = Vec::new();
    let mut more = 0;
    let mut culprits: Vec<&Source<'_>> = Vec::new();
    for (value, (cut, source)) in excluded {
        if reasons.len() < MOST_EXPLAINED {
            let (_, label) = source.key().split_once('/').unwrap_or_default();
            reasons.push(format!("{value} has {label} {cut}"));
        } else {
            more += 1;
        }
        if !culprits.iter().any(|culprit| std::ptr::eq(*culprit, source)) {
            culprits.push(source);
        }
    }
    if more > 0 {
        reasons.push(format!("{more} more do not fit either"));
    }
    let told: Vec<String> = culprits
        .iter()
        .map(|culprit| format!("{culprit} at {}", culprit.path()))
        .collect();
    let reason = format!(
        "{}: this contradicts {}, so the pool never launches a node",
        reasons.join(", "),
        told.join(" and ")
    );
    findings
        .report(
            &REQUIREMENT_TYPE_CONTRADICTION,
            list.path(),
            ErrorType::showing(list.to_string()),
            reason,
        )
        .suggest("remove one, or list values that go together")
        .related = culprits.iter().map(|culprit| culprit.path()).collect();
}

#[cfg(test)]
mod tests;
