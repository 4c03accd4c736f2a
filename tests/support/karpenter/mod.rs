//! A cluster without machines, in which real Karpenter provisions, drifts, consolidates and expires: a control
//! plane, kube-scheduler, kube-controller-manager, kwok in the place of every kubelet, and Karpenter with its kwok
//! provider. Thirty nodes take some seconds.
//!
//! Karpenter listens on every address with its metrics and its probes; it has no option for less. All else is on
//! loopback.

pub(crate) mod look;
pub(crate) mod objects;
mod programs;

use std::process::Command;
use std::time::Duration;

use super::client::Client;
use super::control_plane::ControlPlane;
use super::crds::{V1, karpenter_crd};
use super::process::{Process, run};
use super::wait::wait_for;

/// Karpenter's definitions, all that 1.14 has. Of its NodePools there is a second form: see [`Definition`].
const DEFINITIONS: [&str; 4] = [
    "karpenter.sh_nodeclaims.yaml",
    "karpenter.sh_nodeoverlays.yaml",
    "karpenter.kwok.sh_kwoknodeclasses.yaml",
    "autoscaling.x-k8s.io_capacitybuffers.yaml",
];

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

/// Drops in the order of its fields: the control plane last.
pub(crate) struct KarpenterCluster {
    karpenter: Process,
    kwok: Process,
    scheduler: Process,
    controller_manager: Process,
    client: Client,
    plane: ControlPlane,
}

impl KarpenterCluster {
    /// Starts one. `prepare` sees the control plane before Karpenter does: the place for webhooks.
    pub(crate) fn start(definition: Definition, prepare: impl FnOnce(&ControlPlane)) -> Self {
        let plane = ControlPlane::start();
        for file in DEFINITIONS {
            plane.install_crd(&karpenter_crd(V1, file));
        }
        plane.install_crd(&node_pool_definition(definition));
        let client = Client::of(&plane);
        client.create(
            "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses",
            &objects::node_class(),
        );
        prepare(&plane);
        Self {
            controller_manager: programs::start_controller_manager(&plane),
            scheduler: programs::start_scheduler(&plane),
            kwok: programs::start_kwok(&plane),
            karpenter: programs::start_karpenter(&plane),
            client,
            plane,
        }
    }

    pub(crate) fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// What Karpenter has logged so far.
    pub(crate) fn karpenter_log(&self) -> String {
        self.karpenter.log()
    }

    /// Waits for something that the programs bring about; panics with their last words if one of them has ended, or
    /// if it takes longer than `deadline`.
    #[track_caller]
    pub(crate) fn wait_for<T>(
        &mut self,
        what: &str,
        deadline: Duration,
        mut look: impl FnMut(&Self) -> Option<T>,
    ) -> T {
        wait_for(what, deadline, || {
            let found = look(self);
            if found.is_none() {
                self.assert_alive();
                // Each look is a request.
                std::thread::sleep(Duration::from_millis(80));
            }
            found
        })
    }

    #[track_caller]
    fn assert_alive(&mut self) {
        for process in [
            &mut self.karpenter,
            &mut self.kwok,
            &mut self.scheduler,
            &mut self.controller_manager,
        ] {
            if let Some(status) = process.exited() {
                panic!("a program of the cluster ended ({status}):\n{}", process.log());
            }
        }
    }

    /// Creates a NodePool that has to be taken.
    #[track_caller]
    pub(crate) fn create_pool(&self, pool: &serde_json::Value) {
        self.client.create(NODE_POOLS, pool);
    }

    /// Merges `spec` into that of a NodePool.
    #[track_caller]
    pub(crate) fn change_pool(&self, name: &str, spec: &serde_json::Value) {
        let change = serde_json::json!({"spec": spec});
        self.client.merge(&format!("{NODE_POOLS}/{name}"), &change);
    }

    /// Lets every node of a pool drift: a label of the template changes.
    #[track_caller]
    pub(crate) fn drift(&self, pool: &str, generation: &str) {
        let labels = serde_json::json!({"generation": generation});
        self.change_pool(
            pool,
            &serde_json::json!({"template": {"metadata": {"labels": labels}}}),
        );
    }

    /// Creates a Deployment.
    #[track_caller]
    pub(crate) fn deploy(&self, deployment: &serde_json::Value) {
        self.client.create(DEPLOYMENTS, deployment);
    }

    /// Changes how many pods a Deployment wants.
    #[track_caller]
    pub(crate) fn scale(&self, deployment: &str, replicas: u32) {
        let change = serde_json::json!({"spec": {"replicas": replicas}});
        self.client.merge(&format!("{DEPLOYMENTS}/{deployment}"), &change);
    }
}

fn node_pool_definition(definition: Definition) -> String {
    let published = karpenter_crd(V1, "karpenter.sh_nodepools.yaml");
    match definition {
        Definition::Published => published,
        Definition::Patched => {
            let mut patch = Command::new(env!("CARGO_BIN_EXE_poolgate"));
            run(patch.args(["crd", "patch"]), &published, Duration::from_mins(1)).success()
        }
    }
}
