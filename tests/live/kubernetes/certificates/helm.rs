//! Certificates that poolgate keeps, where Helm has installed it.

use super::Installed;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::shell::{shell, workplace};

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
