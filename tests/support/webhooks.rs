//! Registers poolgate's webhooks at a control plane.

use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::Client;
use super::control_plane::ControlPlane;
use super::wait::wait_for;

/// The longest that an API server waits for a webhook: the machine may be busy.
const TIMEOUT: u32 = 30;

const PROBE_LABEL: &str = "poolgate.dev/registration";

static REGISTRATIONS: AtomicU32 = AtomicU32::new(0);

impl ControlPlane {
    /// Registers the webhooks for NodePools and NodeClaims at `base` (`https://127.0.0.1:PORT`), whose certificate `ca` signs,
    /// and waits until both are in effect. A second registration replaces the first.
    ///
    /// The API server follows its own configuration with a delay and tells nobody when it has caught up. So
    /// each configuration carries a second webhook at an address where nothing listens, which only objects
    /// with the label of this one registration meet: once such an object is rejected in its name, the whole
    /// configuration counts.
    pub(crate) fn register_webhooks(&self, base: &str, ca: &str) {
        self.register_webhooks_for("", base, ca);
    }

    /// The same for objects whose names begin with `prefix`, beside what is registered for others.
    pub(crate) fn register_webhooks_for(&self, prefix: &str, base: &str, ca: &str) {
        for (kind, path) in [
            ("MutatingWebhookConfiguration", "mutate"),
            ("ValidatingWebhookConfiguration", "validate"),
        ] {
            self.register(kind, path, prefix, karpenter_webhook(base, path, ca));
        }
    }

    /// Registers the gate for NodeClaims at `base`, with this failure policy, and waits until that is in effect.
    pub(crate) fn register_gate(&self, base: &str, ca: &str, failure_policy: &str) {
        self.register_gate_for("", base, ca, failure_policy);
    }

    /// The same for NodeClaims whose names begin with `prefix`, beside what is registered for others.
    pub(crate) fn register_gate_for(&self, prefix: &str, base: &str, ca: &str, failure_policy: &str) {
        let webhook = gate_webhook(base, ca, failure_policy);
        self.register("ValidatingWebhookConfiguration", "gate", prefix, webhook);
    }

    /// The same with the timeout that is shipped: the gate must answer within 2.4 s.
    pub(crate) fn register_prompt_gate_for(&self, prefix: &str, base: &str, ca: &str, failure_policy: &str) {
        let mut webhook = gate_webhook(base, ca, failure_policy);
        webhook["timeoutSeconds"] = json!(3);
        self.register("ValidatingWebhookConfiguration", "gate", prefix, webhook);
    }

    fn register(&self, kind: &str, what: &str, prefix: &str, mut webhook: Value) {
        let number = REGISTRATIONS.fetch_add(1, Ordering::Relaxed);
        let registration = format!("{what}-{number}");
        let probe = format!("probe.{what}.poolgate.dev");
        if !prefix.is_empty() {
            webhook["matchConditions"] = json!([named(prefix)]);
        }
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": format!("{prefix}poolgate-{what}")},
            "webhooks": [webhook, probe_webhook(&probe, &registration)],
        });
        Client::of(self).apply_object(&configuration);
        self.wait_for_probe(&probe, &registration);
    }

    fn wait_for_probe(&self, probe: &str, registration: &str) {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "probe", "namespace": "default", "labels": {PROBE_LABEL: registration}},
        });
        let what = format!("the webhook configuration of {probe} to take effect");
        let client = Client::of(self);
        let dry_run = "/api/v1/namespaces/default/configmaps?dryRun=All";
        wait_for(&what, || {
            let rejected = client.try_create(dry_run, &object).err();
            rejected.filter(|error| error.to_string().contains(probe))
        });
    }
}

/// The match condition by which a webhook is asked about objects alone whose names begin so.
pub(crate) fn named(prefix: &str) -> Value {
    let expression = format!("has(object.metadata.name) && object.metadata.name.startsWith('{prefix}')");
    json!({"name": "named", "expression": expression})
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
        "timeoutSeconds": TIMEOUT,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    })
}

/// As the shipped registrations have it: what the API server may ignore, the gate admits undecided.
fn gate_webhook(base: &str, ca: &str, failure_policy: &str) -> Value {
    let path = if failure_policy == "Fail" {
        "/gate/strict"
    } else {
        "/gate"
    };
    json!({
        "name": "gate.nodeclaims.poolgate.dev",
        "clientConfig": {"url": format!("{base}{path}"), "caBundle": STANDARD.encode(ca)},
        "rules": [{
            "apiGroups": ["karpenter.sh"],
            "apiVersions": ["v1"],
            "resources": ["nodeclaims"],
            "operations": ["CREATE"],
        }],
        "matchPolicy": "Equivalent",
        "failurePolicy": failure_policy,
        "timeoutSeconds": TIMEOUT,
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
