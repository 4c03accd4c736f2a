//! Requirements on a label in the wrong domain, or in none: to Karpenter it is a custom label, which selects no machine.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::demand::{At, Demand};
use super::labels::REQUIREMENT_LABEL_UNKNOWN;
use super::scope::Scope;
use super::slips::AWS_ZONE_ID;
use crate::diagnostic::Suggestion;
use crate::facts::{
    ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, LabelKind, Named, Operator, Part, ZONE_LABEL,
    likely_label,
};
use crate::rules::findings::Findings;
use crate::value::label::{is_within, split_key};

/// Labels of Karpenter and Kubernetes whose values are known.
const COMMON: [&str; 4] = [CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ARCH_LABEL, ZONE_LABEL];

/// Warns of lists of values that all belong to a label of the same name in another domain, unless that one is restricted
/// to them, too.
pub fn check(demands: &[Demand<'_>], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let mut left = BTreeMap::new();
    for demand in demands {
        let At::Requirement(_) = demand.at else { continue };
        if demand.operator != Operator::In || !matches!(demand.kind, LabelKind::Custom) {
            continue;
        }
        let Some(meant) = meant(demand.key, scope) else {
            continue;
        };
        let are_of_it = || demand.values.iter().all(|value| is_value(meant, value, scope));
        let has_fixed_value = || {
            let mut others = demands.iter();
            others.any(|other| other.is_label() && other.key == demand.key)
        };
        // A name that is almost right is reported already.
        if likely_label(demand.key, None).is_some()
            || !are_of_it()
            || has_fixed_value()
            || left
                .entry(meant)
                .or_insert_with(|| values_left(meant, demands, scope))
                .iter()
                .any(|values| values.iter().all(|value| demand.allows(value)))
        {
            continue;
        }
        let consequence = if demand.values.len() == 1 {
            "the label selects no machine, and every node gets its value"
        } else {
            "the label selects no machine, and its value is random"
        };
        findings
            .report(
                &REQUIREMENT_LABEL_UNKNOWN,
                demand.at.field("key"),
                demand.key,
                "no instance type has this label",
            )
            .consequence(consequence)
            .suggest(Suggestion::did_you_mean(meant));
    }
}

/// The label of Karpenter or the pool's provider with the name of this custom one, if the custom one is in a plausible domain
/// or in none.
pub fn meant(key: &str, scope: &Scope<'_>) -> Option<&'static str> {
    let provider = scope.labels.provider?;
    let name = likely_name(key)?;
    let mut labels = COMMON
        .into_iter()
        .chain(provider.labels.iter().map(|label| label.key));
    labels.find(|label| label.split_once('/').is_some_and(|(_, known)| known == name))
}

/// The name of a label in such a domain. Runs for every custom label, nearly all of which have the user's own domain.
fn likely_name(key: &str) -> Option<&str> {
    let Some((domain, name)) = split_key(key) else {
        return Some(key);
    };
    let is_of_kubernetes = || {
        ["kubernetes.io", "k8s.io"]
            .iter()
            .any(|parent| is_within(domain, parent))
    };
    (domain.starts_with("karpenter") || domain.ends_with("s.io") && is_of_kubernetes()).then_some(name)
}

/// Whether machines of the provider certainly have this value of one of its labels.
fn is_value(label: &str, value: &str, scope: &Scope<'_>) -> bool {
    let Some(provider) = scope.labels.provider else {
        return false;
    };
    match label {
        CAPACITY_TYPE_LABEL => return scope.capacity_types().contains(&value),
        ARCH_LABEL => return ["amd64", "arm64"].contains(&value),
        ZONE_LABEL => return provider.zones.is_some_and(|form| form.region_of(value).is_some()),
        AWS_ZONE_ID => return provider.zones.is_some_and(|form| form.is_zone_id(value)),
        _ => {}
    }
    let Some(naming) = scope.naming.filter(|_| provider.instance_types.is_some()) else {
        return false;
    };
    match naming.part(label, provider) {
        Some(Part::Generation) => matches!(value.as_bytes(), [b'1'..=b'9']),
        Some(part) => naming
            .known(part, provider)
            .is_some_and(|known| known.contains(value)),
        None => false,
    }
}

/// The values of a label of machines that each list of the demands leaves, if it shows them. Once for a label, because many
/// requirements may mean the same one.
fn values_left<'d>(label: &str, demands: &'d [Demand<'_>], scope: &Scope<'_>) -> Vec<BTreeSet<Cow<'d, str>>> {
    let part = scope
        .naming
        .zip(scope.labels.provider)
        .and_then(|(naming, provider)| naming.part(label, provider));
    let newest = scope.naming.and_then(|naming| naming.cuts().first());
    let of = |named: Named<'d>| newest.zip(part).and_then(|(cut, part)| cut(named, part));
    let lists = demands.iter().filter(|demand| demand.operator == Operator::In);
    let left = lists.filter_map(|list| {
        let values = list.values.iter();
        match list.part {
            _ if list.key == label => Some(values.map(|value| Cow::Borrowed(*value)).collect()),
            Some(Part::Name) => values.map(|value| of(Named::Type(value))).collect(),
            Some(Part::Family) => values.map(|value| of(Named::Family(value))).collect(),
            _ => None,
        }
    });
    left.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{requirements_of, warnings};

    #[test]
    fn lists_of_any_length_are_judged() {
        let is_reported = |count: usize, restricted: usize| {
            let list = json!([
                {"key": "node.kubernetes.io/capacity-type", "operator": "In", "values": vec!["spot"; count]},
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": vec!["on-demand"; restricted]},
            ]);
            let found = warnings(&requirements_of("karpenter.k8s.aws", &list));
            found
                .iter()
                .any(|line| line.contains("[requirement-label-unknown]"))
        };
        assert!(is_reported(1, 1));
        assert!(is_reported(1_500, 1_500));
    }
}
