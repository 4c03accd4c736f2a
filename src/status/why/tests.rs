//! What keeps a node, found from its objects alone.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::look::{all_budgets, by_node};
use super::report::Whys;
use crate::status::explainer::Explainer;
use crate::status::facts::{Facts, Kept, KnownClaim, KnownNode};
use crate::status::reconciler::Reconciler;
use poolgate_core::nodelimit::why::{Cause, Wanted};
use poolgate_core::policy::Policy;

mod draining;
mod hostile;
mod present;

/// A pool `general` with one node `node-a`, whose NodeClaim is `a`.
struct Cluster {
    pool: Value,
    claim: Value,
    node: Value,
    pods: Vec<Value>,
    budgets: Vec<Value>,
    events: Vec<Value>,
    /// Those that poolgate has written about its pool.
    of_pools: Vec<Value>,
    /// Whether a reconciler leads.
    leads: bool,
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object")
}

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().expect("a time")
}

fn condition(kind: &str, reason: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2026-11-23T11:00:00Z"})
}

impl Cluster {
    /// All is well: the node runs a pod, and may go if it is not needed.
    fn new() -> Self {
        Self {
            pool: json!({
                "metadata": {"name": "general", "uid": "u-pool"},
                "spec": {"disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}},
                "status": {"conditions": [condition("Ready", ""), condition("NodeClassReady", "")]},
            }),
            claim: json!({
                "metadata": {"name": "a", "uid": "u-a", "labels": {"karpenter.sh/nodepool": "general"},
                    "creationTimestamp": "2026-11-23T10:00:00Z"},
                "spec": {"expireAfter": "720h"},
                "status": {"nodeName": "node-a", "conditions": [condition("Initialized", "")]},
            }),
            node: json!({
                "metadata": {"name": "node-a",
                    "labels": {"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"}},
                "status": {"conditions": [condition("Ready", "")]},
            }),
            pods: vec![pod("web", &json!({}))],
            budgets: Vec::new(),
            events: Vec::new(),
            of_pools: Vec::new(),
            leads: true,
        }
    }

    /// The same, and the node has drifted.
    fn drifted() -> Self {
        let mut cluster = Self::new();
        let conditions = &mut cluster.claim["status"]["conditions"];
        conditions
            .as_array_mut()
            .expect("a list")
            .push(condition("Drifted", "NodePoolDrifted"));
        cluster
    }

    fn whys(&self) -> Whys {
        let facts = Facts {
            now: now(),
            namespace: "gates".into(),
            webhooks: Ok(Vec::new()),
            deployments: Ok(Vec::new()),
            asked: None,
            asked_of_claims: BTreeMap::new(),
            policy: Ok(None),
            reconciler: Ok(self.leads.then(|| Reconciler {
                holder: "one".into(),
                renewed: None,
                leads: true,
                is_gone: false,
            })),
            pools: Ok(vec![read(self.pool.clone())]),
            claims: Ok(KnownClaim::of(&self.claim).into_iter().collect()),
            nodes: Ok(KnownNode::of(read(self.node.clone())).into_iter().collect()),
            waiting: Ok(Vec::new()),
            ledgers: Ok(Vec::new()),
            events: Ok(self.of_pools.iter().cloned().map(read).collect()),
            definition: Ok(None),
        };
        let kept = Kept {
            pods: Ok(by_node(self.pods.iter().cloned().map(read).collect())),
            budgets: Ok(all_budgets(self.budgets.iter().cloned().map(read).collect())),
            events: Ok(self.events.iter().cloned().map(read).collect()),
        };
        let claims: Vec<_> = facts.claims.iter().flatten().collect();
        let explainer = Explainer::of(&facts, Some(&kept), Some(&Policy::default()));
        Whys::of(&facts, &explainer, &claims)
    }

    /// Why it should go, and the lines about what keeps it.
    fn said(&self) -> (Vec<String>, Vec<String>) {
        let whys = self.whys();
        let why = &whys.nodes[0];
        (
            why.wanted.iter().map(Wanted::line).collect(),
            why.causes.iter().map(Cause::line).collect(),
        )
    }

    /// Fails unless as many causes are found, which begin like this.
    #[track_caller]
    fn expect(&self, causes: &[&str]) {
        let (_, found) = self.said();
        assert_eq!(found.len(), causes.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(causes) {
            assert!(found.starts_with(expected), "{found}");
        }
    }
}

fn pod(name: &str, annotations: &Value) -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": name, "labels": {"app": name}, "annotations": annotations},
        "spec": {"nodeName": "node-a"},
        "status": {"phase": "Running", "startTime": "2026-11-23T11:30:00Z"},
    })
}

fn budget(name: &str, allowed: u32) -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1},
    })
}

const UNBOUNDED: &str = "the NodeClaim has no terminationGracePeriod";

#[test]
fn a_node_that_nothing_keeps_has_no_causes() {
    Cluster::new().expect(&[]);
    Cluster::drifted().expect(&[]);
    let (wanted, _) = Cluster::drifted().said();
    assert_eq!(wanted, ["drifted (NodePoolDrifted) since 2026-11-23T11:00:00Z"]);
}

