//! Which nodes are counted, and by what.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::why::Blocked;
use poolgate_core::policy::Policy;
use serde_json::{Value, json};

use super::blocked;
use crate::cluster::objects::BudgetObject;
use crate::reconcile::index::{BOUNDS, Index};

/// A pool `general` with the drifted node `a`, on which one pod runs.
struct Cluster {
    pool: Value,
    claim: Value,
    node: Value,
    pod: Value,
    budget: Value,
}

fn now() -> Timestamp {
    "2026-11-29T12:00:00Z".parse().expect("a time")
}

fn condition(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "lastTransitionTime": "2026-11-29T11:00:00Z"})
}

impl Cluster {
    fn new() -> Self {
        Self {
            pool: json!({
                "metadata": {"name": "general", "uid": "pool"},
                "spec": {"disruption": {"budgets": [{"nodes": "100%"}]}},
            }),
            claim: json!({
                "metadata": {"name": "a", "uid": "a", "labels": {"karpenter.sh/nodepool": "general"}},
                "status": {"providerID": "machine", "conditions": [condition("Initialized"), condition("Drifted")]},
            }),
            node: json!({
                "metadata": {"name": "node-a", "uid": "node", "labels": {"karpenter.sh/nodepool": "general"}, "annotations": {}},
                "spec": {"providerID": "machine"},
                "status": {"conditions": [condition("Ready")]},
            }),
            pod: json!({
                "metadata": {
                    "name": "web-1", "namespace": "shop", "uid": "web-1", "labels": {"app": "web"}, "annotations": {},
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true}],
                },
                "spec": {"nodeName": "node-a"},
                "status": {"phase": "Running"},
            }),
            budget: json!({
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"selector": {"matchLabels": {"app": "web"}}},
                "status": {"disruptionsAllowed": 1},
            }),
        }
    }

    fn counted(self) -> Option<Blocked> {
        let mut index = Index::new(Arc::new(Policy::default()), BOUNDS);
        let read = |value: Value| serde_json::from_value(value).expect("an object");
        index.put_pool(&serde_json::from_value(self.pool).expect("a pool"));
        index.put_pod(serde_json::from_value(self.pod).expect("a pod"));
        index.put_node(serde_json::from_value(self.node).expect("a node"));
        index.put_claim(read(self.claim), Moment::default());
        let budget: BudgetObject = serde_json::from_value(self.budget).expect("a budget");
        let budgets = [budget.budget()].into_iter().collect();
        let found = blocked(&index.snapshot("general"), &budgets, now());
        assert!(found.len() < 2, "{found:?}");
        found.first().copied()
    }
}

#[test]
fn a_drifted_node_is_counted_by_the_first_of_its_causes() {
    type Change = fn(&mut Cluster);
    let full: Change = |cluster| {
        cluster.pool["spec"]["limits"] = json!({"nodes": 1});
        cluster.pool["spec"]["disruption"]["nodeLimitMode"] = json!("Hard");
    };
    let tight: Change = |cluster| cluster.budget["status"]["disruptionsAllowed"] = json!(0);
    let closed: Change = |cluster| cluster.pool["spec"]["disruption"]["budgets"] = json!([{"nodes": "0"}]);
    let kept: Change =
        |cluster| cluster.pod["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    let marked: Change =
        |cluster| cluster.node["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    let held: Change = |cluster| {
        cluster.node["metadata"]["labels"]["poolgate.dev/held"] = json!("true");
        cluster.node["metadata"]["annotations"] =
            json!({"karpenter.sh/do-not-disrupt": "true", "poolgate.dev/held-for": "node-limit"});
    };
    let deleted: Change = |cluster| {
        let since = now() - SignedDuration::from_mins(1);
        cluster.claim["metadata"]["deletionTimestamp"] = json!(since.to_string());
    };
    let long_ago: Change = |cluster| {
        let since = now() - SignedDuration::from_mins(11);
        cluster.claim["metadata"]["deletionTimestamp"] = json!(since.to_string());
    };
    let not_ready: Change = |cluster| {
        let condition = json!({"type": "Ready", "status": "False", "reason": "NodeClassNotReady"});
        cluster.pool["status"] = json!({"conditions": [condition]});
    };
    let unready_goes: Change = |cluster| {
        cluster.budget["spec"]["unhealthyPodEvictionPolicy"] = json!("AlwaysAllow");
        cluster.pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    };
    let bounded: Change = |cluster| cluster.claim["spec"] = json!({"terminationGracePeriod": "1h"});
    let elsewhere: Change = |cluster| cluster.budget["metadata"]["namespace"] = json!("other");
    let matches: Change = |cluster| {
        cluster.claim["status"]["conditions"] =
            json!([condition("Initialized"), condition("Consolidatable")]);
    };
    let cases: [(&[Change], Option<Blocked>); 17] = [
        (&[], None),
        (
            &[full, tight, closed, kept, marked],
            Some(Blocked::NodeDoNotDisrupt),
        ),
        (&[full, tight, closed, kept], Some(Blocked::PodDoNotDisrupt)),
        (&[full, tight, closed], Some(Blocked::PodDisruptionBudget)),
        (&[full, closed], Some(Blocked::BudgetClosed)),
        (&[full], Some(Blocked::PoolFull)),
        (&[full, held], Some(Blocked::PoolFull)),
        (&[full, not_ready], Some(Blocked::PoolFull)),
        (&[not_ready], Some(Blocked::PoolNotReady)),
        (&[tight, unready_goes], None),
        (&[tight, elsewhere], None),
        (&[tight, bounded], None),
        (&[deleted], None),
        (&[deleted, tight], Some(Blocked::Deleting)),
        (&[deleted, kept, marked], Some(Blocked::Deleting)),
        (&[long_ago], Some(Blocked::Deleting)),
        (&[matches, full, tight, kept, marked], None),
    ];
    for (number, (changes, expected)) in cases.into_iter().enumerate() {
        let mut cluster = Cluster::new();
        for change in changes {
            change(&mut cluster);
        }
        assert_eq!(cluster.counted(), expected, "case {number}");
    }
}

#[test]
fn an_empty_node_is_counted_while_consolidate_after_is_not_over() {
    for (after, consolidatable, expected) in [
        ("5m", false, Some(Blocked::ConsolidateAfter)),
        ("5m", true, None),
        ("Never", false, None),
    ] {
        let mut cluster = Cluster::new();
        cluster.pod["metadata"]["ownerReferences"][0]["kind"] = json!("DaemonSet");
        cluster.pool["spec"]["disruption"]["consolidateAfter"] = json!(after);
        let mut conditions = vec![condition("Initialized")];
        conditions.extend(consolidatable.then(|| condition("Consolidatable")));
        cluster.claim["status"]["conditions"] = json!(conditions);
        assert_eq!(cluster.counted(), expected, "{after} {consolidatable}");
    }
}
