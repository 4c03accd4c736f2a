//! What becomes of nodes above a limit by the flag, and by a policy that cannot be read.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::emergency::LEASE;
use super::wait_until_shown;
use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::files::directory;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

/// A pool that may have one node and has three.
fn pool(fleet: &mut Fleet, name: &str, annotations: &Value) {
    for node in ["a", "b", "c"] {
        fleet.empty(name, &format!("{name}-{node}"));
    }
    fleet.pool(name, 3, annotations);
    fleet.open_ledger(name);
    fleet.limit(name, 1);
}

fn wait_until_one_is_left(fleet: &mut Fleet, pool: &str) {
    wait_for("the nodes above the limit to go", || {
        (fleet.living_claims(pool).len() == 1).then_some(())
    });
}

/// The reconciler has looked at the pool, and says that it ends nobody.
fn assert_spared(fleet: &mut Fleet, pool: &str) {
    let message = wait_for("an event", || {
        let mut events = fleet.events(pool).into_iter();
        events.find_map(|(reason, message, _)| (reason == "NodeLimitExceeded").then_some(message))
    });
    assert_eq!(
        message,
        "2 nodes above the limit of 1; none is terminated (over-limit: report)"
    );
    assert_eq!(fleet.living_claims(pool).len(), 3);
}

#[test]
fn the_flag_decides_for_pools_without_the_annotation_whatever_the_policy_says() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\noverLimit: terminate\n";
    let directory = directory(&[("policy.yaml", policy)]);
    let policy = directory.path().join("policy.yaml");
    let policy = format!("--policy={}", policy.display());

    pool(&mut fleet, "silent", &json!({}));
    pool(
        &mut fleet,
        "asked",
        &json!({"poolgate.dev/over-limit": "Terminate"}),
    );
    let arguments = ["--settle=1s", "--over-limit=report", &policy];
    let account = plane.kubeconfig_by(Account::Reconciler);
    let mut reconciler = Reconciler::start(&account, &arguments);
    wait_until_one_is_left(&mut fleet, "asked");
    assert_spared(&mut fleet, "silent");
    reconciler.terminate();

    pool(
        &mut fleet,
        "reported",
        &json!({"poolgate.dev/over-limit": "Report"}),
    );
    let arguments = ["--settle=1s", "--over-limit=terminate"];
    let _reconciler = Reconciler::start(&account, &arguments);
    wait_until_one_is_left(&mut fleet, "silent");
    assert_spared(&mut fleet, "reported");
}

#[test]
fn under_a_policy_that_cannot_be_read_nodes_are_held_and_none_is_terminated() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    let directory = directory(&[("policy.yaml", "overLimit: [")]);
    let path = directory.path().join("policy.yaml");
    let asks = json!({"poolgate.dev/over-limit": "Terminate"});
    fleet.pool("general", 1, &asks);
    for node in ["general-a", "general-b", "general-c"] {
        fleet.busy("general", node);
    }
    let policy = format!("--policy={}", path.display());
    let arguments = ["--settle=1s", "--lease-duration=3s", &policy];
    let reconciler = Reconciler::start(&plane.kubeconfig_by(Account::Reconciler), &arguments);
    fleet.wait_until_held("general", &["general-a", "general-b", "general-c"]);
    assert_eq!(reconciler.metric("poolgate_policy_load_failing"), Some(1.0));

    // It renews more than twice a second, so everything has been steady for longer than it has to settle.
    let mut renewals = BTreeSet::new();
    wait_for("six renewals of the Lease", || {
        let lease = fleet.client().get(LEASE).expect("a Lease");
        renewals.insert(lease["spec"]["renewTime"].to_string());
        (renewals.len() > 6).then_some(())
    });
    fleet.limit("general", 2);
    wait_until_shown(&reconciler, r#"poolgate_nodepool_limit{nodepool="general"}"#, 2.0);
    assert_eq!(fleet.living_claims("general").len(), 3);

    fleet.limit("general", 1);
    fs::write(path, "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n").expect("a policy");
    wait_until_one_is_left(&mut fleet, "general");
}