#[test]
fn a_pod_that_must_not_be_disrupted_is_named_for_as_long_as_that_lasts() {
    let with = |value: &str| Cluster {
        pods: vec![pod("web", &json!({"karpenter.sh/do-not-disrupt": value}))],
        ..Cluster::drifted()
    };
    with("true").expect(&[
        "pod shop/web has the annotation karpenter.sh/do-not-disrupt: \"true\", which applies until the pod ends. If it may be \
         moved: kubectl annotate pod --namespace=shop web karpenter.sh/do-not-disrupt-",
        UNBOUNDED,
    ]);
    with("1h").expect(&[
        "pod shop/web has the annotation karpenter.sh/do-not-disrupt: \"1h\", until 2026-11-23T12:30:00Z",
        UNBOUNDED,
    ]);
    for passed in ["30m", "false", "-1h", "soon"] {
        with(passed).expect(&[]);
    }
    let mut bounded = with("true");
    bounded.claim["spec"]["terminationGracePeriod"] = json!("1h");
    bounded.expect(&[]);
}

#[test]
fn a_budget_of_pods_is_named_if_it_allows_none_of_them_to_be_evicted() {
    let with = |budgets: &[Value]| Cluster {
        budgets: budgets.to_vec(),
        ..Cluster::drifted()
    };
    with(&[budget("web", 1)]).expect(&[]);
    with(&[budget("web", 0)]).expect(&[
        "PodDisruptionBudget shop/web allows 0 evictions (currentHealthy 1, desiredHealthy 1), and covers pod shop/web",
        UNBOUNDED,
    ]);
    with(&[budget("web", 1), budget("also", 1)]).expect(&[
        "PodDisruptionBudgets shop/also and shop/web both select pod shop/web",
        UNBOUNDED,
    ]);
    // The eviction API allows none before the status shows the present spec.
    let mut changed = budget("web", 1);
    changed["metadata"]["generation"] = json!(2);
    changed["status"]["observedGeneration"] = json!(1);
    with(&[changed]).expect(&[
        "the status of PodDisruptionBudget shop/web is not up to date yet, and it covers pod shop/web",
        UNBOUNDED,
    ]);
    // A pod that is not ready may go, if the budget says so.
    let mut lenient = budget("web", 0);
    lenient["spec"]["unhealthyPodEvictionPolicy"] = json!("AlwaysAllow");
    let mut cluster = with(&[lenient]);
    cluster.pods[0]["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    cluster.expect(&[]);
    cluster.pods[0]["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    cluster.expect(&["PodDisruptionBudget shop/web", UNBOUNDED]);
}

#[test]
fn a_budget_that_is_closed_says_until_when() {
    let with = |budgets: Value| {
        let mut cluster = Cluster::drifted();
        cluster.pool["spec"]["disruption"]["budgets"] = budgets;
        cluster
    };
    with(json!([{"nodes": "100%"}, {"nodes": "0"}])).expect(&[
        "spec.disruption.budgets[1] of NodePool general allows no disruption for Drifted at any time. To open it until the manifest is applied again: kubectl patch nodepool general --type=json --patch=",
    ]);
    with(json!([{"nodes": "0", "schedule": "0 9 * * *", "duration": "8h"}])).expect(&[
        "spec.disruption.budgets[0] of NodePool general allows no disruption for Drifted now, until 2026-11-23T17:00:00Z",
    ]);
    with(json!([{"nodes": "0", "reasons": ["Empty"]}])).expect(&[]);
    with(json!([{"nodes": "0", "schedule": "0 0 * * sat-sun", "duration": "1h"}]))
        .expect(&["Karpenter cannot parse the schedule of spec.disruption.budgets[0] of NodePool general"]);
    let mut used = with(json!([{"nodes": "1"}]));
    used.expect(&[]);
    used.node["status"]["conditions"][0]["status"] = json!("False");
    used.node["status"]["conditions"][0]["reason"] = json!("KubeletDown");
    used.expect(&[
        "Karpenter has not tried to repair the node. Karpenter repairs nodes only with the feature gate NodeRepair, which is \
         off by default. To replace it now: kubectl delete nodeclaim a --wait=false",
        "spec.disruption.budgets[0] of NodePool general allows 1 of 1 nodes simultaneously for Drifted, but 1 are on their way out or not ready",
    ]);
    let (wanted, _) = used.said();
    assert_eq!(wanted[0], "unhealthy (Ready is False: KubeletDown)");
}

#[test]
fn annotations_of_the_node_keep_it_and_those_of_poolgate_say_what_it_waits_for() {
    let mut cluster = Cluster::drifted();
    cluster.node["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    cluster.expect(&[
        "the node has the annotation karpenter.sh/do-not-disrupt: \"true\". To let it go: kubectl annotate node node-a \
         karpenter.sh/do-not-disrupt-",
    ]);
    cluster.node["metadata"]["labels"]["poolgate.dev/held"] = json!("true");
    cluster.pool["spec"]["limits"] = json!({"nodes": "1"});
    cluster.expect(&[
        "poolgate holds the node (label poolgate.dev/held), because there is no room for a replacement: limits.nodes of NodePool \
         general is 1 (Hard), 1 NodeClaim. To give the pool room: kubectl patch nodepool general",
    ]);
    // Without a hold, e.g. because no reconciler runs.
    cluster.node["metadata"]["labels"]["poolgate.dev/held"] = Value::Null;
    cluster.node["metadata"]["annotations"] = Value::Null;
    cluster.node["metadata"]["labels"]
        .as_object_mut()
        .expect("labels")
        .remove("poolgate.dev/held");
    cluster.expect(&["there is no room for a replacement, unless the pods of the node fit on other nodes"]);
}

#[test]
fn a_node_that_is_not_repaired_says_which_annotation_forbids_it() {
    let mut cluster = Cluster::new();
    cluster.node["metadata"]["annotations"] =
        json!({"karpenter.sh/do-not-disrupt": "true", "karpenter.sh/do-not-repair": "true"});
    cluster.events = vec![json!({
        "metadata": {}, "involvedObject": {"kind": "Node", "name": "node-a"}, "reason": "DisruptionBlocked",
        "message": "repair is blocked through the \"karpenter.sh/do-not-repair\" annotation",
    })];
    cluster.expect(&["the node has the annotation karpenter.sh/do-not-repair: \"true\""]);
    assert_eq!(cluster.said().0, ["unhealthy"]);
}

#[test]
fn consolidation_waits_as_the_pool_says() {
    let empty = |disruption: Value| {
        let mut cluster = Cluster::new();
        cluster.pods = Vec::new();
        cluster.pool["spec"]["disruption"] = disruption;
        cluster
    };
    let mut fresh = empty(json!({"consolidateAfter": "2h"}));
    fresh.expect(&[
        "its pods changed less than 2h ago (spec.disruption.consolidateAfter of NodePool general), until \
         2026-11-23T13:00:00Z",
    ]);
    fresh.claim["status"]["lastPodEventTime"] = json!("2026-11-23T11:59:00Z");
    fresh.expect(&[
        "its pods changed less than 2h ago (spec.disruption.consolidateAfter of NodePool general), until \
         2026-11-23T13:59:00Z",
    ]);
    empty(json!({"consolidateAfter": "1h"})).expect(&[]);
    empty(json!({"consolidateAfter": "Never"}))
        .expect(&["NodePool general has spec.disruption.consolidateAfter: Never"]);
    let mut used = empty(json!({"consolidateAfter": "1m", "consolidationPolicy": "WhenEmpty"}));
    used.expect(&[]);
    used.pods = vec![pod("web", &json!({}))];
    used.expect(&[
        "NodePool general has spec.disruption.consolidationPolicy: WhenEmpty, and pods run on this node",
    ]);
    assert_eq!(used.said().0, [""; 0]);
}

#[test]
fn a_node_class_that_is_not_ready_keeps_a_node_that_needs_a_replacement() {
    let mut cluster = Cluster::drifted();
    cluster.pool["status"]["conditions"] =
        json!([{"type": "NodeClassReady", "status": "False", "reason": "NodeClassNotFound"}]);
    cluster.expect(&["condition NodeClassReady of NodePool general is False (NodeClassNotFound)"]);
}

#[test]
fn of_a_pool_only_events_that_are_about_the_reason_are_reported_and_each_once() {
    let event = |kind: &str, name: &str, message: &str, at: &str| {
        json!({"metadata": {}, "involvedObject": {"kind": kind, "name": name}, "reason": "DisruptionBlocked",
            "message": message, "lastTimestamp": at})
    };
    let blocked = |reason: &str| {
        format!("No allowed disruptions for disruption reason {reason} due to blocking budget")
    };
    let mut cluster = Cluster::drifted();
    cluster.events = vec![
        event("NodePool", "general", &blocked("Empty"), "2026-11-23T11:50:00Z"),
        event("NodePool", "general", &blocked("Drifted"), "2026-11-23T11:51:00Z"),
        event(
            "Node",
            "node-a",
            "Node is nominated for a pending pod",
            "2026-11-23T11:52:00Z",
        ),
        event(
            "NodeClaim",
            "a",
            "Node is nominated for a pending pod",
            "2026-11-23T11:52:00Z",
        ),
        event("Node", "node-b", "Node is rebooting", "2026-11-23T11:53:00Z"),
    ];
    let whys = cluster.whys();
    let said: Vec<String> = whys.nodes[0].events.iter().map(|said| said.line(now())).collect();
    assert_eq!(
        said,
        [
            "DisruptionBlocked on the Node 8 min ago: Node is nominated for a pending pod".to_owned(),
            format!(
                "DisruptionBlocked on the NodePool 9 min ago: {}",
                blocked("Drifted")
            ),
        ]
    );
}

#[test]
fn an_expired_node_that_is_not_deleted_says_that_karpenter_should_have() {
    let mut cluster = Cluster::drifted();
    cluster.claim["spec"]["expireAfter"] = json!("1h");
    cluster.expect(&["Karpenter deletes expired nodes immediately"]);
    assert_eq!(cluster.said().0[0], "expired since 2026-11-23T11:00:00Z");
}
