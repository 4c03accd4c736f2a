//! An API server that shows webhooks a client certificate, as that of a self-managed control plane can.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::shared::published;
use crate::support::authority::{Authority, Issued};
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::running::Running;

/// Writes the API server's configuration: at these addresses it shows this certificate.
fn admission_configuration(directory: &Path, servers: &[&Poolgate], shown: &Issued) -> PathBuf {
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).expect("written");
        path
    };
    let (certificate, key) = (
        write("client.crt", &shown.certificate),
        write("client.key", &shown.key),
    );
    let users: Vec<Value> = servers
        .iter()
        .map(|server| {
            json!({"name": server.admission().to_string(), "user": {
                "client-certificate": certificate,
                "client-key": key,
            }})
        })
        .collect();
    let users = json!({"apiVersion": "v1", "kind": "Config", "users": users});
    let users = write("webhooks.kubeconfig", &users.to_string());
    let plugin = |name: &str| {
        json!({"name": name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": users,
        }})
    };
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [plugin("MutatingAdmissionWebhook"), plugin("ValidatingAdmissionWebhook")],
    });
    write("admission.yaml", &configuration.to_string())
}

/// A client of poolgate itself, that shows this certificate or none.
fn by_hand(directory: &Path, server: &Poolgate, shown: Option<&Issued>) -> Client {
    let data = |pem: &str| STANDARD.encode(pem);
    let user = shown.map_or(json!({}), |shown| {
        json!({"client-certificate-data": data(&shown.certificate), "client-key-data": data(&shown.key)})
    });
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "hand",
        "clusters": [{"name": "hand", "cluster": {
            "server": server.base_url(),
            "certificate-authority-data": data(&server.ca()),
        }}],
        "users": [{"name": "hand", "user": user}],
        "contexts": [{"name": "hand", "context": {"cluster": "hand", "user": "hand"}}],
    });
    let path = directory.join("hand.kubeconfig");
    fs::write(&path, config.to_string()).expect("written");
    Client::by(&path)
}

fn apply(plane: &ControlPlane, name: &str) -> String {
    let pool = node_pool(name, &json!({"limits": {"memory": "-1Gi"}}));
    plane.kubectl(&["apply", "-f", "-"], &pool.to_string()).stderr
}

#[test]
fn only_an_api_server_that_shows_its_certificate_is_answered() {
    let directory = Running::directory();
    let authority = Authority::named("webhook-clients");
    let ca = directory.path().join("clients.pem");
    fs::write(&ca, authority.pem()).expect("written");
    let guarded = |name: &str| {
        let ca = format!("--client-ca={}", ca.display());
        Poolgate::serve_with(&[&ca, &format!("--client-name={name}")])
    };
    let (ours, others) = (guarded("kube-apiserver"), guarded("somebody-else"));
    let shown = authority.client("kube-apiserver");
    let configuration = admission_configuration(directory.path(), &[&ours, &others], &shown);
    let argument = format!("--admission-control-config-file={}", configuration.display());
    let plane = ControlPlane::start_with(&[&argument]);
    plane.install_karpenter_crds(V1);
    plane.register_webhooks_for("shown-", &ours.base_url(), &ours.ca());
    plane.register_webhooks_for("misnamed-", &others.base_url(), &others.ca());

    let denied = apply(&plane, "shown-pool");
    assert!(
        denied.contains("The NodePool \"shown-pool\" is invalid") && denied.contains("[limit-amount]"),
        "{denied}"
    );
    let rejected = apply(&plane, "misnamed-pool");
    assert!(
        rejected.contains("failed calling webhook")
            && rejected.contains("--client-name matches no name of the client certificate: kube-apiserver"),
        "{rejected}"
    );

    // An API server that shows none, and a review by hand.
    let other = &published().plane;
    other.register_webhooks_for("unshown-", &ours.base_url(), &ours.ca());
    let rejected = apply(other, "unshown-pool");
    // Go says why, or that it cannot write to the connection on which it has just got the reason.
    assert!(
        rejected.contains("failed calling webhook")
            && ["tls: certificate required", "use of closed network connection"]
                .iter()
                .any(|why| rejected.contains(why)),
        "{rejected}"
    );
    let counted = ours.metric("poolgate_clients_denied_total{reason=\"no_certificate\"}");
    assert!(counted >= Some(1.0), "{counted:?}");
    let review = include_str!("../../../docs/examples/five-mistakes.review.json");
    let review: Value = serde_json::from_str(review).expect("JSON");
    let forge =
        |shown: Option<&Issued>| by_hand(directory.path(), &ours, shown).try_create("/validate", &review);
    forge(None).expect_err("no answer");
    let answer = forge(Some(&shown)).expect("an answer");
    assert_eq!(answer["response"]["allowed"], false);
}
