//! What the gate answers, with one replica.

use std::thread;

use serde_json::{Value, json};

use super::super::shared::published;
use super::gated::Gated;
use super::objects::pool;
use crate::support::nodeclaim::node_claim as claim;
use crate::support::wait::wait_for;

#[test]
fn a_pool_is_filled_up_to_its_limit_and_not_beyond() {
    let gated = Gated::start("filled-", &[]);
    gated.apply(&pool("filled", Some(2)));
    gated.create(&claim("filled-a", "filled"));
    for number in 0..3 {
        let dry = claim(&format!("filled-dry-{number}"), "filled");
        gated.dry_run(&dry).expect("a free place");
    }
    gated.create(&claim("filled-b", "filled"));
    let third = claim("filled-c", "filled").to_string();
    let denied = gated.plane.kubectl(&["create", "-f", "-"], &third);
    assert!(
        denied.stderr.contains(
            "(Forbidden): error when creating \"STDIN\": admission webhook \"gate.nodeclaims.poolgate.dev\" denied the \
             request: NodePool filled is at its node limit of 2 (Hard): 2 NodeClaims count towards it. Raise the \
             limit, or wait until a node is gone"
        ),
        "{denied:?}"
    );
    let dry = gated
        .dry_run(&claim("filled-dry", "filled"))
        .expect_err("a denial");
    assert!(dry.contains("is at its node limit"), "{dry}");
    let object = gated.stored("filled");
    assert_eq!(
        object["metadata"]["labels"],
        json!({"poolgate.dev/ledger": "true"})
    );
    assert_eq!(object["metadata"]["ownerReferences"][0]["name"], "filled");
    // The denial is answered first and stored afterwards, or with the next one if that takes too long.
    let mut denials = 1;
    wait_for("the denial to be in the ledger", || {
        let is_stored = gated.ledger("filled")["denied"]["claim"] == "filled-c";
        if !is_stored {
            let again = gated.try_create(&claim("filled-c", "filled"));
            again.expect_err("a denial");
            denials += 1;
        }
        is_stored.then_some(())
    });

    gated.delete("filled-a");
    gated.create(&claim("filled-c", "filled"));
    gated.apply(&pool("filled", Some(3)));
    gated.create(&claim("filled-d", "filled"));
    gated.assert_metric(&format!(
        "poolgate_gate_decisions_total{{decision=\"denied\",mode=\"Hard\",dry_run=\"false\"}} {denials}"
    ));
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
        gated.create(&held);
        gated.delete(&format!("{pool}-a"));
    }
    let denied = gated
        .try_create(&claim("held-hard-b", "held-hard"))
        .expect_err("a denial");
    assert!(denied.contains("(1 is terminating)"), "{denied}");
    gated.create(&claim("held-soft-b", "held-soft"));
    let denied = gated
        .try_create(&claim("held-soft-c", "held-soft"))
        .expect_err("a denial");
    assert!(
        denied.contains("node limit of 1 (Soft): 1 NodeClaim counts towards it."),
        "{denied}"
    );

    let finish = json!({"metadata": {"finalizers": null}});
    gated.merge("held-hard-a", &finish).expect("no finalizer");
    gated.create(&claim("held-hard-b", "held-hard"));
}

