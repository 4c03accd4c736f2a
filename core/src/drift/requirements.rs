//! Whether the labels of a node still match the requirements of its NodePool (`areRequirementsDrifted` of
//! `sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption`).

use std::collections::BTreeMap;

use crate::karpenter::{Operator, Provider, Selection, Template, canonical_label};

/// Whether a NodeClaim with these labels matches all requirements of the template. The template's own labels do not count.
/// `None` if a requirement cannot be read.
pub fn labels_match(
    template: &Template<'_>,
    labels: &BTreeMap<String, String>,
    provider: Option<&Provider>,
) -> Option<bool> {
    let mut carried: BTreeMap<&str, Vec<Selection<'_>>> = BTreeMap::new();
    for (key, value) in labels {
        let value = Selection::new(Operator::In, &[value]);
        let key = canonical_label(key, provider);
        carried.entry(key).or_default().push(value);
    }
    let mut demands = demands(template, provider)?.into_iter();
    Some(demands.all(|(key, demanded)| match carried.remove(key) {
        None => demanded.allows_absence(),
        Some(values) => {
            let value = Selection::all(values);
            let is_contradictory = value.is_empty();
            (is_contradictory && demanded.allows_absence()) || !demanded.and(value).is_empty()
        }
    }))
}

/// What all requirements together demand of each label, by its current name. `None` if a requirement cannot be read.
pub(super) fn demands<'t>(
    template: &'t Template<'_>,
    provider: Option<&Provider>,
) -> Option<BTreeMap<&'t str, Selection<'t>>> {
    let mut demands: BTreeMap<&str, Vec<Selection<'_>>> = BTreeMap::new();
    for requirement in template.requirements() {
        let key = canonical_label(requirement.key.present()?, provider);
        demands.entry(key).or_default().push(requirement.selection()?);
    }
    let together = demands
        .into_iter()
        .map(|(key, demands)| (key, Selection::all(demands)));
    Some(together.collect())
}
