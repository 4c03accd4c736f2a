//! Mistakes that show only when all NodePools and node classes of a cluster are checked together. A webhook sees one
//! object, so a review does not apply these rules.

pub(crate) mod node_classes;
pub(crate) mod overlap;
pub(crate) mod reservations;
#[cfg(test)]
mod testing;

use std::collections::HashMap;

use jiff::Timestamp;

use super::findings::Severities;
use crate::budget::never_allows_drift;
use crate::diagnostic::{Diagnostic, ErrorType, FieldPath, Severity};
use crate::facts::LabelSets;
use crate::json::Json;
use crate::policy::Policy;
use crate::pool::{Disruption, NodePool};
use crate::rules::rule::Rule;

pub use node_classes::{ClassSource, NodeClasses};

pub(crate) static NODEPOOL_REPEATED: Rule = rule!("nodepool-repeated", Error, Silent).across();
pub(crate) static NODEPOOLS_FROZEN: Rule = rule!("nodepools-frozen", Warning, Silent).across();

/// The objects of one cluster.
#[derive(Debug, Clone, Copy)]
pub struct Together<'a> {
    /// Its NodePools, in the order in which they would be applied.
    pub pools: &'a [NodePool<'a>],
    /// The labels that the policy of each of these pools knows.
    pub labels: &'a [&'a LabelSets],
    /// The node classes of the cluster, as far as they are known.
    pub classes: &'a NodeClasses,
    /// Whether it is certain that there are no other NodePools.
    pub is_complete: bool,
}

/// A finding on one NodePool that depends on others.
#[derive(Debug)]
pub struct AcrossFinding {
    /// The index of the NodePool among those given.
    pub pool: usize,
    /// The mistake, and the field of that NodePool.
    pub diagnostic: Diagnostic,
    /// The indexes of the others.
    pub others: Vec<usize>,
}

/// Applies all rules of this directory.
pub fn check(together: Together<'_>) -> Vec<AcrossFinding> {
    let mut findings = Vec::new();
    let last = check_names(together.pools, &mut findings);
    node_classes::check(together, &mut findings);
    // A pool that is overwritten or being deleted takes no pods, and its budgets do not matter.
    let staying: Vec<usize> = last
        .into_iter()
        .filter(|index| stays(together.pools, *index))
        .collect();
    overlap::check(together, &staying, &mut findings);
    reservations::check(together, &staying, &mut findings);
    if together.is_complete {
        check_frozen(together.pools, &staying, &mut findings);
    }
    findings
}

/// A finding of a rule with the severity that a policy gives it in `object` at this time; `None` if the policy switches the rule off.
pub fn apply_policy(
    diagnostic: Diagnostic,
    object: &Json<'_>,
    policy: &Policy,
    at: Timestamp,
) -> Option<Diagnostic> {
    Severities::new(object, None, policy, at).apply_policy(diagnostic)
}