#[test]
fn a_claim_keeps_its_pool_and_a_pool_without_a_limit_has_none() {
    let gated = Gated::start("kept-", &[]);
    gated.apply(&pool("kept-full", Some(0)));
    gated.apply(&pool("kept-free", None));
    for name in ["kept-a", "kept-b", "kept-c"] {
        gated.create(&claim(name, "kept-free"));
    }
    let mut alone = claim("kept-alone", "kept-free");
    alone["metadata"]["labels"] = json!({"team": "blue"});
    gated.create(&alone);
    let mut going = claim("kept-going", "kept-free");
    going["metadata"]["finalizers"] = json!(["example.com/drain"]);
    gated.create(&going);
    gated.delete("kept-going");
    let moved = |name: &str, label: Value| {
        let patch = json!({"metadata": {"labels": {"karpenter.sh/nodepool": label}}});
        gated.merge(name, &patch).err()
    };
    let mut tries = 0;
    wait_for("the fence to take effect", || {
        tries += 1;
        moved("kept-c", json!(format!("kept-{tries}")))
    });
    for (name, label) in [
        ("kept-a", json!("kept-full")),
        ("kept-a", Value::Null),
        ("kept-a", json!("")),
        ("kept-alone", json!("kept-full")),
        ("kept-alone", json!("")),
        ("kept-going", json!("kept-full")),
        ("kept-going", Value::Null),
    ] {
        let denied = moved(name, label.clone()).expect("a denial");
        assert!(
            denied.contains("ValidatingAdmissionPolicy 'poolgate-claims'")
                && denied.contains("a NodeClaim cannot change its NodePool"),
            "{name} {label}: {denied}"
        );
    }
    for name in ["kept-a", "kept-alone", "kept-going"] {
        for change in [
            json!({"metadata": {"labels": {"team": "red"}}}),
            json!({"metadata": {"annotations": {"team": "red"}}}),
        ] {
            gated.merge(name, &change).expect("its pool is the same");
        }
    }
    let drained = gated.merge("kept-going", &json!({"metadata": {"finalizers": null}}));
    drained.expect("finalizers are never held up");
    let denied = gated
        .try_create(&claim("kept-x", "kept-full"))
        .expect_err("a denial");
    assert!(
        denied.contains("node limit of 0 (Hard): 0 NodeClaims count"),
        "{denied}"
    );
}

#[test]
fn a_strict_gate_takes_nothing_that_it_cannot_read_for_no_limit() {
    let gated = Gated::start("unread-", &[]);
    let mut annotated = pool("unread-words", Some(8));
    annotated["metadata"]["annotations"] = json!({"poolgate.dev/node-limit": "ten"});
    gated.apply(&annotated);
    for (pool, expected) in [
        (
            "unread-words",
            "its annotation poolgate.dev/node-limit is not a number of nodes",
        ),
        ("unread-nobody", "the NodePool does not exist"),
    ] {
        let denied = gated
            .try_create(&claim(&format!("{pool}-a"), pool))
            .expect_err("a denial");
        assert!(denied.contains(expected), "{denied}");
    }
    annotated["metadata"]["annotations"] = json!({"poolgate.dev/node-limit": "1"});
    gated.apply(&annotated);
    gated.create(&claim("unread-words-a", "unread-words"));
}

#[test]
fn a_limit_that_comes_back_finds_a_closed_ledger() {
    let gated = Gated::start("back-", &[]);
    gated.apply(&pool("back", Some(2)));
    gated.create(&claim("back-a", "back"));
    assert_eq!(gated.ledger("back")["closed"], Value::Null);
    gated.apply(&pool("back", None));
    for name in ["back-b", "back-c"] {
        gated.create(&claim(name, "back"));
    }
    let closed = gated.ledger("back");
    assert_eq!(
        (&closed["closed"], &closed["limit"]),
        (&json!(true), &Value::Null)
    );
    gated.delete("back-c");
    gated.delete("back-b");
    gated.apply(&pool("back", Some(2)));
    let denied = gated.try_create(&claim("back-d", "back")).expect_err("a denial");
    assert!(denied.contains("not all admissions are on record"), "{denied}");
}

#[test]
fn a_limit_holds_at_once_however_little_the_watches_have_reported() {
    let gated = Gated::start("early-", &[]);
    // Each pool is asked for at the moment of its creation: what the watch has not reported yet is read.
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
                scope.spawn(move || gated.try_create(&claim(&format!("crowd-{number}"), "crowd")))
            })
            .collect();
        let answers = creators.into_iter().map(thread::ScopedJoinHandle::join);
        let (created, denied): (Vec<_>, Vec<_>) = answers
            .map(|answer| answer.expect("a creator"))
            .partition(Result::is_ok);
        let full = |answer: &&Result<(), String>| {
            answer
                .as_ref()
                .is_err_and(|denied| denied.contains("NodePool crowd is at its node limit"))
        };
        (created.len(), denied.iter().filter(full).count())
    });
    assert_eq!((created, denied, gated.claims("crowd")), (5, 7, 5));
}

