//! An object that a user's own policy protects does not keep the reconciler from all others.

use serde_json::json;

use super::shared;
use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const POOL: &str = "/apis/karpenter.sh/v1/nodepools/left";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh";

/// Denies an operation on the object of this name.
fn protect(fleet: &Fleet, operation: &str, (group, resource): (&str, &str), name: &str) {
    let rule = json!({
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": [resource],
        "resourceNames": [name],
    });
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "it is protected"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    fleet.client().create(POLICIES, &policy);
    fleet.client().create(BINDINGS, &binding);
}

/// Waits until the policy is in force: it takes effect late.
fn wait_until_denied(plane: &ControlPlane, arguments: &[&str]) {
    wait_for("the policy to be in force", || {
        let asked = plane.kubectl(&[arguments, &["--dry-run=server"]].concat(), "");
        asked.stderr.contains("it is protected").then_some(())
    });
}

#[test]
fn a_node_that_may_not_be_deleted_does_not_save_the_others() {
    let (mut fleet, _) = shared();
    for name in ["protected-a", "protected-b", "protected-c"] {
        fleet.empty("protected", name);
    }
    protect(&fleet, "DELETE", ("karpenter.sh", "nodeclaims"), "protected-a");
    wait_until_denied(&super::SHARED.plane, &["delete", "nodeclaim", "protected-a"]);
    fleet.pool("protected", 1, &json!({"poolgate.dev/over-limit": "Terminate"}));
    wait_for("the other victim to go", || {
        (fleet.living_claims("protected") == ["protected-a", "protected-c"]).then_some(())
    });
    wait_for("an event", || {
        let mut events = fleet.events("protected").into_iter();
        events.find(|(reason, ..)| reason == "NodeLimitExceeded")
    });
    fleet.client().delete(&format!("{POLICIES}/protected-a"));
    wait_for("the first victim to go as well", || {
        (fleet.living_claims("protected") == ["protected-c"]).then_some(())
    });
}

#[test]
fn a_node_that_keeps_its_mark_does_not_keep_the_limits_low() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    fleet.pool("left", 3, &json!({"poolgate.dev/node-limit": "7"}));
    for name in ["left-a", "left-b"] {
        fleet.node("left", name);
        fleet.change_node(
            name,
            &json!({"metadata": {"labels": {"poolgate.dev/held": "true"}}}),
        );
    }
    protect(&fleet, "UPDATE", ("", "nodes"), "left-a");
    wait_until_denied(&plane, &["label", "node", "left-a", "poolgate.dev/held-"]);
    let account = plane.kubeconfig_by(Account::Reconciler);
    let ended = Reconciler::unhold_all(&account, &[]);
    assert!(
        !ended.status.success() && ended.stderr.contains("it is protected"),
        "{ended:?}"
    );
    let is_held = |fleet: &mut Fleet, node: &str| {
        !fleet.stored_node(node)["metadata"]["labels"]["poolgate.dev/held"].is_null()
    };
    assert!(is_held(&mut fleet, "left-a") && !is_held(&mut fleet, "left-b"));
    let pool = fleet.client().get(POOL).expect("a pool");
    assert_eq!(pool["spec"]["limits"]["nodes"], "7");

    // Without Karpenter's definitions there are no limits to restore.
    fleet.client().delete(&format!("{POLICIES}/left-a"));
    fleet.client().delete(DEFINITION);
    wait_for("the definition to go", || {
        (!fleet.client().discovers("karpenter.sh", "nodepools")).then_some(())
    });
    wait_for("every mark to be removed", || {
        Reconciler::unhold_all(&account, &[])
            .status
            .success()
            .then_some(())
    });
    assert!(!is_held(&mut fleet, "left-a"));
}
