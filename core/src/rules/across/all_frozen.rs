//! Clusters in which the budgets of all pools always block drift.

use super::AcrossFinding;
use crate::budget::never_allows_drift;
use crate::diagnostic::{ErrorType, Severity};
use crate::karpenter::{Disruption, NodePool};
use crate::rules::rule::Rule;

pub static NODEPOOLS_FROZEN: Rule = rule!("nodepools-frozen", Warning, Silent).across();

/// Reports, at the first of several pools, that none of them ever lets a drifted node be replaced. Another rule
/// reports a single pool.
pub(crate) fn check(pools: &[NodePool<'_>], indexes: &[usize], findings: &mut Vec<AcrossFinding>) {
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
        0 => ("before it expires", Severity::Info),
        some if some < all.len() => (
            "before it expires, and the nodes of some pools never do",
            Severity::Warning,
        ),
        _ => (
            "that is running, and none of them ever expires",
            Severity::Warning,
        ),
    };
    let error_type = ErrorType::Note {
        value: "[…]".into()
    };
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

    use crate::rules::across::testing::found;

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
        assert!(message(["720h", "1h"]).contains("reaches a node before it expires; leave"));
        assert!(message(["Never", "720h"]).contains("the nodes of some pools never do"));
        assert!(message(["Never", "Never"]).contains("none of them ever expires"));
    }
}