#[test]
fn an_observing_gate_counts_what_it_would_deny() {
    let gated = Gated::start("seen-", &["--observe"]);
    gated.apply(&pool("seen", Some(1)));
    gated.create(&claim("seen-a", "seen"));
    gated.create(&claim("seen-b", "seen"));
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
        gated.create(&claim(&format!("{pool}-a"), pool));
        gated.replace_ledger(pool, ledger);
        let denied = gated
            .try_create(&claim(&format!("{pool}-b"), pool))
            .expect_err("a denial");
        let sentence =
            format!("NodePool {pool} may be at its node limit. Its limit is new or its ledger was lost");
        assert!(denied.contains(&sentence), "{denied}");
        wait_for("a closed ledger to be stored", || {
            // The denial is answered first.
            gated.client.get(&gated.ledger_path(pool))?;
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
        gated.create(&claim(&format!("{pool}-b"), pool));
        assert_eq!(gated.claims(pool), 2);
    }
}

#[test]
fn a_pool_that_says_no_mode_is_hard_also_where_its_ledger_says_soft() {
    let gated = Gated::start("moded-", &[]);
    let mut soft = pool("moded", Some(1));
    soft["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "Soft"});
    gated.apply(&soft);
    let mut going = claim("moded-a", "moded");
    going["metadata"]["finalizers"] = json!(["example.com/drain"]);
    gated.create(&going);
    gated.delete("moded-a");
    let full = |mode: &str| {
        let denied = gated.try_create(&claim("moded-c", "moded"));
        let denied = denied.expect_err("a denial");
        assert!(denied.contains(&format!("node limit of 1 ({mode})")), "{denied}");
    };
    gated.create(&claim("moded-b", "moded"));
    full("Soft");
    gated.delete("moded-b");
    gated.apply(&pool("moded", Some(1)));
    // One is on its way out, and counts.
    full("Hard");
}

#[test]
fn a_reservation_that_came_to_nothing_is_counted_when_it_ends() {
    // In a namespace of its own, so that no other test's gate takes the reservation out.
    published().plane.create_ledger_namespace("spent");
    let gated = Gated::start("spent-", &["--ledger-namespace=spent"]);
    gated.apply(&pool("spent", Some(5)));
    gated.create(&claim("spent-a", "spent"));
    let again = gated
        .try_create(&claim("spent-a", "spent"))
        .expect_err("a conflict");
    assert!(again.contains("already exists"), "{again}");
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
    gated.create(&claim("later-a", "later"));
    gated.replace_ledger("later", Some("{\"version\": 2}"));
    let denied = gated
        .try_create(&claim("later-b", "later"))
        .expect_err("a denial");
    let name = gated.client.ledger_name("later");
    let expected = format!(
        "poolgate cannot tell whether NodePool later is at its node limit: ConfigMap poolgate-ledgers/{name}: \
         data[\"ledger.json\"]: the ledger has version 2"
    );
    assert!(denied.contains(&expected), "{denied}");
    let kept = gated.stored("later");
    assert_eq!(kept["data"]["ledger.json"], "{\"version\": 2}");
}

#[test]
fn a_static_pool_is_scaled_and_gated_by_the_same_limit() {
    let gated = Gated::start("static-", &[]);
    published().ask_about("static-");
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
    assert!(scaled.stderr.contains("limits.nodes, which is 3"), "{scaled:?}");
    for name in ["static-a", "static-b", "static-c"] {
        gated.create(&claim(name, "static-pool"));
    }
    let denied = gated
        .try_create(&claim("static-d", "static-pool"))
        .expect_err("a denial");
    assert!(denied.contains("is at its node limit"), "{denied}");
}
