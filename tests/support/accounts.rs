//! The accounts that the manifests ship, with their rights and fences: what tests start runs by these.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock};

use serde_json::json;

use super::client::Client;
use super::control_plane::ControlPlane;
use super::rendered::{Objects, objects, rendered};

/// The kinds of accounts, of rights and of what these are about, in the order in which they are installed. No webhook is
/// registered that nobody would answer.
const KINDS: [&str; 11] = [
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "PriorityLevelConfiguration",
    "FlowSchema",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "CronJob",
];

/// What is shipped with all rights.
static SHIPPED: LazyLock<Objects> =
    LazyLock::new(|| objects(&rendered("gate", &["--set=reconciler.terminate=true"])));

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
        self.install_those(|_| true);
    }

    /// Installs those with such a kind, namespace and name.
    pub(crate) fn install_those(&self, is_one: impl Fn(&str) -> bool) {
        let client = Client::of(self);
        for kind in KINDS {
            let of_kind = |name: &str| name.split(' ').next() == Some(kind);
            for (_, object) in SHIPPED.iter().filter(|(name, _)| of_kind(name) && is_one(name)) {
                client.apply_object(object);
            }
        }
    }
}
