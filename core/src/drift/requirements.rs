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
        let key = canonical_label(key, provider);
        let value = normalized(Selection::new(Operator::In, &[value]), key, provider);
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
    match provider.and_then(|provider| provider.label(key)?.empty_is) {
        Some(empty) => selection.reading("", empty.value),
        None => selection,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::Json;
    use crate::karpenter::{ApiVersion, NodePool};

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
            labels_match(&pool.template, &labels.into(), Provider::of_group(group)).expect("is known")
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