fn stays(pools: &[NodePool<'_>], index: usize) -> bool {
    let deletion = FieldPath::of(&["metadata", "deletionTimestamp"]);
    pools
        .get(index)
        .is_some_and(|pool| deletion.find(pool.object).is_none())
}

/// Reports every pool that has the name of an earlier one. Returns the last pool of each name, and those without a
/// name.
fn check_names(pools: &[NodePool<'_>], findings: &mut Vec<AcrossFinding>) -> Vec<usize> {
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
            .consequence("the one that is applied last overwrites the other")
            .suggest("rename or remove one of them");
    }
    let indexes = is_overwritten.iter().enumerate();
    indexes
        .filter(|(_, is_overwritten)| !**is_overwritten)
        .map(|(index, _)| index)
        .collect()
}

/// Reports, at the first of several pools, that none of them ever lets a drifted node be replaced. Another rule
/// reports a single pool.
fn check_frozen(pools: &[NodePool<'_>], indexes: &[usize], findings: &mut Vec<AcrossFinding>) {
    let [first, others @ ..] = indexes else { return };
    if others.is_empty() {
        return;
    }
    let all: Vec<&NodePool<'_>> = indexes.iter().filter_map(|index| pools.get(*index)).collect();
    if !all.iter().all(|pool| never_allows_drift(pool)) {
        return;
    }
    let never_expire = |pool: &&NodePool<'_>| pool.expire_after.present() == Some("Never");
    let (until, severity) = match all.iter().filter(|pool| never_expire(pool)).count() {
        0 => ("before it expires", Severity::Note),
        some if some < all.len() => (
            "before it expires, and nodes of some pools never expire",
            Severity::Warning,
        ),
        _ => ("that is running, and no node ever expires", Severity::Warning),
    };
    let error_type = ErrorType::Note { value: None };
    let title = format!(
        "the budgets of all {} NodePools always block the replacement of drifted nodes",
        all.len()
    );
    findings
        .push_mut(AcrossFinding {
            pool: *first,
            diagnostic: NODEPOOLS_FROZEN.finding(Disruption::path("budgets"), error_type, title),
            others: others.to_vec(),
        })
        .diagnostic
        .consequence(format!("no new image or security fix reaches a node {until}"))
        .severity(severity)
        .suggest("leave some hours in which a pool may replace drifted nodes");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::testing::found;

    #[test]
    fn each_further_pool_of_a_name_is_reported_with_the_one_before_it() {
        let pools =
            ["a", "b", "a", "a"].map(|name| json!({"metadata": {"name": name}, "spec": {"replicas": 1}}));
        assert_eq!(
            found(&pools, "nodepool-repeated"),
            [
                (2, "metadata.name: another NodePool already has this name: \"a\" [nodepool-repeated]. Rename or remove one of them. The one that is applied last overwrites the other.".to_owned(), vec![0]),
                (3, "metadata.name: another NodePool already has this name: \"a\" [nodepool-repeated]. Rename or remove one of them. The one that is applied last overwrites the other.".to_owned(), vec![2]),
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

    fn pool(name: &str, budgets: &Value) -> Value {
        json!({"metadata": {"name": name}, "spec": {"disruption": {"budgets": budgets}}})
    }

    fn frozen(pools: &[Value]) -> Vec<(usize, Vec<usize>)> {
        let found = found(pools, "nodepools-frozen").into_iter();
        found.map(|(pool, _, others)| (pool, others)).collect()
    }

    #[test]
    fn it_is_reported_once_and_only_if_no_pool_is_ever_open() {
        let zero = |name| pool(name, &json!([{"nodes": "0"}]));
        let hours = |schedule| json!([{"nodes": "0", "schedule": schedule, "duration": "12h"}]);
        assert_eq!(frozen(&[zero("a"), zero("b"), zero("c")]), [(0, vec![1, 2])]);
        assert_eq!(
            frozen(&[zero("a"), pool("b", &hours("0 8 * * *")), zero("c")]),
            []
        );
        assert_eq!(frozen(&[zero("a"), pool("b", &json!(null))]), []);
        assert_eq!(
            frozen(&[zero("a"), pool("b", &json!([{"nodes": 0}]))]),
            [],
            "unreadable"
        );
        assert_eq!(frozen(&[]), []);
        // The last pool of a name counts, and a pool that is being deleted does not.
        assert_eq!(
            frozen(&[pool("a", &json!(null)), zero("a"), zero("b")]),
            [(1, vec![2])]
        );
        let mut going = pool("b", &json!(null));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(frozen(&[zero("a"), zero("c"), going]), [(0, vec![1])]);
        assert_eq!(frozen(&[zero("a")]), [], "another rule reports it");
    }

    #[test]
    fn the_message_says_whether_nodes_expire_and_how_many_pools_there_are() {
        let message = |expiry: [&str; 2]| {
            let pools = [("a", expiry[0]), ("b", expiry[1])].map(|(name, expiry)| {
                let mut pool = pool(name, &json!([{"nodes": "0"}]));
                pool["spec"]["template"] = json!({"spec": {"expireAfter": expiry}});
                pool
            });
            found(&pools, "nodepools-frozen").remove(0).1
        };
        assert!(
            message(["720h", "1h"]).contains("all 2 NodePools always block the replacement of drifted nodes")
        );
        assert!(message(["720h", "1h"]).contains("reaches a node before it expires."));
        assert!(message(["Never", "720h"]).contains("nodes of some pools never expire"));
        assert!(message(["Never", "Never"]).contains("no node ever expires"));
    }
}
