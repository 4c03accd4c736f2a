//! What the gate answers, with one replica.

use std::thread;

use serde_json::{Value, json};

use super::super::shared::published;
use super::objects::{CLAIMS, POOLS, of_pool, pool};
use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::nodeclaim::node_claim as claim;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::wait::wait_for;

/// A gate of a test's own in front of the NodeClaims whose names begin with a word of its own.
struct Gated {
    plane: &'static ControlPlane,
    poolgate: Poolgate,
}

fn ledger_path(pool: &str) -> String {
    format!("/api/v1/namespaces/poolgate-ledgers/configmaps/poolgate-ledger-{pool}")
}

impl Gated {
    fn start(prefix: &str, args: &[&str]) -> Self {
        let plane = &published().plane;
        let poolgate =
            Poolgate::serve_watching(&plane.kubeconfig_by(Account::Gate), &[&["--gate"], args].concat());
        plane.register_gate_for(prefix, &poolgate.base_url(), &poolgate.ca(), "Fail");
        Self { plane, poolgate }
    }

    fn apply(&self, pool: &Value) {
        let name = pool["metadata"]["name"].as_str().expect("a name");
        Client::of(self.plane).apply(&format!("{POOLS}/{name}"), &pool.to_string());
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

    fn claims(&self, pool: &str) -> usize {
        let path = format!("{CLAIMS}?labelSelector={}", of_pool(pool));
        Client::of(self.plane).list(&path).len()
    }

    /// The ConfigMap with the ledger of a pool.
    fn stored(&self, pool: &str) -> Value {
        let stored = Client::of(self.plane).get(&ledger_path(pool));
        stored.expect("a ledger")
    }

    fn ledger(&self, pool: &str) -> Value {
        let object = self.stored(pool);
        let text = object["data"]["ledger.json"].as_str().expect("a ledger");
        serde_json::from_str(text).expect("JSON")
    }

    /// Writes this over the ledger of a pool, or deletes it.
    fn replace_ledger(&self, pool: &str, text: Option<&str>) {
        let client = Client::of(self.plane);
        match text {
            Some(_) => drop(client.merge(&ledger_path(pool), &json!({"data": {"ledger.json": text}}))),
            None => client.delete(&ledger_path(pool)),
        }
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
    let gated = Gated::start("filled-", &[]);
    gated.apply(&pool("filled", Some(2)));
    gated.create(&[], &claim("filled-a", "filled")).success();
    for number in 0..3 {
        let dry = claim(&format!("filled-dry-{number}"), "filled");
        gated.create(&["--dry-run=server"], &dry).success();
    }
    gated.create(&[], &claim("filled-b", "filled")).success();
    let denied = gated.create(&[], &claim("filled-c", "filled"));
    assert!(
        denied.stderr.contains(
            "(Forbidden): error when creating \"STDIN\": admission webhook \"gate.nodeclaims.poolgate.dev\" denied the \
             request: NodePool filled is at its node limit of 2 (Hard), and 2 NodeClaims count \
             towards it; raise the limit, or wait until a node has gone"
        ),
        "{denied:?}"
    );
    let dry = gated.create(&["--dry-run=server"], &claim("filled-dry", "filled"));
    assert!(dry.stderr.contains("is at its node limit"), "{dry:?}");
    let object = gated.stored("filled");
    assert_eq!(
        object["metadata"]["labels"],
        json!({"poolgate.dev/ledger": "true"})
    );
    assert_eq!(object["metadata"]["ownerReferences"][0]["name"], "filled");
    // The denial is answered first and written down afterwards.
    wait_for("the denial to be in the ledger", || {
        (gated.ledger("filled")["denied"]["claim"] == "filled-c").then_some(())
    });

    gated
        .plane
        .kubectl(&["delete", "nodeclaim", "filled-a"], "")
        .success();
    gated.create(&[], &claim("filled-c", "filled")).success();
    gated.apply(&pool("filled", Some(3)));
    gated.create(&[], &claim("filled-d", "filled")).success();
    gated.assert_metric(
        "poolgate_gate_decisions_total{decision=\"denied\",mode=\"Hard\",dry_run=\"false\"} 1",
    );
    gated.assert_metric(
        "poolgate_gate_decisions_total{decision=\"allowed\",mode=\"Hard\",dry_run=\"true\"} 3",
    );
}

#[test]
fn terminating_nodes_hold_their_places_under_a_hard_limit_and_not_under_a_soft_one() {
    let gated = Gated::start("held-", &[]);
    let mut soft = pool("held-soft", Some(1));
    soft["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "Soft"});
    gated.apply(&pool("held-hard", Some(1)));
    gated.apply(&soft);
    for pool in ["held-hard", "held-soft"] {
        let mut held = claim(&format!("{pool}-a"), pool);
        held["metadata"]["finalizers"] = json!(["example.com/drain"]);
        gated.create(&[], &held).success();
        let name = format!("{pool}-a");
        gated
            .plane
            .kubectl(&["delete", "nodeclaim", &name, "--wait=false"], "")
            .success();
    }
    let denied = gated.create(&[], &claim("held-hard-b", "held-hard"));
    assert!(denied.stderr.contains("(1 of them is terminating)"), "{denied:?}");
    gated.create(&[], &claim("held-soft-b", "held-soft")).success();
    let denied = gated.create(&[], &claim("held-soft-c", "held-soft"));
    assert!(
        denied
            .stderr
            .contains("node limit of 1 (Soft), and 1 NodeClaim counts towards it;"),
        "{denied:?}"
    );

    let finish = json!({"metadata": {"finalizers": null}});
    gated.patch("held-hard-a", &finish).success();
    gated.create(&[], &claim("held-hard-b", "held-hard")).success();
}

#[test]
fn a_claim_keeps_its_pool_and_a_pool_without_a_limit_has_none() {
    let gated = Gated::start("kept-", &[]);
    gated.apply(&pool("kept-full", Some(0)));
    gated.apply(&pool("kept-free", None));
    for name in ["kept-a", "kept-b", "kept-c"] {
        gated.create(&[], &claim(name, "kept-free")).success();
    }
    let mut alone = claim("kept-alone", "kept-free");
    alone["metadata"]["labels"] = json!({"team": "blue"});
    gated.create(&[], &alone).success();
    for (name, label) in [
        ("kept-a", json!("kept-full")),
        ("kept-a", Value::Null),
        ("kept-alone", json!("kept-full")),
    ] {
        let patch = json!({"metadata": {"labels": {"karpenter.sh/nodepool": label}}});
        let denied = gated.patch(name, &patch);
        assert!(
            denied.stderr.contains("a NodeClaim cannot change its NodePool"),
            "{name} {label}: {denied:?}"
        );
    }
    gated
        .patch("kept-a", &json!({"metadata": {"labels": {"team": "blue"}}}))
        .success();
    gated
        .create(&[], &claim("kept-stray", "nobody-knows-it"))
        .success();
    let denied = gated.create(&[], &claim("kept-x", "kept-full"));
    assert!(
        denied
            .stderr
            .contains("node limit of 0 (Hard), and 0 NodeClaims count"),
        "{denied:?}"
    );
}

#[test]
fn a_limit_holds_at_once_however_little_the_watches_have_reported() {
    let gated = Gated::start("early-", &[]);
    // Each pool is asked for in the moment of its creation: what the watch has not told yet is read.
    for number in 0..5 {
        let name = format!("early-{number}");
        let mut both = pool(&name, Some(0)).to_string();
        both += "\n---\n";
        both += &claim(&name, &name).to_string();
        let answer = gated.plane.kubectl(&["create", "-f", "-"], &both);
        assert!(answer.stderr.contains("is at its node limit"), "{answer:?}");
        assert_eq!(gated.claims(&name), 0);
    }
}

#[test]
fn many_at_once_share_what_is_left() {
    let gated = Gated::start("crowd-", &[]);
    gated.apply(&pool("crowd", Some(5)));
    let (created, denied) = thread::scope(|scope| {
        let creators: Vec<_> = (0..12)
            .map(|number| {
                let gated = &gated;
                scope.spawn(move || gated.create(&[], &claim(&format!("crowd-{number}"), "crowd")))
            })
            .collect();
        let outcomes: Vec<Outcome> = creators
            .into_iter()
            .map(|creator| creator.join().expect("a creator"))
            .collect();
        let created = outcomes.iter().filter(|outcome| outcome.status.success());
        let denied = outcomes
            .iter()
            .filter(|outcome| outcome.stderr.contains("NodePool crowd is at its node limit"));
        (created.count(), denied.count())
    });
    assert_eq!((created, denied, gated.claims("crowd")), (5, 7, 5));
}

#[test]
fn an_observing_gate_counts_what_it_would_deny() {
    let gated = Gated::start("seen-", &["--gate-observe"]);
    gated.apply(&pool("seen", Some(1)));
    gated.create(&[], &claim("seen-a", "seen")).success();
    gated.create(&[], &claim("seen-b", "seen")).success();
    gated.assert_metric(
        "poolgate_gate_decisions_total{decision=\"would_deny\",mode=\"Hard\",dry_run=\"false\"} 1",
    );
    assert_eq!(gated.claims("seen"), 2);
}

#[test]
fn a_lost_ledger_denies_until_its_reservations_have_ended_and_admits_again() {
    let gated = Gated::start("lost-", &[]);
    for (pool, ledger) in [("lost-broken", Some("{\"version\": 1}")), ("lost-deleted", None)] {
        gated.apply(&self::pool(pool, Some(5)));
        gated.create(&[], &claim(&format!("{pool}-a"), pool)).success();
        gated.replace_ledger(pool, ledger);
        let denied = gated.create(&[], &claim(&format!("{pool}-b"), pool));
        let sentence = format!("NodePool {pool} may be at its node limit: poolgate has lost the record");
        assert!(denied.stderr.contains(&sentence), "{denied:?}");
        wait_for("a closed ledger to be stored", || {
            (gated.ledger(pool)["closed"] == true).then_some(())
        });
    }
    // The watch sees the ledgers of other tests as well.
    let (_, metrics) = gated.poolgate.probe("/metrics");
    assert!(!metrics.contains("poolgate_gate_ledger_unreadable_total 0\n"));
    for pool in ["lost-broken", "lost-deleted"] {
        wait_for("the ledger to open", || {
            (gated.ledger(pool)["closed"] != true).then_some(())
        });
        gated.create(&[], &claim(&format!("{pool}-b"), pool)).success();
        assert_eq!(gated.claims(pool), 2);
    }
}

#[test]
fn a_gate_alone_starts_without_a_readable_policy_and_keeps_the_mode_of_the_ledger() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("policy.yaml");
    let soft = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndefaults:\n  nodeLimitMode: Soft\n";
    std::fs::write(&file, soft).expect("a policy");
    let path = file.to_str().expect("UTF-8");
    let plane = &published().plane;
    let account = plane.kubeconfig_by(Account::Gate);
    plane.create_ledger_namespace("standin");
    let start = || {
        let args = ["--gate-only", "--namespace=standin", "--policy", path];
        let poolgate = Poolgate::serve_watching(&account, &args);
        plane.register_gate_for("standin-", &poolgate.base_url(), &poolgate.ca(), "Fail");
        Gated { plane, poolgate }
    };
    let gated = start();
    gated.apply(&pool("standin", Some(1)));
    let mut going = claim("standin-a", "standin");
    going["metadata"]["finalizers"] = json!(["example.com/drain"]);
    gated.create(&[], &going).success();
    drop(gated);

    std::fs::write(&file, "kind: [").expect("a broken policy");
    let gated = start();
    plane
        .kubectl(&["delete", "nodeclaim", "standin-a", "--wait=false"], "")
        .success();
    gated.create(&[], &claim("standin-b", "standin")).success();
    let denied = gated.create(&[], &claim("standin-c", "standin"));
    assert!(denied.stderr.contains("node limit of 1 (Soft)"), "{denied:?}");
}

#[test]
fn a_reservation_that_came_to_nothing_is_counted_when_it_ends() {
    // In a namespace of its own, so that no other test's gate takes the reservation out.
    let plane = &published().plane;
    plane.create_ledger_namespace("spent");
    let gated = Gated::start("spent-", &["--namespace=spent"]);
    gated.apply(&pool("spent", Some(5)));
    gated.create(&[], &claim("spent-a", "spent")).success();
    let again = gated.create(&[], &claim("spent-a", "spent"));
    assert!(again.stderr.contains("AlreadyExists"), "{again:?}");
    wait_for("the second reservation to be counted", || {
        let (_, text) = gated.poolgate.probe("/metrics");
        text.contains("poolgate_gate_reservations_expired_total{nodepool=\"spent\"} 1\n")
            .then_some(())
    });
}

#[test]
fn a_ledger_of_a_later_release_is_reported_and_not_written_over() {
    let gated = Gated::start("later-", &[]);
    gated.apply(&pool("later", Some(5)));
    gated.create(&[], &claim("later-a", "later")).success();
    gated.replace_ledger("later", Some("{\"version\": 2}"));
    let denied = gated.create(&[], &claim("later-b", "later"));
    assert!(
        denied.stderr.contains(
            "poolgate cannot say whether NodePool later is at its node limit: ConfigMap poolgate-ledgers/poolgate-ledger-later: \
             data[\"ledger.json\"]: the ledger has version 2"
        ),
        "{denied:?}"
    );
    let kept = gated.stored("later");
    assert_eq!(kept["data"]["ledger.json"], "{\"version\": 2}");
}

#[test]
fn a_static_pool_is_scaled_and_gated_by_the_same_limit() {
    let gated = Gated::start("static-", &[]);
    gated
        .plane
        .register_webhooks_for("static-", &gated.poolgate.base_url(), &gated.poolgate.ca());
    let mut fixed = pool("static-pool", Some(3));
    fixed["spec"]["replicas"] = json!(1);
    gated.apply(&fixed);
    let scaled = wait_for("a scale beyond the limit to be denied", || {
        let args = [
            "scale",
            "nodepool",
            "static-pool",
            "--replicas=4",
            "--dry-run=server",
        ];
        let scaled = gated.plane.kubectl(&args, "");
        (!scaled.status.success()).then_some(scaled)
    });
    assert!(scaled.stderr.contains("limits.nodes is 3"), "{scaled:?}");
    for name in ["static-a", "static-b", "static-c"] {
        gated.create(&[], &claim(name, "static-pool")).success();
    }
    let denied = gated.create(&[], &claim("static-d", "static-pool"));
    assert!(denied.stderr.contains("is at its node limit"), "{denied:?}");
}
