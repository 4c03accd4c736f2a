//! What the gate answers, with one replica.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::objects::pool;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::nodeclaim::node_claim as claim;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::wait::wait_for;

/// Far longer than a watch takes to bring news.
const NEWS: Duration = Duration::from_secs(30);

/// A control plane with a gate in front of its NodeClaims.
struct Gated {
    plane: ControlPlane,
    poolgate: Poolgate,
}

impl Gated {
    fn start(args: &[&str]) -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        let poolgate = Poolgate::serve_watching(plane.kubeconfig(), &[&["--gate"], args].concat());
        plane.register_gate(&poolgate.base_url(), &poolgate.ca(), "Fail");
        Self { plane, poolgate }
    }

    fn apply(&self, object: &Value) {
        self.plane
            .kubectl(&["apply", "-f", "-"], &object.to_string())
            .success();
    }

    fn create(&self, args: &[&str], claim: &Value) -> Outcome {
        self.plane
            .kubectl(&[&["create", "-f", "-"], args].concat(), &claim.to_string())
    }

    fn patch(&self, name: &str, patch: &Value) -> Outcome {
        let patch = patch.to_string();
        self.plane
            .kubectl(&["patch", "nodeclaim", name, "--type=merge", "-p", &patch], "")
    }

    fn claims(&self) -> usize {
        let names = self.plane.kubectl(&["get", "nodeclaims", "-o", "name"], "");
        names.success().lines().count()
    }

    fn ledger(&self, pool: &str) -> Value {
        let name = format!("poolgate-ledger-{pool}");
        let object = self.plane.kubectl_json(&["get", "configmap", &name], "");
        let text = object["data"]["ledger.json"].as_str().expect("a ledger");
        serde_json::from_str(text).expect("JSON")
    }

    #[track_caller]
    fn assert_metric(&self, line: &str) {
        let (_, text) = self.poolgate.probe("/metrics");
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in\n{text}"
        );
    }
}

#[test]
fn a_pool_is_filled_up_to_its_limit_and_not_beyond() {
    let gated = Gated::start(&[]);
    gated.apply(&pool("general", Some(2)));
    gated.create(&[], &claim("a", "general")).success();
    for number in 0..3 {
        let dry = claim(&format!("dry-{number}"), "general");
        gated.create(&["--dry-run=server"], &dry).success();
    }
    gated.create(&[], &claim("b", "general")).success();
    let refused = gated.create(&[], &claim("c", "general"));
    assert!(
        refused.stderr.contains(
            "(Forbidden): error when creating \"STDIN\": admission webhook \"gate.nodeclaims.poolgate.dev\" denied the \
             request: no place is left in NodePool general: spec.limits.nodes is 2 (Hard), and 2 NodeClaims count \
             towards it; raise spec.limits.nodes, or wait until a node has gone"
        ),
        "{refused:?}"
    );
    let dry = gated.create(&["--dry-run=server"], &claim("dry", "general"));
    assert!(dry.stderr.contains("no place is left"), "{dry:?}");
    let object = gated
        .plane
        .kubectl_json(&["get", "configmap", "poolgate-ledger-general"], "");
    assert_eq!(
        object["metadata"]["labels"],
        json!({"poolgate.dev/ledger": "true"})
    );
    assert_eq!(object["metadata"]["ownerReferences"][0]["name"], "general");
    assert_eq!(gated.ledger("general")["refused"]["claim"], "c");

    gated.plane.kubectl(&["delete", "nodeclaim", "a"], "").success();
    gated.create(&[], &claim("c", "general")).success();
    gated.apply(&pool("general", Some(3)));
    gated.create(&[], &claim("d", "general")).success();
    gated.assert_metric(
        "poolgate_gate_decisions_total{decision=\"denied\",mode=\"Hard\",dry_run=\"false\"} 1",
    );
    gated.assert_metric(
        "poolgate_gate_decisions_total{decision=\"allowed\",mode=\"Hard\",dry_run=\"true\"} 3",
    );
}

