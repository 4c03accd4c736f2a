//! The capacity types that a pool may use.

use super::listed;
use crate::diagnostic::{ErrorType, quoted};
use crate::json::{FewMap, Json};
use crate::karpenter::shape::CAPACITY_TYPES;
use crate::karpenter::{CAPACITY_TYPE_LABEL, Field, NodePool, Operator, Requirement, Selection, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static CAPACITY_TYPE: Rule = rule!("policy-capacity-type", Error, Poolgate);

pub fn check(pool: &NodePool<'_>, allowed: &[String], findings: &mut Findings<'_>) {
    if matches!(pool.template.requirements, Field::Mistyped) {
        return;
    }
    let label = match pool.template.labels {
        Field::Mistyped => return,
        labels => labels
            .present()
            .and_then(|labels| labels.get(CAPACITY_TYPE_LABEL)?.as_str()),
    };
    let known = CAPACITY_TYPES.words(findings.context.release);
    let usable = usable(pool, label, known);
    let forbidden: Vec<&str> = usable
        .into_iter()
        .filter(|capacity| !allowed.iter().any(|allowed| allowed == capacity))
        .collect();
    let Some(first) = forbidden.first() else { return };
    let label_path = Template::labels_path().key(CAPACITY_TYPE_LABEL);
    let requirements_path = Template::requirements_path();
    let (path, related, suggestion) = if label.is_some_and(|label| forbidden.contains(&label)) {
        let suggestion = format!("write {}", allowed.join(" or "));
        (label_path, requirements_path, suggestion)
    } else {
        let suggestion = format!("require {CAPACITY_TYPE_LABEL} In [{}]", allowed.join(", "));
        (requirements_path, label_path, suggestion)
    };
    let says = pool.template.requirements().iter().any(is_about_capacity) || label.is_some();
    let error_type = if says {
        ErrorType::from(*first)
    } else {
        ErrorType::Required
    };
    let title = if says {
        format!("this pool may use {}", listed_and(&forbidden))
    } else {
        format!("without a requirement on {CAPACITY_TYPE_LABEL} every type is used")
    };
    findings
        .report(&CAPACITY_TYPE, path, error_type, title)
        .consequence(format!("the policy allows only {}", listed(allowed)))
        .suggest(suggestion)
        .related(related);
}

/// The first few of the words, in quotes: an object can hold any number of them.
fn listed_and(words: &[&str]) -> String {
    const SHOWN: usize = 3;
    let mut shown: Vec<String> = words.iter().take(SHOWN).map(|word| quoted(word)).collect();
    if let Some(more) = words.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        shown.push(format!("{more} more"));
    }
    shown.join(" and ")
}

fn is_about_capacity(requirement: &Requirement<'_>) -> bool {
    requirement.key == Field::Present(CAPACITY_TYPE_LABEL)
}

/// The capacity types, of those that the release knows, that satisfy all requirements and the label, in the order of the object. Empty if they
/// contradict each other: then the pool never gets a node, which this rule does not report.
fn usable<'v>(pool: &'v NodePool<'v>, label: Option<&'v str>, known: &[&'v str]) -> Vec<&'v str> {
    let requirements = pool.template.requirements().iter();
    let own = requirements.filter(|requirement| is_about_capacity(requirement));
    let label_alone = label.map(|label| Selection::new(Operator::In, &[label]));
    let allowed = Selection::all(own.clone().filter_map(Requirement::selection).chain(label_alone));
    let mut list = own.filter(|requirement| requirement.operator == Field::Present("In"));
    let mut usable: Vec<&str> = match (list.next(), label) {
        (Some(list), _) => {
            let values = list.values.present().into_iter().flatten();
            values.filter_map(Json::as_str).collect()
        }
        (None, Some(label)) => vec![label],
        (None, None) => known.to_vec(),
    };
    let mut seen = FewMap::default();
    usable.retain(|value| allowed.has(value) && seen.insert(*value, ()).is_none());
    usable
}
