//! What the account of `poolgate certificates` may not do.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Installed, MUTATING, SECRETS, VALIDATING};
use crate::support::authority::Authority;
use crate::support::client::Client;
use crate::support::wait::wait_for;

/// These tests change nothing in it.
static INSTALLED: LazyLock<Installed> = LazyLock::new(Installed::new);

/// The account of `poolgate certificates`.
static ACCOUNT: LazyLock<Client> = LazyLock::new(|| {
    let (namespace, name) = ("poolgate-system", "poolgate-certificates");
    Client::by(&INSTALLED.plane.kubeconfig_of(namespace, name))
});

/// Tries one change of a configuration by this account; why it is rejected, if it is.
fn rejection(path: &str, before: &Value, change: impl FnOnce(&mut Value)) -> Option<String> {
    let mut changed = before.clone();
    for unchecked in ["managedFields", "resourceVersion"] {
        changed["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove(unchecked);
    }
    change(&mut changed);
    let name = before["metadata"]["name"].as_str().expect("a name");
    let merged = json!({
        "metadata": changed["metadata"],
        "webhooks": changed["webhooks"],
    });
    ACCOUNT
        .try_merge(&format!("{path}/{name}?dryRun=All"), &merged)
        .err()
        .map(|error| error.to_string())
}

#[test]
fn the_account_changes_ca_bundle_and_nothing_else() {
    let bundle = json!(STANDARD.encode(Authority::named("any").pem()));
    let [mutating, validating] =
        [MUTATING, VALIDATING].map(|path| INSTALLED.configuration((path, "poolgate")));
    // The policy takes effect late.
    wait_for("the policy to take effect", || {
        rejection(MUTATING, &mutating, |changed| {
            changed["webhooks"][0]["timeoutSeconds"] = json!(4);
        })
    });

    // Every field that the API has, with another value than it has here.
    let others = json!({
        "admissionReviewVersions": ["v1", "v1beta1"],
        "failurePolicy": "Fail",
        "matchConditions": [{"name": "never", "expression": "false"}],
        "matchPolicy": "Exact",
        "name": "other.nodepools.poolgate.dev",
        "namespaceSelector": {"matchLabels": {"a": "b"}},
        "objectSelector": {"matchLabels": {"a": "b"}},
        "reinvocationPolicy": "Never",
        "rules": [],
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": 5,
    });
    let served = "/openapi/v3/apis/admissionregistration.k8s.io/v1";
    let schemas = INSTALLED.client.get(served).expect("a schema")["components"]["schemas"].clone();
    let fields = |kind: &str| {
        let schema = &schemas[format!("io.k8s.api.admissionregistration.v1.{kind}")];
        let properties = schema["properties"].as_object().expect(kind);
        properties.keys().cloned().collect::<Vec<String>>()
    };
    for (path, kind, before) in [
        (MUTATING, "MutatingWebhook", mutating),
        (VALIDATING, "ValidatingWebhook", validating),
    ] {
        let rejects = |what: &str, change: &dyn Fn(&mut Value)| {
            let rejected = rejection(path, &before, change).unwrap_or_else(|| panic!("{kind}: {what}"));
            assert!(rejected.contains("this account"), "{kind} {what}: {rejected}");
        };
        for field in fields(kind).iter().filter(|field| *field != "clientConfig") {
            let mut other = others[field].clone();
            assert!(
                !other.is_null(),
                "{kind} has a new field {field}: name it in the policy, and here"
            );
            if before["webhooks"][0][field] == other {
                other = json!("Ignore");
            }
            rejects(field, &|changed| changed["webhooks"][0][field] = other.clone());
        }
        assert_eq!(fields("WebhookClientConfig"), ["caBundle", "service", "url"]);
        let client_config = |config: Value| {
            move |changed: &mut Value| changed["webhooks"][0]["clientConfig"] = config.clone()
        };
        rejects("service", &|changed| {
            changed["webhooks"][0]["clientConfig"]["service"]["path"] = json!("/other");
        });
        rejects(
            "url",
            &client_config(json!({"url": "https://127.0.0.1:1", "service": null})),
        );
        for (field, other) in [
            ("labels", json!({"a": "b"})),
            ("annotations", json!({"a": "b"})),
            ("finalizers", json!(["example.com/stay"])),
            (
                "ownerReferences",
                json!([{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "1"}]),
            ),
        ] {
            rejects(field, &|changed| changed["metadata"][field] = other.clone());
        }
        rejects("no webhook", &|changed| changed["webhooks"] = json!([]));
        rejects("one more webhook", &|changed| {
            let mut more = changed["webhooks"][0].clone();
            more["name"] = json!("more.nodepools.poolgate.dev");
            changed["webhooks"].as_array_mut().expect("webhooks").push(more);
        });
        let trusts = rejection(path, &before, |changed| {
            changed["webhooks"][0]["clientConfig"]["caBundle"] = bundle.clone();
        });
        assert_eq!(trusts, None, "{kind}");
    }
}

#[test]
fn the_account_creates_nothing_and_touches_no_other_object() {
    let forbidden = |what: &str, result: Result<Value, kube::Error>| {
        let rejected = result.expect_err(what).to_string();
        assert!(rejected.contains("forbidden"), "{what}: {rejected}");
    };
    let secret = json!({
        "metadata": {"name": "token", "annotations": {"kubernetes.io/service-account.name": "poolgate-gate"}},
        "type": "kubernetes.io/service-account-token",
    });
    forbidden("a new Secret", ACCOUNT.try_create(SECRETS, &secret));
    forbidden(
        "another Secret",
        ACCOUNT.try_merge(&format!("{SECRETS}/other"), &json!({})),
    );
    let configuration = json!({"metadata": {"name": "mine"}, "webhooks": []});
    forbidden(
        "a new configuration",
        ACCOUNT.try_create(VALIDATING, &configuration),
    );
    forbidden(
        "another configuration",
        ACCOUNT.try_merge(&format!("{VALIDATING}/other"), &json!({})),
    );
}
