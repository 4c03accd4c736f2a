//! API Priority and Fairness: a creation holds a seat while it waits for the gate, so the gate must not wait for one.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use super::objects::pool;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::nodeclaim::node_claim as claim;
use crate::support::poolgate::Poolgate;
use crate::support::reconciler::LEDGERS;
use crate::support::wait::wait_for;
use crate::support::webhooks::named;

/// More than an API server with few seats has for service accounts, whatever it borrows.
const CREATORS: usize = 40;

/// How many requests of the level of service accounts wait for a seat.
const QUEUED: &str = "apiserver_flowcontrol_current_inqueue_requests{flow_schema=\"service-accounts\",\
                      priority_level=\"workload-low\"}";

/// How many requests the gate's schema has sent to the gate's level.
const DISPATCHED: &str = "apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"poolgate-gate\",priority_level=\"poolgate-gate\"}";

/// Sends creations of objects named `stuck-…` to a port where nobody answers, so that each holds its seat for half a minute, and
/// lets a service account make them.
fn make_creations_wait(plane: &ControlPlane, port: u16) {
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "silent"},
        "webhooks": [{
            "name": "silent.poolgate.dev",
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/")},
            "rules": [{
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE"],
            }],
            "matchConditions": [named("stuck-")],
            "failurePolicy": "Fail",
            "timeoutSeconds": 30,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    let client = Client::of(plane);
    client.apply_object(&webhook);
    client.create("/api/v1/namespaces", &json!({"metadata": {"name": "karpenter"}}));
    let account = json!({"metadata": {"name": "karpenter"}});
    client.create("/api/v1/namespaces/karpenter/serviceaccounts", &account);
    let binding = json!({
        "metadata": {"name": "karpenter"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "karpenter", "name": "karpenter"}],
    });
    client.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding);
}

/// Ends the creations that wait, and those who make them, when it is dropped.
struct Jam<'a> {
    done: &'a AtomicBool,
    _silent: TcpListener,
}

impl Drop for Jam<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_gate_answers_while_waiting_creations_hold_all_seats_of_service_accounts() {
    let plane = ControlPlane::start_with(&[
        "--max-requests-inflight=20",
        "--max-mutating-requests-inflight=10",
    ]);
    plane.install_karpenter_crds(V1);
    let is_flow_control =
        |name: &str| name.starts_with("FlowSchema ") || name.starts_with("PriorityLevelConfiguration ");
    plane.install_those(|name| !is_flow_control(name));
    let kubeconfig = plane.kubeconfig_of("poolgate-system", "poolgate-gate");
    let poolgate = Poolgate::gate_watching(&kubeconfig, &[LEDGERS]);
    plane.register_prompt_gate_for("", &poolgate.base_url(), &poolgate.ca(), "Fail");
    let client = Client::of(&plane);
    let nodepools = "/apis/karpenter.sh/v1/nodepools";
    client.create(nodepools, &pool("seats", Some(100)));
    let create = |name: &str| client.try_create("/apis/karpenter.sh/v1/nodeclaims", &claim(name, "seats"));
    wait_for("the gate to admit", || create("seats-a").ok());

    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    make_creations_wait(&plane, port);
    let karpenter = Client::by(&plane.kubeconfig_of("karpenter", "karpenter"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..CREATORS {
            let (karpenter, done) = (&karpenter, &done);
            let stuck = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": format!("stuck-{number}")},
            });
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    // It fails when the API server stops waiting for the webhook.
                    let _ = karpenter.try_create("/api/v1/namespaces/default/configmaps", &stuck);
                }
            });
        }
        let _jam = Jam {
            done: &done,
            _silent: silent,
        };
        wait_for("a creation that the gate cannot decide on", || {
            (client.metric(QUEUED) > Some(0.0)).then_some(())?;
            let denied = create("seats-b").err()?.to_string();
            denied.contains("poolgate cannot tell whether").then_some(())
        });
        plane.install_those(is_flow_control);
        wait_for("the gate to admit again", || create("seats-b").ok());
        assert!(client.metric(DISPATCHED) > Some(0.0));
        assert!(client.metric(QUEUED) > Some(0.0), "the seats are still held");
    });
}
