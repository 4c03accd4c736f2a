//! The gate of node limits on a real API server.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::wait::wait_for;

/// Far longer than a watch takes to bring news.
const NEWS: Duration = Duration::from_secs(30);

fn pool(name: &str, limit: Option<u32>) -> Value {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        }}},
    });
    if let Some(limit) = limit {
        pool["spec"]["limits"] = json!({"nodes": limit.to_string()});
    }
    pool
}

fn claim(name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": pool}},
        "spec": {
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        },
    })
}

/// A control plane with a gate in front of its NodeClaims.
struct Gated {
    plane: ControlPlane,
    poolgate: Poolgate,
}

impl Gated {
    fn start(args: &[&str]) -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        let poolgate = Poolgate::serve_watching(plane.kubeconfig(), &[&["--gate"], args].concat());
        plane.register_gate(&poolgate.base_url(), &poolgate.ca(), "Fail");
        Self { plane, poolgate }
    }

    fn apply(&self, object: &Value) {
        self.plane
            .kubectl(&["apply", "-f", "-"], &object.to_string())
            .success();
    }

    fn create(&self, args: &[&str], claim: &Value) -> Outcome {
        self.plane
            .kubectl(&[&["create", "-f", "-"], args].concat(), &claim.to_string())
    }

    fn metric(&self, line: &str) -> bool {
        let (_, text) = self.poolgate.probe("/metrics");
        text.lines().any(|found| found == line)
    }
}

#[test]
fn a_pool_is_filled_up_to_its_limit_and_not_beyond() {
    let gated = Gated::start(&[]);
    gated.apply(&pool("general", Some(2)));
    gated.create(&[], &claim("a", "general")).success();
    gated
        .create(&["--dry-run=server"], &claim("dry", "general"))
        .success();
    gated.create(&[], &claim("b", "general")).success();
    let refused = gated.create(&[], &claim("c", "general"));
    assert!(
        refused.stderr.contains(
            "(Forbidden): error when creating \"STDIN\": admission webhook \"gate.nodeclaims.poolgate.dev\" denied the \
             request: no place is left in NodePool general: spec.limits.nodes is 2 (Hard), and 2 NodeClaims count \
             towards it; raise spec.limits.nodes, or wait until a node has gone"
        ),
        "{refused:?}"
    );
    gated.plane.kubectl(&["delete", "nodeclaim", "a"], "").success();
    gated.create(&[], &claim("c", "general")).success();
}
