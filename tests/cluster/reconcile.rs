//! What `poolgate reconcile` does to a real cluster in which nobody else touches nodes.

use std::time::Duration;

use serde_json::json;

use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

/// Within what time the reconciler must have answered any change.
const REACTION: Duration = Duration::from_secs(5);

/// For what is bound by more than the reconciler.
const LONG: Duration = Duration::from_mins(1);

#[track_caller]
fn wait_until_held(fleet: &mut Fleet, deadline: Duration, expected: &[&str]) {
    let mut held = Vec::new();
    let begun = std::time::Instant::now();
    while begun.elapsed() < deadline {
        held = fleet.held();
        if held == expected {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("waited {deadline:?} for {expected:?} to be held: {held:?} are");
}

#[test]
fn nodes_of_a_pool_at_its_limit_are_held_and_let_go_when_there_is_room() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    fleet.pool("general", 2, &json!({}));
    fleet.busy("general", "node-a");
    fleet.busy("general", "node-b");
    let reconciler = Reconciler::start(plane.kubeconfig(), &[]);
    wait_until_held(&mut fleet, LONG, &["node-a", "node-b"]);
    fleet.limit("general", 4);
    wait_until_held(&mut fleet, LONG, &[]);
    drop(reconciler);
}
