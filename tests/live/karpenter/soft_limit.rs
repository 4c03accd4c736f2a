//! A Soft limit: it holds for provisioning, while replacements may go over it for as long as they replace.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};

use super::guarded::{Guarded, PROVISION};
use crate::support::karpenter::look::{claim_names, disrupted, of_pool};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::{Change, counts, merged, name, peak};

const LIMIT: usize = 5;

#[test]
fn a_soft_limit_is_exceeded_by_no_more_than_the_nodes_under_disruption_and_kept_in_the_end() {
    let mut guarded = Guarded::start(&[]);
    let (claims, nodes) = (guarded.cluster.record_claims(), guarded.cluster.record_nodes());
    let spec = json!({"limits": {"nodes": LIMIT.to_string()}, "disruption": {"nodeLimitMode": "Soft"}});
    guarded.cluster.create_pool(&node_pool("general", &spec));
    guarded.cluster.deploy(&one_pod_a_node("web", "general", 30));
    guarded.wait_for("five pods to run", PROVISION, |cluster| {
        (cluster.pods_in_phase("web", "Running") == LIMIT).then_some(())
    });
    guarded.cluster.scale("web", 5);
    guarded.wait_for("five pods to be left", PROVISION, |cluster| {
        (cluster.pods_of("web").len() == LIMIT).then_some(())
    });
    let provisioned = counts(&claims.changes(guarded.cluster.client()), of_pool("general"));
    assert_eq!(peak(&provisioned), LIMIT);

    let old = claim_names(&guarded.cluster, "general");
    guarded.cluster.drift("general", "second");
    let drifted = Instant::now();
    guarded.wait_for("all nodes to be replaced", PROVISION, |cluster| {
        let now = claim_names(cluster, "general");
        (now.len() == LIMIT && now.is_disjoint(&old)).then_some(())
    });
    let (claims, nodes) = (
        claims.changes(guarded.cluster.client()),
        nodes.changes(guarded.cluster.client()),
    );
    let most = peak(&counts(&claims, of_pool("general")));
    println!(
        "five nodes replaced after {:?}, at most {most} at once",
        drifted.elapsed()
    );
    assert!(most > LIMIT, "nothing went over the limit");
    assert_eq!(
        most_undisturbed(&merged(&claims, &nodes)),
        LIMIT,
        "{}",
        guarded.story()
    );
}

/// The most NodeClaims that ever stood at once without being on their way out.
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