#[test]
fn terminating_nodes_hold_their_places_under_a_hard_limit_and_not_under_a_soft_one() {
    let gated = Gated::start(&[]);
    let mut soft = pool("soft", Some(1));
    soft["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "Soft"});
    gated.apply(&pool("hard", Some(1)));
    gated.apply(&soft);
    for pool in ["hard", "soft"] {
        let mut held = claim(&format!("{pool}-a"), pool);
        held["metadata"]["finalizers"] = json!(["example.com/drain"]);
        gated.create(&[], &held).success();
        let name = format!("{pool}-a");
        gated
            .plane
            .kubectl(&["delete", "nodeclaim", &name, "--wait=false"], "")
            .success();
    }
    let refused = gated.create(&[], &claim("hard-b", "hard"));
    assert!(
        refused.stderr.contains("(1 of them is terminating)"),
        "{refused:?}"
    );
    gated.create(&[], &claim("soft-b", "soft")).success();
    let refused = gated.create(&[], &claim("soft-c", "soft"));
    assert!(
        refused
            .stderr
            .contains("is 1 (Soft), and 1 NodeClaim counts towards it;"),
        "{refused:?}"
    );

    let finish = json!({"metadata": {"finalizers": null}});
    gated.patch("hard-a", &finish).success();
    gated.create(&[], &claim("hard-b", "hard")).success();
}

#[test]
fn a_claim_keeps_its_pool_and_a_pool_without_a_limit_has_none() {
    let gated = Gated::start(&[]);
    gated.apply(&pool("full", Some(0)));
    gated.apply(&pool("free", None));
    for name in ["a", "b", "c"] {
        gated.create(&[], &claim(name, "free")).success();
    }
    let mut alone = claim("alone", "free");
    alone["metadata"]["labels"] = json!({"team": "blue"});
    gated.create(&[], &alone).success();
    for (name, label) in [("a", json!("full")), ("a", Value::Null), ("alone", json!("full"))] {
        let patch = json!({"metadata": {"labels": {"karpenter.sh/nodepool": label}}});
        let refused = gated.patch(name, &patch);
        assert!(
            refused.stderr.contains("a NodeClaim cannot change its NodePool"),
            "{name} {label}: {refused:?}"
        );
    }
    gated
        .patch("a", &json!({"metadata": {"labels": {"team": "blue"}}}))
        .success();
    gated.create(&[], &claim("stray", "nobody-knows-it")).success();
    let refused = gated.create(&[], &claim("x", "full"));
    assert!(
        refused
            .stderr
            .contains("limits.nodes is 0 (Hard), and 0 NodeClaims count"),
        "{refused:?}"
    );
}

#[test]
fn a_limit_holds_at_once_however_little_the_watches_have_told() {
    let gated = Gated::start(&[]);
    // Each pool is asked for in the moment of its creation: what the watch has not told yet is read.
    for number in 0..5 {
        let name = format!("pool-{number}");
        let mut both = pool(&name, Some(0)).to_string();
        both += "\n---\n";
        both += &claim(&name, &name).to_string();
        let answer = gated.plane.kubectl(&["create", "-f", "-"], &both);
        assert!(answer.stderr.contains("no place is left"), "{answer:?}");
    }
    assert_eq!(gated.claims(), 0);
}

#[test]
fn many_at_once_share_what_is_left() {
    let gated = Gated::start(&[]);
    gated.apply(&pool("general", Some(5)));
    let (created, refused) = thread::scope(|scope| {
        let creators: Vec<_> = (0..12)
            .map(|number| {
                let gated = &gated;
                scope.spawn(move || gated.create(&[], &claim(&format!("c-{number}"), "general")))
            })
            .collect();
        let outcomes: Vec<Outcome> = creators
            .into_iter()
            .map(|creator| creator.join().expect("a creator"))
            .collect();
        let created = outcomes.iter().filter(|outcome| outcome.status.success());
        let refused = outcomes
            .iter()
            .filter(|outcome| outcome.stderr.contains("no place is left in NodePool general"));
        (created.count(), refused.count())
    });
    assert_eq!((created, refused, gated.claims()), (5, 7, 5));
}

#[test]
fn an_observing_gate_counts_what_it_would_refuse() {
    let gated = Gated::start(&["--gate-observe", "--gate-on-error", "deny"]);
    gated.apply(&pool("general", Some(1)));
    gated.create(&[], &claim("a", "general")).success();
    gated.create(&[], &claim("b", "general")).success();
    gated.assert_metric(
        "poolgate_gate_decisions_total{decision=\"would_deny\",mode=\"Hard\",dry_run=\"false\"} 1",
    );
    assert_eq!(gated.claims(), 2);
}

#[test]
fn a_ledger_that_was_broken_by_hand_is_told_of_and_not_written_over() {
    let gated = Gated::start(&["--gate-on-error", "deny"]);
    gated.apply(&pool("general", Some(5)));
    gated.create(&[], &claim("a", "general")).success();
    let broken = json!({"data": {"ledger.json": "{\"version\": 1}"}}).to_string();
    let patch = |patch: &str| {
        let args = [
            "patch",
            "configmap",
            "poolgate-ledger-general",
            "--type=merge",
            "-p",
            patch,
        ];
        gated.plane.kubectl(&args, "").success();
    };
    patch(&broken);
    let refused = gated.create(&[], &claim("b", "general"));
    assert!(
        refused.stderr.contains(
            "poolgate cannot say whether NodePool general has a place left: ConfigMap default/poolgate-ledger-general: \
             data[\"ledger.json\"]: the ledger has no `tickets`"
        ),
        "{refused:?}"
    );
    let kept = gated
        .plane
        .kubectl_json(&["get", "configmap", "poolgate-ledger-general"], "");
    assert_eq!(kept["data"]["ledger.json"], "{\"version\": 1}");
    wait_for("the unreadable ledger to be counted", NEWS, || {
        let (_, text) = gated.poolgate.probe("/metrics");
        text.contains("poolgate_gate_ledger_unreadable_total 1\n")
            .then_some(())
    });
    gated
        .plane
        .kubectl(&["delete", "configmap", "poolgate-ledger-general"], "")
        .success();
    gated.create(&[], &claim("b", "general")).success();
}

#[test]
fn a_static_pool_is_scaled_and_gated_by_the_same_limit() {
    let gated = Gated::start(&[]);
    gated
        .plane
        .register_webhooks(&gated.poolgate.base_url(), &gated.poolgate.ca());
    let mut fixed = pool("fixed", Some(3));
    fixed["spec"]["replicas"] = json!(1);
    gated.apply(&fixed);
    wait_for("the pool to be known", NEWS, || {
        let (_, text) = gated.poolgate.probe("/metrics");
        text.contains("poolgate_static_pools 1\n").then_some(())
    });
    let scaled = gated
        .plane
        .kubectl(&["scale", "nodepool", "fixed", "--replicas=4"], "");
    assert!(scaled.stderr.contains("limits.nodes is 3"), "{scaled:?}");
    for name in ["a", "b", "c"] {
        gated.create(&[], &claim(name, "fixed")).success();
    }
    let refused = gated.create(&[], &claim("d", "fixed"));
    assert!(refused.stderr.contains("no place is left"), "{refused:?}");
}
