//! A node that cannot finish draining keeps its place in a Hard pool, while Karpenter no longer counts it.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::guarded::{Guarded, observation};
use super::shared::DENYING;
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::look::claim_names;
use crate::support::karpenter::objects::{
    annotated_pool, disruption_budget, limited_pool, node_pool, one_pod_a_node, pods,
};
use crate::support::recording;

const LIMIT: usize = 3;

/// A full Hard pool of high weight, a pool without limit of low weight, pods that both could serve, two on each
/// node, of which one at a time may be evicted. Then a user deletes a node.
struct Drain {
    guarded: Arc<Guarded>,
    full: String,
    second: String,
    pods: String,
    /// The NodeClaim that is deleted.
    claim: String,
    /// Its Node.
    node: String,
}

impl Drain {
    fn begin(name: &str, limited: fn(&str, &Value, usize) -> Value, grace_period: &Value) -> Self {
        let guarded = DENYING.get();
        let names = ["full", "second", "web"].map(|part| format!("{name}-{part}"));
        let [full, second, web] = &names;
        let first = json!({
            "weight": 10,
            "disruption": {"nodeLimitMode": "Hard"},
            "template": {"spec": {"terminationGracePeriod": grace_period}},
        });
        let cluster = &guarded.cluster;
        cluster.create_pool(&limited(full, &first, LIMIT));
        cluster.create_pool(&node_pool(second, &json!({"weight": 1})));
        cluster.create_in_default("policy/v1", "poddisruptionbudgets", &disruption_budget(web, 1));
        let mut deployment = pods(web, "", 6, "900m");
        deployment["spec"]["template"]["spec"]["nodeSelector"] = Value::Null;
        deployment["spec"]["template"]["spec"]["affinity"] = json!({"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "karpenter.sh/nodepool", "operator": "In", "values": [full, second]},
            ]}]},
        }});
        cluster.deploy(&deployment);
        guarded.wait_until_running(web, 6);
        // A pod can run before Karpenter has registered each Node.
        let (claim, node) = guarded.wait_for("a NodeClaim whose Node runs a pod", |cluster| {
            let pods = cluster.pods_of(web);
            let mut claims = cluster.claims(full).into_iter();
            claims.find_map(|claim| {
                let node = claim["status"]["nodeName"].as_str()?.to_owned();
                let runs_one = pods.iter().any(|pod| pod["spec"]["nodeName"] == node.as_str());
                runs_one.then(|| (recording::name(&claim).to_owned(), node))
            })
        });
        let [full, second, pods] = names;
        Self {
            guarded,
            full,
            second,
            pods,
            claim,
            node,
        }
    }

    fn pending(&self) -> usize {
        self.guarded.cluster.pods_in_phase(&self.pods, "Pending")
    }

    fn is_over(&self, cluster: &KarpenterCluster) -> bool {
        let running = cluster.pods_in_phase(&self.pods, "Running") == 6;
        running && !claim_names(cluster, &self.full).contains(&self.claim)
    }
}

#[test]
fn a_drain_that_is_held_up_keeps_its_place_is_named_and_ends_when_the_limit_becomes_soft() {
    let drain = Drain::begin("stuck", limited_pool, &Value::Null);
    let (guarded, cluster) = (&drain.guarded, &drain.guarded.cluster);
    let claims = cluster.record_claims(&drain.full);
    cluster.delete_claim(&drain.claim);
    guarded.wait_for("a pod to be evicted", |_| (drain.pending() == 1).then_some(()));
    let (begun, before) = (Instant::now(), guarded.denials("Hard"));
    guarded.cluster.create_pool(&node_pool("aside", &json!({})));
    guarded.cluster.deploy(&one_pod_a_node("aside", "aside", 1));
    guarded.wait_until_running("aside", 1);
    println!("a pod for another pool ran after {:?}", begun.elapsed());
    guarded.linger(observation());
    println!(
        "after {:?} {} pods wait, {} creations denied",
        begun.elapsed(),
        drain.pending(),
        guarded.denials("Hard") - before,
    );
    assert!(cluster.claims(&drain.second).is_empty(), "{}", guarded.story());
    assert!(
        claim_names(cluster, &drain.full).contains(&drain.claim),
        "{}",
        guarded.story()
    );
    guarded.wait_for("an event that names the node", |cluster| {
        let reported = cluster.events(&drain.full, "NodeLimitReached");
        reported
            .iter()
            .any(|event| message(event).contains(&drain.node))
            .then_some(())
    });

    cluster.change_pool(&drain.full, &json!({"disruption": {"nodeLimitMode": "Soft"}}));
    let softened = Instant::now();
    guarded.wait_for("the drain to end and all pods to run", |cluster| {
        drain.is_over(cluster).then_some(())
    });
    println!("with Soft the drain ended after {:?}", softened.elapsed());
    assert!(guarded.most(&claims) <= LIMIT + 1, "{}", guarded.story());
}

#[test]
fn a_termination_grace_period_ends_a_drain_that_is_held_up_within_the_limit() {
    let drain = Drain::begin("graced", limited_pool, &json!("30s"));
    let guarded = &drain.guarded;
    let claims = guarded.cluster.record_claims(&drain.full);
    guarded.cluster.delete_claim(&drain.claim);
    let begun = Instant::now();
    guarded.wait_for("the drain to end and all pods to run", |cluster| {
        drain.is_over(cluster).then_some(())
    });
    println!(
        "with a grace period of 30 s all was over after {:?}, {} nodes in the second pool",
        begun.elapsed(),
        guarded.cluster.claims(&drain.second).len()
    );
    assert_eq!(guarded.most(&claims), LIMIT, "{}", guarded.story());
}

#[test]
fn a_drain_in_a_pool_whose_limit_is_left_to_poolgate_goes_on_in_the_next_pool() {
    let drain = Drain::begin("aware", annotated_pool, &Value::Null);
    let guarded = &drain.guarded;
    let claims = guarded.cluster.record_claims(&drain.full);
    guarded.cluster.delete_claim(&drain.claim);
    let begun = Instant::now();
    guarded.wait_for("the drain to end and all pods to run", |cluster| {
        drain.is_over(cluster).then_some(())
    });
    println!(
        "with a limit that is left to poolgate all was over after {:?}",
        begun.elapsed()
    );
    assert!(
        !guarded.cluster.claims(&drain.second).is_empty(),
        "{}",
        guarded.story()
    );
    assert_eq!(guarded.most(&claims), LIMIT, "{}", guarded.story());
}

fn message(event: &Value) -> &str {
    event["message"].as_str().unwrap_or_default()
}
