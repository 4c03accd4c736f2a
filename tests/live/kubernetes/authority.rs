//! The CA of the API server's certificate is replaced, and poolgate works on without a restart.

use std::fs;

use serde_json::{Value, json};

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::nodeclaim::node_claim;
use crate::support::poolgate::Poolgate;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

/// What came of a creation.
fn create(fleet: &Fleet, name: &str, pool: &str) -> Result<Value, String> {
    let created = fleet.client().try_create(CLAIMS, &node_claim(name, pool));
    created.map_err(|error| error.to_string())
}

#[test]
fn a_new_authority_of_the_api_server_needs_no_restart() {
    let mut plane = ControlPlane::start();
    let trusted = plane.directory().join("trusted.crt");
    let before = fs::read_to_string(&plane.pki().ca).expect("the authority");
    fs::write(&trusted, &before).expect("written");
    let trusting = |account| {
        let kubeconfig = plane.kubeconfig_by(account);
        let config = fs::read_to_string(&kubeconfig).expect("a kubeconfig");
        let mut config: Value = serde_json::from_str(&config).expect("JSON");
        config["clusters"][0]["cluster"]["certificate-authority"] = json!(trusted);
        fs::write(&kubeconfig, config.to_string()).expect("written");
        kubeconfig
    };

    let mut fleet = Fleet::in_cluster(&plane);
    let mut gate = Poolgate::gate_watching(&trusting(Account::Gate), &[]);
    gate.wait_until_reported("NodeClaims: watching\n");
    plane.register_gate_for("gated-", &gate.base_url(), &gate.ca(), "Fail");
    let mut reconciler = Reconciler::start(&trusting(Account::Reconciler), &[]);
    fleet.pool("gated-pool", 1, &json!({}));
    fleet.pool("held", 1, &json!({}));
    fleet.busy("held", "node-a");
    fleet.wait_until_held("held", &["node-a"]);

    // While the file is of no use, the authority before is in force.
    fs::write(&trusted, "no certificate").expect("written");
    create(&fleet, "gated-a", "gated-pool").expect("admitted");

    fs::write(&trusted, plane.pki().replace_authority()).expect("written");
    plane.restart_api_server();
    let mut fleet = Fleet::of(&plane);
    wait_for("a denial at the limit", || {
        let denied = create(&fleet, "gated-b", "gated-pool").expect_err("a denial");
        denied.contains("node limit of 1 (Hard)").then_some(())
    });
    fleet.limit("gated-pool", 2);
    wait_for("a creation below the limit", || {
        create(&fleet, "gated-b", "gated-pool").ok()
    });
    fleet.limit("held", 2);
    fleet.wait_until_held("held", &[]);

    for running in [&mut *gate, &mut *reconciler] {
        running.expect_alive();
    }
}
