//! What `poolgate reconcile` does to a real cluster in which nobody else touches nodes.

mod deaths;
mod emergency;
mod leaders;
mod observe;
mod over;
mod over_limit;
mod rights;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

/// Within what time the reconciler must have answered a change.
const REACTION: Duration = Duration::from_secs(5);

/// For what is bound by more than the reconciler.
const LONG: Duration = Duration::from_mins(1);

/// A cluster with one reconciler, for tests that keep to pools of their own.
struct Shared {
    plane: ControlPlane,
    reconciler: Reconciler,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let plane = ControlPlane::start();
    drop(Fleet::in_cluster(&plane));
    let reconciler = Reconciler::start(plane.kubeconfig(), &["--settle=1s"]);
    wait_for("the reconciler to lead", LONG, || {
        reconciler.leads().then_some(())
    });
    Shared { plane, reconciler }
});

fn shared() -> (Fleet, &'static Reconciler) {
    (Fleet::of(&SHARED.plane), &SHARED.reconciler)
}

#[test]
fn nodes_of_a_pool_at_its_limit_are_held_and_let_go_when_there_is_room() {
    let (mut fleet, reconciler) = shared();
    fleet.pool("full", 2, &json!({}));
    fleet.busy("full", "full-a");
    fleet.busy("full", "full-b");
    fleet.wait_until_held("full", REACTION, &["full-a", "full-b"]);
    let number = |name: &str| reconciler.metric(&format!("poolgate_nodepools_{name}{{nodepool=\"full\"}}"));
    wait_for("the numbers", REACTION, || {
        (number("held_nodes") == Some(2.0)).then_some(())
    });
    assert_eq!(number("nodes"), Some(2.0));
    assert_eq!(number("limit"), Some(2.0));
    assert_eq!(number("remaining"), Some(0.0));
    assert_eq!(
        reconciler.metric("poolgate_nodepools_allowed_disruptions{nodepool=\"full\",reason=\"Drifted\"}"),
        Some(0.0)
    );
    assert_eq!(
        reconciler.metric("poolgate_nodepools_mode{nodepool=\"full\",mode=\"Hard\"}"),
        Some(1.0)
    );
    let told = wait_for("an event", REACTION, || {
        let mut events = fleet.events("full").into_iter();
        events.find(|(reason, ..)| reason == "DisruptionBlocked")
    });
    assert_eq!(
        told.1,
        "No allowed disruptions for disruption reason Drifted due to node hard limit"
    );
    assert_eq!(told.2, 1);

    // A hand that opens a node closed by poolgate is answered.
    let open = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": null}}});
    fleet.change_node("full-a", &open);
    wait_for("the node to be closed again", REACTION, || {
        let node = fleet.stored_node("full-a");
        (node["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true").then_some(())
    });

    fleet.limit("full", 9);
    fleet.wait_until_held("full", LONG, &[]);
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
    fleet.wait_until_held("emptied", REACTION, &["emptied-a", "emptied-b"]);
    fleet.remove_pod("on-emptied-a");
    fleet.wait_until_held("emptied", REACTION, &["emptied-b"]);
}

#[test]
fn a_lowered_limit_is_answered_within_five_seconds() {
    let (mut fleet, _) = shared();
    fleet.pool("lowered", 9, &json!({}));
    for node in ["lowered-a", "lowered-b", "lowered-c"] {
        fleet.busy("lowered", node);
    }
    std::thread::sleep(Duration::from_secs(2));
    assert!(fleet.held("lowered").is_empty());
    let begun = Instant::now();
    fleet.limit("lowered", 3);
    fleet.wait_until_held("lowered", REACTION, &["lowered-a", "lowered-b", "lowered-c"]);
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
    fleet.wait_until_held("kept", REACTION, &["kept-b"]);
    fleet.limit("kept", 9);
    fleet.wait_until_held("kept", LONG, &[]);
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
    fleet.wait_until_held("reborn", REACTION, &["reborn-a"]);
    fleet.remove_node("reborn-a");
    fleet.node("reborn", "reborn-a");
    // It stands where the old one stood, so it is judged anew and held in its own right.
    fleet.wait_until_held("reborn", REACTION, &["reborn-a"]);
    // What protects it from a write that was meant for the old one: the API server's answers to the UID.
    for (name, answer) in [("reborn-a", "metadata.uid: "), ("reborn-b", "uid mismatch")] {
        let other = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name,
            "uid": "00000000-0000-0000-0000-000000000000",
            "labels": {"poolgate.dev/held": "true"},
        }});
        let args = ["apply", "--server-side", "--field-manager=poolgate", "-f", "-"];
        let refused = SHARED.plane.kubectl(&args, &other.to_string());
        assert!(
            !refused.status.success() && refused.stderr.contains(answer),
            "{refused:?}"
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
        fleet.wait_until_held(pool, REACTION, &[&node]);
        if pool == "static" {
            fleet.client().delete("/apis/karpenter.sh/v1/nodepools/static");
        } else {
            fleet.change_pool(pool, &change);
        }
        fleet.wait_until_held(pool, REACTION, &[]);
    }
    // A node whose claim is gone belongs to nobody.
    fleet.pool("stray", 1, &json!({}));
    fleet.busy("stray", "stray-a");
    fleet.wait_until_held("stray", REACTION, &["stray-a"]);
    fleet.client().delete("/apis/karpenter.sh/v1/nodeclaims/stray-a");
    fleet.wait_until_held("stray", REACTION, &[]);
    wait_for("the numbers of a pool without a limit to go", REACTION, || {
        let gone = reconciler.metric("poolgate_nodepools_limit{nodepool=\"unlimited\"}");
        gone.is_none().then_some(())
    });
}

#[test]
fn marks_that_somebody_else_wrote_over_are_taken_off_all_the_same() {
    let (mut fleet, _) = shared();
    fleet.pool("replaced", 1, &json!({}));
    fleet.busy("replaced", "replaced-a");
    fleet.wait_until_held("replaced", REACTION, &["replaced-a"]);
    // Whoever replaces the whole object owns all of it from then on.
    let mut node = fleet.stored_node("replaced-a");
    node["metadata"]["managedFields"] = json!([{}]);
    node["metadata"]["resourceVersion"] = json!(null);
    fleet.client().replace("/api/v1/nodes/replaced-a", &node);
    fleet.limit("replaced", 9);
    fleet.wait_until_held("replaced", LONG, &[]);
}
