//! The programs of others that tests run, which scripts below `tests/` build and `tests/run` names.

use std::env;
use std::path::PathBuf;

/// The directory that `tests/control-plane/build` made: the programs in `bin`, Karpenter's custom resource
/// definitions in `crds`.
pub(crate) fn assets() -> PathBuf {
    let directory = env::var_os("POOLGATE_CONTROL_PLANE").expect(
        "POOLGATE_CONTROL_PLANE is not set: this test needs a Kubernetes control plane; run tests/run, which \
         builds one and sets it",
    );
    PathBuf::from(directory)
}

/// A program of the control plane.
pub(crate) fn program(name: &str) -> PathBuf {
    assets().join("bin").join(name)
}

/// Helm, from `tests/helm/build`.
pub(crate) fn helm() -> PathBuf {
    let program = env::var_os("POOLGATE_HELM").expect(
        "POOLGATE_HELM is not set: this test runs Helm; run tests/run, which builds it, or \
         POOLGATE_HELM=$(tests/helm/build)",
    );
    PathBuf::from(program)
}
