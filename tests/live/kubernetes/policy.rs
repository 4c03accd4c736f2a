//! A policy's defaults in a cluster: what the CRD writes before poolgate is asked, and what a patched CRD makes of
//! it.

use serde_json::{Value, json};

use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, karpenter_crd};
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::program;

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/policy/defaults.yaml");

/// `spec.disruption` of a NodePool that leaves it out, as it is stored with this definition.
fn stored_disruption(crd: &str) -> Value {
    let poolgate = Poolgate::serve_with(&["--policy", POLICY]);
    let plane = ControlPlane::start();
    plane.install_crd(crd);
    plane.register_webhooks(&poolgate.base_url(), &poolgate.ca());
    let pool = node_pool("plain", &json!({}));
    plane.kubectl(&["apply", "-f", "-"], &pool.to_string()).success();
    plane.kubectl_json(&["get", "nodepool", "plain"], "")["spec"]["disruption"].clone()
}

#[test]
fn a_policys_defaults_hold_where_the_crd_was_patched_with_them_and_not_before() {
    let published = karpenter_crd(V1, "karpenter.sh_nodepools.yaml");
    let upstream = stored_disruption(&published);
    assert_eq!(
        upstream["budgets"],
        json!([{"nodes": "10%"}]),
        "the CRD came first"
    );

    let patched = program::run(&["crd", "patch", "--policy", POLICY], &published).success();
    assert_eq!(
        stored_disruption(&patched),
        json!({
            "budgets": [
                {"nodes": "20%"},
                {"nodes": "0", "schedule": "0 8 * * mon-fri", "duration": "10h"},
            ],
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "5m",
            "nodeLimitMode": "Soft",
        })
    );
}
