//! Values that no node has, because they are written as in other systems or belong to another label.

mod aws;
mod zones;

use super::{Entry, Scope, does_not_exist, so_others};
use crate::diagnostic::{Suggestion, nearest};
use crate::karpenter::{
    ARCH_LABEL, CAPACITY_TYPE_LABEL, LabelKind, LabelValues, OS_LABEL, Operator, Provider, canonical_label,
    integer,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::label::domain_of;

/// Common names of architectures in lower case, with the names in Kubernetes.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("amd64", "amd64"),
    ("x86_64", "amd64"),
    ("x86-64", "amd64"),
    ("x64", "amd64"),
    ("x86", "amd64"),
    ("amd", "amd64"),
    ("intel", "amd64"),
    ("arm64", "arm64"),
    ("aarch64", "arm64"),
    ("arm", "arm64"),
    ("graviton", "arm64"),
];

/// Other names of operating systems, and what the label calls them.
const SYSTEMS: &[(&str, &str)] = &[
    ("linux", "linux"),
    ("ubuntu", "linux"),
    ("bottlerocket", "linux"),
    ("al2023", "linux"),
    ("windows", "windows"),
    ("windows2019", "windows"),
    ("windows2022", "windows"),
];

pub static REQUIREMENT_NO_VALUE: Rule = rule!("requirement-no-value", Error, Silent);
pub static REQUIREMENT_VALUE_SLIP: Rule = rule!("requirement-value-slip", Warning, Silent);

/// A legal text as a value of this label that nodes can have, so that a suggestion is not itself denied. `None` if there is
/// none that was probably meant.
pub fn existing<'t>(key: &str, text: &'t str, capacity_types: &[&'t str]) -> Option<&'t str> {
    match canonical_label(key, None) {
        CAPACITY_TYPE_LABEL => nearest(text, capacity_types.iter().copied()),
        key => Some(other_name(key, text).unwrap_or(text)),
    }
}

/// What the label calls an architecture or a system that has other names elsewhere.
fn other_name(key: &str, value: &str) -> Option<&'static str> {
    let names = match key {
        ARCH_LABEL => ARCHITECTURES,
        OS_LABEL => SYSTEMS,
        _ => return None,
    };
    let mut found = names
        .iter()
        .filter(|(written, name)| written.eq_ignore_ascii_case(value) && *name != value);
    found.next().map(|(_, name)| *name)
}

/// Why no node has a value.
struct Slip {
    reason: &'static str,
    /// The value that was probably meant, if there is just one.
    likely: Option<String>,
    /// Whether it holds for every provider and release, so that a list of such values is an error.
    is_certain: bool,
}

/// Reports all values that no node has in one finding. Returns whether a value is left that a node can have.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    if !matches!(entry.operator, Operator::In | Operator::NotIn) || !entry.kind.is_well_known() {
        return true;
    }
    let values = entry.values.iter().enumerate();
    let slips: Vec<(usize, Slip)> = values
        .filter_map(|(position, value)| Some((position, slip(entry, value, scope)?)))
        .collect();
    let Some((position, first)) = slips.first() else {
        return true;
    };
    let is_dead = entry.operator == Operator::In
        && slips.len() == entry.values.len()
        && slips.iter().all(|(_, slip)| slip.is_certain);
    let rule = if is_dead {
        &REQUIREMENT_NO_VALUE
    } else {
        &REQUIREMENT_VALUE_SLIP
    };
    let mut likely: Vec<&str> = slips
        .iter()
        .filter_map(|(_, slip)| slip.likely.as_deref())
        .collect();
    likely.sort_unstable();
    likely.dedup();
    let others = slips
        .iter()
        .skip(1)
        .filter_map(|(position, _)| entry.values.get(*position));
    let value = entry.values.get(*position).copied().unwrap_or_default();
    let reason = format!("{}{}", first.reason, so_others(others.copied()));
    let suggestion = (!likely.is_empty()).then(|| Suggestion::did_you_mean(likely.join(", ")));
    findings
        .report(rule, entry.value_path(*position), value, reason)
        .suggest_if_known(suggestion);
    !is_dead
}

/// Whether [`check`] reports this value.
pub fn is_slip(entry: &Entry<'_>, value: &str, scope: &Scope<'_>) -> bool {
    slip(entry, value, scope).is_some()
}

/// Why no node has this value.
fn slip(entry: &Entry<'_>, value: &str, scope: &Scope<'_>) -> Option<Slip> {
    let group = scope.group;
    let certain = |reason, likely| Slip {
        reason,
        likely,
        is_certain: true,
    };
    // The check of capacity types knows them all.
    if value.is_empty()
        && entry.key != CAPACITY_TYPE_LABEL
        && does_not_exist::is_on_every_instance_type(entry, group)
        && !may_be_empty(entry.key, group)
    {
        let reason = "every instance type has a value for this label, so an empty one matches nothing";
        return Some(certain(reason, None));
    }
    if let Some(name) = other_name(entry.key, value) {
        let reason = "no node has this value, so it matches nothing";
        return Some(certain(reason, Some(name.to_owned())));
    }
    if entry.kind == LabelKind::WellKnown(LabelValues::Number) && integer(value).is_none() {
        let reason = "the values of this label are whole numbers, so it matches nothing";
        return Some(certain(reason, None));
    }
    if let Some(domain) = entry.key.strip_suffix("/instance-category")
        && value.bytes().any(|byte| byte.is_ascii_digit())
    {
        let reason = "a category consists of letters only, such as c or m, so it matches nothing";
        return Some(certain(
            reason,
            Some(format!("the label {domain}/instance-family")),
        ));
    }
    if entry.kind == LabelKind::WellKnown(LabelValues::Boolean) && !["true", "false"].contains(&value) {
        return Some(Slip {
            reason: "the values of this label are true and false, so it matches nothing",
            likely: truth(value).map(|truth| truth.to_string()),
            is_certain: is_closed(entry.key, scope),
        });
    }
    let on_aws = || {
        let group = group.filter(|group| aws::GROUPS.contains(group))?;
        let (reason, likely) = aws::slip(entry.key, value, group)?;
        Some((reason, Some(likely)))
    };
    let (reason, likely) = zones::slip(entry.key, value, scope).or_else(on_aws)?;
    Some(Slip {
        reason,
        likely,
        is_certain: false,
    })
}

/// What a word for yes or no means.
fn truth(word: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
    if is_one_of(&["true", "yes", "y", "on", "t", "1", "enabled", "supported"]) {
        Some(true)
    } else if is_one_of(&["false", "no", "n", "off", "f", "0", "disabled", "unsupported"]) {
        Some(false)
    } else {
        None
    }
}

/// Whether only the provider itself sets the label: a release that does not know it rejects it.
fn is_closed(key: &str, scope: &Scope<'_>) -> bool {
    scope
        .provider
        .is_some_and(|provider| provider.is_closed && provider.owns(domain_of(key)))
}

/// Whether some instance types of the provider carry the label with an empty value.
fn may_be_empty(key: &str, group: Option<&str>) -> bool {
    let label = group.and_then(Provider::of_group).and_then(|of| of.label(key));
    label.is_some_and(|label| label.may_be_empty)
}
