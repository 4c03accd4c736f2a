//! What `poolgate reconcile` does to a real cluster in which nothing else changes nodes.

mod deaths;
mod emergency;
mod fence;
mod freeze;
mod leaders;
mod observe;
mod over;
mod over_limit;
mod protected;
mod rights;
mod schedule;

use std::sync::LazyLock;
use std::time::Instant;

use serde_json::json;

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

/// A cluster with one reconciler, by the account that is shipped, for tests that keep to pools of their own.
struct Shared {
    plane: ControlPlane,
    reconciler: Reconciler,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let plane = ControlPlane::start();
    drop(Fleet::in_cluster(&plane));
    let args = ["--settle=1s", "--max-terminations-per-minute=1000"];
    let reconciler = Reconciler::start(&plane.kubeconfig_by(Account::Reconciler), &args);
    wait_for("the reconciler to lead", || reconciler.leads().then_some(()));
    Shared { plane, reconciler }
});

fn shared() -> (Fleet, &'static Reconciler) {
    (Fleet::of(&SHARED.plane), &SHARED.reconciler)
}

/// Waits until the reconciler shows this number.
#[track_caller]
fn wait_until_shown(reconciler: &Reconciler, metric: &str, number: f64) {
    wait_for(&format!("{metric} to be {number}"), || {
        (reconciler.metric(metric) == Some(number)).then_some(())
    });
}

