//! A real `poolgate reconcile`.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use super::process::Outcome;
use super::program;
use super::running::Running;

/// Where the manifests let gate and reconciler write.
pub(crate) const LEDGERS: &str = "--ledger-namespace=poolgate-ledgers";

/// A reconciler, with a probe port of its own.
pub(crate) struct Reconciler(Running);

impl Deref for Reconciler {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.0
    }
}

impl DerefMut for Reconciler {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.0
    }
}

impl Reconciler {
    /// Starts one with more arguments, and waits until it has seen the whole cluster.
    pub(crate) fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut reconciler = Self::launch(kubeconfig, arguments);
        reconciler.wait_until_ready();
        reconciler
    }

    /// Starts one with more arguments, and waits until it answers probes.
    pub(crate) fn launch(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let kubeconfig = path(kubeconfig);
        let own = ["reconcile", "--kubeconfig", kubeconfig];
        Self(Running::start(
            Running::directory(),
            &[&own[..], arguments].concat(),
        ))
    }

    /// Takes back every mark, if the conditions in more arguments are met, by a process that ends.
    pub(crate) fn unhold_all(kubeconfig: &Path, arguments: &[&str]) -> Outcome {
        let own = ["reconcile", "--unhold-all", "--kubeconfig", path(kubeconfig)];
        program::run(&[&own[..], arguments].concat(), "")
    }

    /// Whether it writes.
    pub(crate) fn leads(&self) -> bool {
        self.metric("poolgate_leader") == Some(1.0)
    }

    /// Kills it: no signal that it could see.
    pub(crate) fn kill(&self) {
        self.signal("KILL");
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
