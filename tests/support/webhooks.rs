//! Telling a control plane to ask poolgate.

use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use super::wait::{PATIENCE, wait_for};

const PROBE_LABEL: &str = "poolgate.dev/registration";

static REGISTRATIONS: AtomicU32 = AtomicU32::new(0);

impl ControlPlane {
    /// Registers the webhooks for NodePools and NodeClaims at `base` (`https://127.0.0.1:PORT`), whose certificate `ca` signs,
    /// and waits until both are in effect. A second registration replaces the first.
    ///
    /// The API server follows its own configuration with a delay and tells nobody when it has caught up. So
    /// each configuration carries a second webhook at an address where nothing listens, which only objects
    /// with the label of this one registration meet: once such an object is refused in its name, the whole
    /// configuration counts.
    pub(crate) fn register_webhooks(&self, base: &str, ca: &str) {
        let number = REGISTRATIONS.fetch_add(1, Ordering::Relaxed);
        for (kind, path) in [
            ("MutatingWebhookConfiguration", "mutate"),
            ("ValidatingWebhookConfiguration", "validate"),
        ] {
            let registration = format!("{path}-{number}");
            let probe = format!("probe.{path}.poolgate.dev");
            let configuration = json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": "poolgate"},
                "webhooks": [karpenter_webhook(base, path, ca), probe_webhook(&probe, &registration)],
            });
            self.kubectl(&["apply", "-f", "-"], &configuration.to_string())
                .success();
            self.wait_for_probe(&probe, &registration);
        }
    }

    /// Registers the gate for NodeClaims at `base`, with this failure policy, and waits until that is in effect.
    pub(crate) fn register_gate(&self, base: &str, ca: &str, failure_policy: &str) {
        let number = REGISTRATIONS.fetch_add(1, Ordering::Relaxed);
        let registration = format!("gate-{number}");
        let probe = "probe.gate.poolgate.dev";
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "poolgate-gate"},
            "webhooks": [gate_webhook(base, ca, failure_policy), probe_webhook(probe, &registration)],
        });
        self.kubectl(&["apply", "-f", "-"], &configuration.to_string())
            .success();
        self.wait_for_probe(probe, &registration);
    }

    fn wait_for_probe(&self, probe: &str, registration: &str) {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "probe", "namespace": "default", "labels": {PROBE_LABEL: registration}},
        });
        let what = format!("the webhook configuration of {probe} to take effect");
        wait_for(&what, PATIENCE, || {
            let answer = self.kubectl(&["create", "--dry-run=server", "-f", "-"], &object.to_string());
            answer.stderr.contains(probe).then_some(())
        });
    }
}

fn karpenter_webhook(base: &str, path: &str, ca: &str) -> Value {
    json!({
        "name": format!("{path}.poolgate.dev"),
        "clientConfig": {"url": format!("{base}/{path}"), "caBundle": STANDARD.encode(ca)},
        "rules": [{
            "apiGroups": ["karpenter.sh"],
            "apiVersions": ["v1", "v1beta1"],
            "resources": ["nodepools", "nodeclaims", "nodepools/scale"],
            "operations": ["CREATE", "UPDATE"],
        }],
        "matchPolicy": "Equivalent",
        "failurePolicy": "Fail",
        "timeoutSeconds": 3,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    })
}

fn gate_webhook(base: &str, ca: &str, failure_policy: &str) -> Value {
    json!({
        "name": "gate.nodeclaims.poolgate.dev",
        "clientConfig": {"url": format!("{base}/gate"), "caBundle": STANDARD.encode(ca)},
        "rules": [{
            "apiGroups": ["karpenter.sh"],
            "apiVersions": ["v1"],
            "resources": ["nodeclaims"],
            "operations": ["CREATE", "UPDATE"],
        }],
        "matchPolicy": "Equivalent",
        "failurePolicy": failure_policy,
        "timeoutSeconds": 3,
        "sideEffects": "NoneOnDryRun",
        "admissionReviewVersions": ["v1"],
    })
}

fn probe_webhook(name: &str, registration: &str) -> Value {
    json!({
        "name": name,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
            "operations": ["CREATE"],
        }],
        "objectSelector": {"matchLabels": {PROBE_LABEL: registration}},
        "failurePolicy": "Fail",
        "timeoutSeconds": 1,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    })
}