/// Lets a new pool lose the only node that it has, and waits until it has lost it. Whatever was to happen to other pools
/// when this began has happened then: all have to settle for the same time, and are looked at by turns.
fn lose_a_node_elsewhere(fleet: &mut Fleet, pool: &str) {
    fleet.pool(pool, 0, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.unlaunched(pool, &format!("{pool}-a"), &json!({}));
    wait_for("the node elsewhere to go", || {
        fleet.claims(pool).is_empty().then_some(())
    });
}

#[test]
fn nodes_of_a_pool_at_its_limit_are_held_and_let_go_when_there_is_room() {
    let (mut fleet, reconciler) = shared();
    fleet.pool("full", 2, &json!({}));
    fleet.busy("full", "full-a");
    fleet.busy("full", "full-b");
    fleet.wait_until_held("full", &["full-a", "full-b"]);
    for (number, of) in [
        (2.0, r#"held_nodes{nodepool="full"}"#),
        (2.0, r#"counted_nodes{nodepool="full"}"#),
        (2.0, r#"limit{nodepool="full"}"#),
        (0.0, r#"remaining{nodepool="full"}"#),
        (0.0, r#"allowed_disruptions{nodepool="full",reason="Drifted"}"#),
        (1.0, r#"mode{nodepool="full",mode="Hard"}"#),
    ] {
        wait_until_shown(reconciler, &format!("poolgate_nodepool_{of}"), number);
    }
    let reported = wait_for("an event", || {
        let mut events = fleet.events("full").into_iter();
        events.find(|(reason, ..)| reason == "DisruptionBlocked")
    });
    assert_eq!(
        reported.1,
        "No allowed disruptions for disruption reason Drifted due to node hard limit"
    );
    assert_eq!(reported.2, 1);

    // A hand that opens a node closed by poolgate is answered.
    let open = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": null}}});
    fleet.change_node("full-a", &open);
    wait_for("the node to be closed again", || {
        let node = fleet.stored_node("full-a");
        (node["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true").then_some(())
    });

    fleet.limit("full", 9);
    fleet.wait_until_held("full", &[]);
    let node = fleet.stored_node("full-a");
    assert!(
        node["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"].is_null(),
        "{node}"
    );
}

#[test]
fn an_emptied_node_is_let_go() {
    let (mut fleet, _) = shared();
    fleet.pool("emptied", 2, &json!({}));
    fleet.busy("emptied", "emptied-a");
    fleet.busy("emptied", "emptied-b");
    fleet.wait_until_held("emptied", &["emptied-a", "emptied-b"]);
    fleet.remove_pod("on-emptied-a");
    fleet.wait_until_held("emptied", &["emptied-b"]);
}

#[test]
fn a_lowered_limit_is_answered() {
    let (mut fleet, reconciler) = shared();
    fleet.pool("lowered", 9, &json!({}));
    for node in ["lowered-a", "lowered-b", "lowered-c"] {
        fleet.busy("lowered", node);
    }
    wait_until_shown(
        reconciler,
        r#"poolgate_nodepool_counted_nodes{nodepool="lowered"}"#,
        3.0,
    );
    assert!(fleet.held("lowered").is_empty());
    let begun = Instant::now();
    fleet.limit("lowered", 3);
    fleet.wait_until_held("lowered", &["lowered-a", "lowered-b", "lowered-c"]);
    println!("a lowered limit was answered after {:?}", begun.elapsed());
}

#[test]
fn what_a_user_has_marked_stays_the_users() {
    let (mut fleet, _) = shared();
    let mark = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}});
    fleet.claim("kept", "kept-a", &json!({}));
    fleet.node("kept", "kept-a");
    fleet.change_node("kept-a", &mark);
    fleet.pod("kept-a", "on-kept-a", "3");
    fleet.busy("kept", "kept-b");
    fleet.pool("kept", 2, &json!({}));
    fleet.wait_until_held("kept", &["kept-b"]);
    fleet.limit("kept", 9);
    fleet.wait_until_held("kept", &[]);
    let node = fleet.stored_node("kept-a");
    assert_eq!(
        node["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"],
        "true"
    );
    let writers = node["metadata"]["managedFields"]
        .as_array()
        .expect("writers")
        .iter();
    assert_eq!(
        writers.filter(|writer| writer["manager"] == "poolgate").count(),
        0
    );
}

#[test]
fn a_recreated_node_is_another_one() {
    let (mut fleet, _) = shared();
    fleet.pool("reborn", 1, &json!({}));
    fleet.busy("reborn", "reborn-a");
    fleet.wait_until_held("reborn", &["reborn-a"]);
    fleet.remove_node("reborn-a");
    fleet.node("reborn", "reborn-a");
    // It has the name of the old one, but it is a new node: it is held for its own sake.
    fleet.wait_until_held("reborn", &["reborn-a"]);
    // What protects it from a write that was meant for the old one: the API server's answers to the UID.
    for (name, answer) in [("reborn-a", "metadata.uid: "), ("reborn-b", "uid mismatch")] {
        let other = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name,
            "uid": "00000000-0000-0000-0000-000000000000",
            "labels": {"poolgate.dev/held": "true"},
        }});
        let args = ["apply", "--server-side", "--field-manager=poolgate", "-f", "-"];
        let denied = SHARED.plane.kubectl(&args, &other.to_string());
        assert!(
            !denied.status.success() && denied.stderr.contains(answer),
            "{denied:?}"
        );
    }
}

#[test]
fn marks_go_with_what_they_were_set_for() {
    let (mut fleet, reconciler) = shared();
    for (pool, change) in [
        (
            "softened",
            json!({"metadata": {"annotations": {"poolgate.dev/node-limit-mode": "Soft"}}}),
        ),
        ("unlimited", json!({"spec": {"limits": null}})),
        ("static", json!({"spec": {"limits": {"nodes": 1}}})),
    ] {
        let node = format!("{pool}-a");
        fleet.pool(pool, 1, &json!({}));
        fleet.busy(pool, &node);
        fleet.wait_until_held(pool, &[&node]);
        if pool == "static" {
            fleet.client().delete("/apis/karpenter.sh/v1/nodepools/static");
        } else {
            fleet.change_pool(pool, &change);
        }
        fleet.wait_until_held(pool, &[]);
    }
    // A node whose claim is gone belongs to nobody.
    fleet.pool("stray", 1, &json!({}));
    fleet.busy("stray", "stray-a");
    fleet.wait_until_held("stray", &["stray-a"]);
    fleet.client().delete("/apis/karpenter.sh/v1/nodeclaims/stray-a");
    fleet.wait_until_held("stray", &[]);
    wait_for("the numbers of a pool without a limit to go", || {
        let gone = reconciler.metric("poolgate_nodepool_limit{nodepool=\"unlimited\"}");
        gone.is_none().then_some(())
    });
}

#[test]
fn marks_that_somebody_else_wrote_over_are_taken_off_all_the_same() {
    let (mut fleet, _) = shared();
    fleet.pool("replaced", 1, &json!({}));
    fleet.busy("replaced", "replaced-a");
    fleet.wait_until_held("replaced", &["replaced-a"]);
    // Whoever replaces the whole object owns all of it from then on.
    let mut node = fleet.stored_node("replaced-a");
    node["metadata"]["managedFields"] = json!([{}]);
    node["metadata"]["resourceVersion"] = json!(null);
    fleet.client().replace("/api/v1/nodes/replaced-a", &node);
    fleet.limit("replaced", 9);
    fleet.wait_until_held("replaced", &[]);
}
