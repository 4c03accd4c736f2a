//! NodePools with the same name.

use std::collections::HashMap;

use super::AcrossFinding;
use crate::diagnostic::FieldPath;
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;

pub static NODEPOOL_REPEATED: Rule = rule!("nodepool-repeated", Error, Silent).across();

/// Reports every pool that has the name of an earlier one. Returns the last pool of each name, and those without a
/// name.
pub(crate) fn check(pools: &[NodePool<'_>], findings: &mut Vec<AcrossFinding>) -> Vec<usize> {
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut is_overwritten = vec![false; pools.len()];
    for (index, pool) in pools.iter().enumerate() {
        let Some(name) = pool.name.present() else { continue };
        let Some(earlier) = last.insert(name, index) else {
            continue;
        };
        if let Some(is_overwritten) = is_overwritten.get_mut(earlier) {
            *is_overwritten = true;
        }
        let path = FieldPath::of(&["metadata", "name"]);
        findings
            .push_mut(AcrossFinding {
                pool: index,
                diagnostic: NODEPOOL_REPEATED.finding(path, name, "another NodePool already has this name"),
                others: vec![earlier],
            })
            .diagnostic
            .consequence("whichever is applied last overwrites the other")
            .suggest("rename one of them, or remove it");
    }
    let indexes = is_overwritten.iter().enumerate();
    indexes
        .filter(|(_, is_overwritten)| !**is_overwritten)
        .map(|(index, _)| index)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::across::testing::found;

    #[test]
    fn each_further_pool_of_a_name_is_reported_with_the_one_before_it() {
        let pools =
            ["a", "b", "a", "a"].map(|name| json!({"metadata": {"name": name}, "spec": {"replicas": 1}}));
        assert_eq!(
            found(&pools, "nodepool-repeated"),
            [
                (2, "metadata.name: Invalid value: \"a\": another NodePool already has this name; whichever is applied last overwrites the other; rename one of them, or remove it [nodepool-repeated]".to_owned(), vec![0]),
                (3, "metadata.name: Invalid value: \"a\": another NodePool already has this name; whichever is applied last overwrites the other; rename one of them, or remove it [nodepool-repeated]".to_owned(), vec![2]),
            ]
        );
    }

    #[test]
    fn pools_with_generated_names_are_not_the_same() {
        let pools = [
            json!({"metadata": {"generateName": "a-"}}),
            json!({"metadata": {"generateName": "a-"}}),
        ];
        assert_eq!(found(&pools, "nodepool-repeated"), []);
    }
}
