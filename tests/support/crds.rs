//! Custom resource definitions: where Karpenter's lie, and how they come into a control plane.

use std::env;
use std::fs;
use std::path::PathBuf;

use poolgate_core::manifest::{Limits, parse};

use super::assets::assets;
use super::client::Client;
use super::control_plane::ControlPlane;
use super::program;
use super::wait::wait_for;

/// The release whose NodePools are served as v1 alone.
pub(crate) const V1: &str = "1.15.0";
/// The last release line whose NodePools are served as v1 and as v1beta1.
pub(crate) const V1_AND_V1BETA1: &str = "1.0.8";

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The release that runs in a cluster with Karpenter: the newest, or what `POOLGATE_TEST_KARPENTER` names.
pub(crate) fn running_karpenter() -> String {
    env::var("POOLGATE_TEST_KARPENTER").unwrap_or_else(|_| V1.to_owned())
}

/// A file of Karpenter's definitions, such as `karpenter.sh_nodepools.yaml`.
pub(crate) fn karpenter_crd(release: &str, file: &str) -> String {
    let path = directory(release).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The NodePool definition of a release as `poolgate crd patch` makes it, with more arguments.
pub(crate) fn patched_crd(release: &str, arguments: &[&str]) -> String {
    let published = karpenter_crd(release, "karpenter.sh_nodepools.yaml");
    program::run(&[&["crd", "patch"], arguments].concat(), &published).success()
}

fn directory(release: &str) -> PathBuf {
    assets().join("crds").join(format!("karpenter-{release}"))
}

impl ControlPlane {
    /// Installs the NodePool and NodeClaim definitions of a Karpenter release, as they were published.
    pub(crate) fn install_karpenter_crds(&self, release: &str) {
        for file in ["karpenter.sh_nodepools.yaml", "karpenter.sh_nodeclaims.yaml"] {
            self.install_crd(&karpenter_crd(release, file));
        }
    }

    /// Installs one definition and waits until kubectl can work with its objects.
    pub(crate) fn install_crd(&self, manifest: &str) {
        let client = Client::of(self);
        let document = parse(manifest, &Limits::default()).next();
        let definition = document.expect("a definition is one document").into_value();
        let name = definition["metadata"]["name"].as_str();
        let name = name.expect("a definition has a name");
        client.apply(&format!("{DEFINITIONS}/{name}"), manifest);
        let (plural, group) = name
            .split_once('.')
            .expect("a definition is named after its group");
        wait_for(&format!("{name} to be served"), || {
            client.discovers(group, plural).then_some(())
        });
    }
}
