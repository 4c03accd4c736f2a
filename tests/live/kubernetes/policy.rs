//! A policy's defaults in a cluster: what the CRD writes before poolgate is asked, and what a patched CRD makes of
//! it.

use std::path::Path;

use serde_json::{Value, json};

use super::shared::published;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, patched_crd};
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;

fn policy() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/policy/defaults.yaml");
    path.to_str().expect("a path").to_owned()
}

/// `spec.disruption` of a NodePool that leaves it out, as it is stored with the policy's defaults.
fn stored_disruption(plane: &ControlPlane) -> Value {
    let poolgate = Poolgate::serve_with(&["--policy", &policy()]);
    plane.register_webhooks_for("policy-", &poolgate.base_url(), &poolgate.ca());
    let pool = node_pool("policy-plain", &json!({}));
    let created = Client::of(plane).create("/apis/karpenter.sh/v1/nodepools", &pool);
    created["spec"]["disruption"].clone()
}

#[test]
fn a_policys_defaults_hold_where_the_crd_was_patched_with_them_and_not_before() {
    let upstream = stored_disruption(&published().plane);
    assert_eq!(
        upstream["budgets"],
        json!([{"nodes": "10%"}]),
        "the CRD came first"
    );

    let plane = ControlPlane::start();
    plane.install_crd(&patched_crd(V1, &["--policy", &policy()]));
    assert_eq!(
        stored_disruption(&plane),
        json!({
            "budgets": [
                {"nodes": "20%"},
                {
                    "nodes": "0",
                    "reasons": ["Underutilized", "Empty", "Drifted"],
                    "schedule": "0 8 * * mon-fri",
                    "duration": "10h",
                },
            ],
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "5m",
            "nodeLimitMode": "Soft",
        })
    );
}
