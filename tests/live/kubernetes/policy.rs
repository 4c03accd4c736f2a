//! A policy's defaults in a cluster: what the CRD writes before poolgate is asked, and what a patched CRD makes of
//! it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, karpenter_crd};
use crate::support::poolgate::Poolgate;
use crate::support::process::run;

fn policy() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/policy/defaults.yaml");
    path.to_str().expect("a path").to_owned()
}

/// `spec.disruption` of a NodePool that leaves it out, as it is stored with this definition.
fn stored_disruption(crd: &str) -> Value {
    let poolgate = Poolgate::serve_with(&["--policy", &policy()]);
    let plane = ControlPlane::start();
    plane.install_crd(crd);
    plane.register_webhooks(&poolgate.base_url(), &poolgate.ca());
    let pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "plain"},
        "spec": {"template": {"spec": {
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        }}},
    });
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

    let mut patch = Command::new(env!("CARGO_BIN_EXE_poolgate"));
    let patch = patch.args(["crd", "patch", "--policy", &policy()]);
    let patched = run(patch, &published, Duration::from_mins(1)).success();
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
