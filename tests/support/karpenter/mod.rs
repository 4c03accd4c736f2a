//! A cluster without machines, in which real Karpenter provisions, drifts, consolidates and expires: a control
//! plane, kube-scheduler, kube-controller-manager, kwok in the place of every kubelet, and Karpenter with its kwok
//! provider. Thirty nodes take some seconds.
//!
//! Karpenter listens on every address with its metrics and its probes; it has no option for less. All else is on
//! loopback.

pub(crate) mod conditions;
pub(crate) mod look;
pub(crate) mod objects;
mod programs;

pub(crate) use programs::{NodeRepair, start_controller_manager};

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::client::Client;
use super::control_plane::ControlPlane;
use super::crds::{karpenter_crd, patched_crd, running_karpenter};
use super::process::Process;

/// Karpenter's definitions, all that 1.14 and 1.15 have. Of its NodePools there is a second form: see [`Definition`].
const DEFINITIONS: [&str; 4] = [
    "karpenter.sh_nodeclaims.yaml",
    "karpenter.sh_nodeoverlays.yaml",
    "karpenter.kwok.sh_kwoknodeclasses.yaml",
    "autoscaling.x-k8s.io_capacitybuffers.yaml",
];

const NODE_CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const NODE_POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Which NodePool definition is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definition {
    /// As Karpenter publishes it.
    Published,
    /// With `nodeLimitMode`, as `poolgate crd patch` writes it.
    Patched,
}

/// Drops in the order of its fields: the control plane last. Several tests may use one, each with pools and
/// Deployments of its own.
pub(crate) struct KarpenterCluster {
    karpenter: Mutex<Process>,
    others: Mutex<[Process; 3]>,
    client: Client,
    plane: ControlPlane,
}

impl KarpenterCluster {
    /// Starts one. `prepare` sees the control plane before Karpenter does: the place for webhooks. What it returns
    /// is handed back.
    pub(crate) fn start<T>(
        definition: Definition,
        repair: NodeRepair,
        prepare: impl FnOnce(&ControlPlane) -> T,
    ) -> (Self, T) {
        let plane = ControlPlane::start();
        for file in DEFINITIONS {
            plane.install_crd(&karpenter_crd(&running_karpenter(), file));
        }
        plane.install_crd(&node_pool_definition(definition));
        let client = Client::of(&plane);
        client.create(
            "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses",
            &objects::node_class(),
        );
        let prepared = prepare(&plane);
        let cluster = Self {
            others: Mutex::new([
                programs::start_controller_manager(&plane, programs::CONTROLLERS),
                programs::start_scheduler(&plane),
                programs::start_kwok(&plane),
            ]),
            karpenter: Mutex::new(programs::start_karpenter(&plane, repair)),
            client,
            plane,
        };
        (cluster, prepared)
    }

    pub(crate) fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// What Karpenter has logged so far.
    pub(crate) fn karpenter_log(&self) -> String {
        lock(&self.karpenter).log()
    }

    /// Stops Karpenter in its tracks.
    #[track_caller]
    pub(crate) fn freeze_karpenter(&self) {
        lock(&self.karpenter).signal("STOP");
    }

    /// Panics with the last output of a program that has stopped.
    #[track_caller]
    pub(crate) fn assert_alive(&self) {
        let (mut karpenter, mut others) = (lock(&self.karpenter), lock(&self.others));
        for process in others.iter_mut().chain([&mut *karpenter]) {
            if let Some(status) = process.exited() {
                panic!("a program of the cluster ended ({status}):\n{}", process.log());
            }
        }
    }

    /// Creates a NodePool that has to be taken.
    #[track_caller]
    pub(crate) fn create_pool(&self, pool: &Value) {
        self.client.create(NODE_POOLS, pool);
    }

    /// Merges `spec` into that of a NodePool.
    #[track_caller]
    pub(crate) fn change_pool(&self, name: &str, spec: &Value) {
        let change = json!({"spec": spec});
        self.client.merge(&format!("{NODE_POOLS}/{name}"), &change);
    }

    /// Lets every node of a pool drift: a label of the template changes.
    #[track_caller]
    pub(crate) fn drift(&self, pool: &str, generation: &str) {
        let labels = json!({"generation": generation});
        self.change_pool(pool, &json!({"template": {"metadata": {"labels": labels}}}));
    }

    /// Creates a Deployment.
    #[track_caller]
    pub(crate) fn deploy(&self, deployment: &Value) {
        self.client.create(DEPLOYMENTS, deployment);
    }

    /// Creates an object of the namespace `default`.
    #[track_caller]
    pub(crate) fn create_in_default(&self, api: &str, resource: &str, object: &Value) {
        let collection = format!("/apis/{api}/namespaces/default/{resource}");
        self.client.create(&collection, object);
    }

    /// Replaces the finalizers of a NodeClaim.
    #[track_caller]
    pub(crate) fn set_finalizers(&self, claim: &str, finalizers: &[Value]) {
        let change = json!({"metadata": {"finalizers": finalizers}});
        self.client.merge(&format!("{NODE_CLAIMS}/{claim}"), &change);
    }

    /// Deletes a NodeClaim, as a user would.
    #[track_caller]
    pub(crate) fn delete_claim(&self, claim: &str) {
        self.client.delete(&format!("{NODE_CLAIMS}/{claim}"));
    }

    /// Changes how many pods a Deployment wants.
    #[track_caller]
    pub(crate) fn scale(&self, deployment: &str, replicas: u32) {
        let change = json!({"spec": {"replicas": replicas}});
        self.client.merge(&format!("{DEPLOYMENTS}/{deployment}"), &change);
    }
}

/// What tests share one at a time: a test that fails leaves nothing half-done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn node_pool_definition(definition: Definition) -> String {
    let release = running_karpenter();
    match definition {
        Definition::Published => karpenter_crd(&release, "karpenter.sh_nodepools.yaml"),
        Definition::Patched => patched_crd(&release, &[]),
    }
}
