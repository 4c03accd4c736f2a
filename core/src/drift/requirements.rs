//! Whether the labels of a node still match the requirements of its NodePool (`areRequirementsDrifted` of
//! `sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption`).

use std::collections::BTreeMap;

use crate::facts::{Provider, Selection, canonical_label};
use crate::pool::Template;

/// What the requirements of a template demand of a node's labels, worked out once for all of its NodeClaims.
#[derive(Debug)]
pub struct Demanded<'t> {
    /// By the current name of the label; also whether the label may be absent.
    labels: BTreeMap<&'t str, (Selection<'t>, bool)>,
    /// How many of the labels must not be absent.
    required: usize,
    provider: Option<&'static Provider>,
}

impl<'t> Demanded<'t> {
    /// That of this template; `None` if a requirement cannot be read.
    pub fn of(template: &'t Template<'_>, provider: Option<&'static Provider>) -> Option<Self> {
        let labels: BTreeMap<_, _> = demands(template, provider)?
            .into_iter()
            .map(|(key, selection)| {
                let allows_absence = selection.allows_absence();
                (key, (selection, allows_absence))
            })
            .collect();
        let required = labels.values().filter(|(_, allows_absence)| !allows_absence);
        Some(Self {
            required: required.count(),
            labels,
            provider,
        })
    }

    /// Whether a NodeClaim with these labels matches all of it. The template's own labels do not count. Takes time in
    /// proportion to these labels, however many are demanded.
    // karpenter: pkg/controllers/nodeclaim/disruption/drift.go areRequirementsDrifted
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        // `None` if a label has two values under two names.
        let mut carried: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for (key, value) in labels {
            let key = canonical_label(key, self.provider);
            let value = match empty_is(key, self.provider) {
                Some(empty) if value.is_empty() => empty,
                _ => value.as_str(),
            };
            let first = carried.entry(key).or_insert(Some(value));
            *first = first.filter(|first| *first == value);
        }
        let mut found = 0;
        let fits = carried.into_iter().all(|(key, value)| {
            let Some((demanded, allows_absence)) = self.labels.get(key) else {
                return true;
            };
            found += usize::from(!allows_absence);
            value.map_or(*allows_absence, |value| demanded.has(value))
        });
        fits && found == self.required
    }
}

/// What all requirements together demand of each label, by its current name. `None` if a requirement cannot be read.
// karpenter: pkg/scheduling/requirements.go NewNodeSelectorRequirementsWithMinValues
pub(super) fn demands<'t>(
    template: &'t Template<'_>,
    provider: Option<&Provider>,
) -> Option<BTreeMap<&'t str, Selection<'t>>> {
    let mut demands: BTreeMap<&str, Vec<Selection<'_>>> = BTreeMap::new();
    if template.requirements.is_beyond() {
        return None;
    }
    for requirement in template.requirements() {
        let key = canonical_label(requirement.key.present()?, provider);
        let demanded = normalized(requirement.selection()?, key, provider);
        demands.entry(key).or_default().push(demanded);
    }
    let together = demands
        .into_iter()
        .map(|(key, demands)| (key, Selection::all(demands)));
    Some(together.collect())
}

/// What is allowed of a label, which has its current name, by the values as the provider's Karpenter reads them
/// (`NormalizedLabelValues`). Releases before that compare the values as they are written.
fn normalized<'s>(selection: Selection<'s>, key: &str, provider: Option<&Provider>) -> Selection<'s> {
    match empty_is(key, provider) {
        Some(empty) => selection.reading("", empty),
        None => selection,
    }
}

/// What the provider's Karpenter reads in place of an empty value of a label, which has its current name.
fn empty_is(key: &str, provider: Option<&Provider>) -> Option<&'static str> {
    provider.and_then(|provider| Some(provider.label(key)?.empty_is?.value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::ApiVersion;
    use crate::json::Json;
    use crate::pool::NodePool;

    #[test]
    fn azure_reads_an_empty_zone_as_zero_by_each_of_its_names_and_others_do_not() {
        let matches = |group: &str, operator: &str, wanted: &str, carried: &str| {
            let pool = json!({"spec": {"template": {"spec": {"requirements": [
                {"key": "topology.disk.csi.azure.com/zone", "operator": operator, "values": [wanted]},
                {"key": "topology.kubernetes.io/zone", "operator": operator, "values": [wanted]},
            ]}}}});
            let pool = Json::from(&pool);
            let pool = NodePool::view(ApiVersion::V1, &pool);
            let zone = |key: &str| (key.to_owned(), carried.to_owned());
            let labels = ["topology.disk.csi.azure.com/zone", "topology.kubernetes.io/zone"].map(zone);
            let demanded = Demanded::of(&pool.template, Provider::of_group(group));
            demanded.expect("is known").matches(&labels.into())
        };
        for (wanted, carried) in [("", "0"), ("0", ""), ("", ""), ("0", "0")] {
            assert!(matches("karpenter.azure.com", "In", wanted, carried));
            assert!(!matches("karpenter.azure.com", "NotIn", wanted, carried));
            assert_eq!(
                matches("karpenter.k8s.aws", "In", wanted, carried),
                wanted == carried
            );
        }
        assert!(!matches("karpenter.azure.com", "In", "0", "eastus-1"));
    }
}
