//! Control planes for tests that do not disturb each other: each keeps to objects whose names begin with a word of its
//! own, and registers webhooks for those alone. They end with the test program.

use std::sync::LazyLock;

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, V1_AND_V1BETA1, patched_crd};
use crate::support::poolgate::Poolgate;

/// A control plane, and a poolgate that watches it and is asked about all objects whose names begin with `asked-`.
pub struct Shared {
    pub plane: ControlPlane,
    poolgate: Poolgate,
}

static PUBLISHED: LazyLock<Shared> =
    LazyLock::new(|| Shared::start(|plane| plane.install_karpenter_crds(V1)));

static PATCHED: LazyLock<Shared> =
    LazyLock::new(|| Shared::start(|plane| plane.install_crd(&patched_crd(V1, &[]))));

static BOTH_VERSIONS: LazyLock<Shared> =
    LazyLock::new(|| Shared::start(|plane| plane.install_karpenter_crds(V1_AND_V1BETA1)));

impl Shared {
    /// One of its own, with the definitions that `define` installs.
    pub fn start(define: impl FnOnce(&ControlPlane)) -> Self {
        let plane = ControlPlane::start();
        define(&plane);
        let poolgate = Poolgate::serve_watching(&plane.kubeconfig_by(Account::Server), &[]);
        let shared = Self { plane, poolgate };
        shared.ask_about("asked-");
        shared
    }

    /// Lets the API server ask about objects whose names begin so.
    pub fn ask_about(&self, prefix: &str) {
        self.plane
            .register_webhooks_for(prefix, &self.poolgate.base_url(), &self.poolgate.ca());
    }
}

/// With Karpenter's definitions as they were published.
pub fn published() -> &'static Shared {
    &PUBLISHED
}

/// With the NodePool definition that `poolgate crd patch` makes of the published one.
pub fn patched() -> &'static Shared {
    &PATCHED
}

/// With the definitions of the last release that serves v1beta1 too.
pub fn both_versions() -> &'static Shared {
    &BOTH_VERSIONS
}
