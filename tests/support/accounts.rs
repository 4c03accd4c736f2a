//! The accounts that the manifests ship, with their rights and fences: what tests start runs by these.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use poolgate_core::manifest::{Limits, parse};
use serde_json::json;

use super::client::Client;
use super::control_plane::ControlPlane;

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests");

/// Accounts, rights and what these are about; no webhook is registered that nobody would answer.
const FILES: [&str; 17] = [
    "base/namespace.yaml",
    "base/serviceaccount.yaml",
    "base/rbac.yaml",
    "base/ledgers.yaml",
    "components/gate/serviceaccount.yaml",
    "components/gate/rbac.yaml",
    "components/gate/validatingadmissionpolicy.yaml",
    "components/gate/flowcontrol.yaml",
    "components/reconciler/serviceaccount.yaml",
    "components/reconciler/rbac.yaml",
    "components/reconciler/repair.yaml",
    "components/reconciler/validatingadmissionpolicy.yaml",
    "components/unhold/serviceaccount.yaml",
    "components/unhold/rbac.yaml",
    "components/unhold/validatingadmissionpolicy.yaml",
    "components/unhold/cronjob.yaml",
    "components/terminate/rbac.yaml",
];

/// Whose rights a process has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Account {
    Server,
    Gate,
    Reconciler,
    Unhold,
}

impl Account {
    const fn name(self) -> &'static str {
        match self {
            Self::Server => "poolgate",
            Self::Gate => "poolgate-gate",
            Self::Reconciler => "poolgate-reconciler",
            Self::Unhold => "poolgate-unhold",
        }
    }
}

/// What of the accounts a control plane has already.
#[derive(Default)]
pub(crate) struct InstalledAccounts {
    all: OnceLock<()>,
    kubeconfigs: Mutex<BTreeSet<PathBuf>>,
}

impl ControlPlane {
    /// Installs the accounts, and writes a kubeconfig of one that leads to the first API server.
    pub(crate) fn kubeconfig_by(&self, account: Account) -> PathBuf {
        self.kubeconfig_at(self.kubeconfig(), account)
    }

    /// The same, where another kubeconfig leads to.
    pub(crate) fn kubeconfig_at(&self, server: &Path, account: Account) -> PathBuf {
        self.install_accounts_once();
        let name = account.name();
        let path = server.with_file_name(format!("{name}.kubeconfig"));
        // Tests that share a control plane share the file.
        let mut written = self.accounts().kubeconfigs.lock().expect("no writer has failed");
        if written.contains(&path) {
            return path;
        }
        // The default namespace is the one that it may write to.
        self.write_kubeconfig_of(server, ("poolgate-system", name), "poolgate-ledgers");
        written.insert(path.clone());
        path
    }

    /// Makes a namespace in which the gate may write as it may where it is shipped to, for gates that share no ledgers
    /// with others.
    pub(crate) fn create_ledger_namespace(&self, name: &str) {
        self.install_accounts_once();
        let client = Client::of(self);
        client.create("/api/v1/namespaces", &json!({"metadata": {"name": name}}));
        for kind in ["roles", "rolebindings"] {
            let path =
                |namespace| format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/{kind}");
            let shipped = format!("{}/poolgate-gate", path("poolgate-ledgers"));
            let mut copy = client.get(&shipped).expect("what the gate is shipped with");
            copy["metadata"] = json!({"name": "poolgate-gate"});
            client.create(&path(name), &copy);
        }
    }

    fn install_accounts_once(&self) {
        self.accounts().all.get_or_init(|| self.install_accounts());
    }

    /// Installs the accounts as they are shipped, also what of them is missing.
    pub(crate) fn install_accounts(&self) {
        self.install_files(&FILES);
    }

    /// Installs the objects of these files of the manifests.
    pub(crate) fn install_files(&self, files: &[&str]) {
        let client = Client::of(self);
        for file in files {
            let text = fs::read_to_string(format!("{MANIFESTS}/{file}")).expect("a manifest");
            for document in parse(&text, &Limits::default()) {
                client.apply_object(&document.into_value());
            }
        }
    }
}
