//! A Soft limit: it holds for provisioning, while replacements may go over it for as long as they replace.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};

use super::shared::DRIFTING;
use crate::support::karpenter::look::{claim_names, disrupted};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::{Change, merged, name};

const LIMIT: usize = 5;

#[test]
fn a_soft_limit_is_exceeded_by_no_more_than_the_nodes_under_disruption_and_kept_in_the_end() {
    let guarded = DRIFTING.get();
    let (claims, nodes) = (
        guarded.cluster.record_claims("soft"),
        guarded.cluster.record_nodes("soft"),
    );
    let spec = json!({"limits": {"nodes": LIMIT.to_string()}, "disruption": {"nodeLimitMode": "Soft"}});
    guarded.cluster.create_pool(&node_pool("soft", &spec));
    guarded.cluster.deploy(&one_pod_a_node("soft", "soft", 12));
    guarded.wait_until_running("soft", LIMIT);
    guarded.cluster.scale("soft", 5);
    guarded.wait_for("five pods to be left", |cluster| {
        (cluster.pods_of("soft").len() == LIMIT).then_some(())
    });
    assert_eq!(guarded.most(&claims), LIMIT, "{}", guarded.story());

    let old = claim_names(&guarded.cluster, "soft");
    guarded.cluster.drift("soft", "second");
    let drifted = Instant::now();
    guarded.wait_for("all nodes to be replaced", |cluster| {
        let now = claim_names(cluster, "soft");
        (now.len() == LIMIT && now.is_disjoint(&old)).then_some(())
    });
    let most = guarded.most(&claims);
    println!(
        "five nodes replaced after {:?}, at most {most} at once",
        drifted.elapsed()
    );
    assert!(most > LIMIT, "nothing went over the limit");
    let client = guarded.cluster.client();
    assert_eq!(
        most_undisturbed(&merged(&claims.changes(client), &nodes.changes(client))),
        LIMIT,
        "{}",
        guarded.story()
    );
}

/// The most NodeClaims that ever was at once without being on their way out.
fn most_undisturbed(changes: &[Change]) -> usize {
    let mut claims = BTreeMap::new();
    let mut closed = BTreeSet::new();
    let mut most = 0;
    for change in changes {
        let object = &change.object;
        match (object["kind"] == "NodeClaim", change.gone) {
            (true, true) => drop(claims.remove(name(object))),
            (true, false) => drop(claims.insert(name(object), object)),
            (false, gone) => {
                if !gone && disrupted(object) {
                    closed.insert(name(object));
                } else {
                    closed.remove(name(object));
                }
            }
        }
        let stays = |claim: &&&Value| {
            let node = claim["status"]["nodeName"].as_str().unwrap_or_default();
            claim["metadata"]["deletionTimestamp"].is_null() && !closed.contains(node)
        };
        most = most.max(claims.values().filter(stays).count());
    }
    most
}
