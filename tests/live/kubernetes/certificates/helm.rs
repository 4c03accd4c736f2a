//! What an upgrade by Helm leaves alone: certificates that poolgate keeps, and ledgers in use.

use serde_json::json;

use super::Installed;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::readme::block_of;
use crate::support::shell::{shell, workplace};

const UPGRADES: &str = include_str!("../../../../docs/upgrade.md");

#[test]
fn helm_changes_the_namespace_of_the_ledgers_only_while_nobody_uses_it() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    let client = Client::of(&plane);
    let clone = workplace();
    let lines = |lines: &str| shell(clone.path(), Some(plane.kubeconfig()), lines);
    let install = "helm install poolgate manifests/helm --namespace poolgate-system --create-namespace \
                   --set profile=gate,networkPolicy.enabled=false";
    lines(install).success();
    // As the controllers of Deployments would.
    let runs = |name: &str, replicas: u32| {
        let path = format!("/apis/apps/v1/namespaces/poolgate-system/deployments/{name}/status");
        client.merge(&path, &json!({"status": {"replicas": replicas}}));
    };
    let moves = block_of(
        UPGRADES,
        "sh",
        "helm upgrade poolgate manifests/helm --namespace poolgate-system --reset-then-reuse-values --set ledgers",
    );
    let moves = moves.replace("NEW", "state");
    for name in ["poolgate-gate", "poolgate-reconciler"] {
        runs(name, 2);
        let refused = lines(&moves);
        assert!(
            refused
                .stderr
                .contains(&format!("{name} runs with another ledgers.namespace")),
            "{refused:?}"
        );
        lines("helm upgrade poolgate manifests/helm --namespace poolgate-system --reuse-values").success();
        runs(name, 0);
    }
    let stops = block_of(UPGRADES, "sh", "kubectl -n poolgate-system scale");
    lines(&stops.replace("sleep 60", "")).success();
    lines(&moves).success();
    let gate = client
        .get("/apis/apps/v1/namespaces/poolgate-system/deployments/poolgate-gate")
        .expect("a gate");
    assert!(gate.to_string().contains("--ledger-namespace=state"), "{gate:#}");
    assert!(gate["spec"]["replicas"].as_u64() > Some(1), "{gate:#}");
}

#[test]
fn an_upgrade_by_helm_takes_no_certificate_back() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    let client = Client::of(&plane);
    let installed = Installed { plane, client };
    let clone = workplace();
    let helm = |command: &str| {
        let line = format!(
            "helm {command} --namespace poolgate-system --set profile=gate,deletion.enabled=true,networkPolicy.enabled=false"
        );
        shell(clone.path(), Some(installed.plane.kubeconfig()), &line).success();
    };
    helm("install poolgate manifests/helm --create-namespace");
    let mut keeper = installed.keeper(&[]);
    keeper.wait_until_ready();
    let leaf = || installed.secret("poolgate-tls", "tls.crt");
    let before = (installed.bundles(), leaf());
    assert!(before.1.contains("BEGIN CERTIFICATE"), "{before:?}");
    helm("upgrade poolgate manifests/helm --set admission.replicas=3");
    assert_eq!((installed.bundles(), leaf()), before);
    let deployment = "/apis/apps/v1/namespaces/poolgate-system/deployments/poolgate";
    let deployment = installed.client.get(deployment).expect("a Deployment");
    assert_eq!(deployment["spec"]["replicas"], 3, "the upgrade was one");
}
