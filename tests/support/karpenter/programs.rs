//! How the programs of a cluster without machines are started.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::objects::instance_types;
use crate::support::assets::{assets, program};
use crate::support::control_plane::ControlPlane;
use crate::support::crds::running_karpenter;
use crate::support::process::Process;

/// What pods and nodes need of kube-controller-manager; the rest would only cost time.
pub const CONTROLLERS: &str = "deployment-controller,replicaset-controller,garbage-collector-controller,\
                                      namespace-controller,disruption-controller,node-lifecycle-controller,\
                                      pod-garbage-collector-controller";

/// kwok's stages in the order in which it reads them.
const STAGES: [&str; 5] = [
    "node-initialize",
    "node-heartbeat-with-lease",
    "pod-ready",
    "pod-complete",
    "pod-delete",
];

/// What Karpenter does about broken nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeRepair {
    /// Nothing, as it is by default.
    Off,
    /// It replaces them: since 1.15 as it replaces drifted ones, before as in [`Self::Legacy`].
    On,
    /// It deletes them at once, whatever becomes of their pods.
    Legacy,
}

/// Puts pods on nodes.
pub fn start_scheduler(plane: &ControlPlane) -> Process {
    let mut command = Command::new(program("kube-scheduler"));
    command.args(["--leader-elect=false", "--secure-port=0"]);
    with_kubeconfig(&mut command, plane);
    Process::start("kube-scheduler", &command, plane.directory())
}

/// Runs these controllers of Kubernetes.
pub(crate) fn start_controller_manager(plane: &ControlPlane, controllers: &str) -> Process {
    let mut command = Command::new(program("kube-controller-manager"));
    let controllers = format!("--controllers={controllers}");
    command.args(["--leader-elect=false", "--secure-port=0", &controllers]);
    with_kubeconfig(&mut command, plane);
    Process::start("kube-controller-manager", &command, plane.directory())
}

/// Plays kubelet for every node.
pub fn start_kwok(plane: &ControlPlane) -> Process {
    let mut command = Command::new(program("kwok"));
    command.args(["--manage-all-nodes", "--node-lease-duration-seconds=40"]);
    for stage in STAGES {
        let stage = assets().join("stages").join(format!("{stage}.yaml"));
        command.arg(format!("--config={}", stage.display()));
    }
    with_kubeconfig(&mut command, plane);
    // It would read the user's own configuration too.
    command.env("HOME", plane.directory());
    Process::start("kwok", &command, plane.directory())
}

/// Karpenter with its kwok provider: where a cloud would launch a machine, it creates the Node.
pub fn start_karpenter(plane: &ControlPlane, repair: NodeRepair) -> Process {
    let directory = plane.directory();
    let types = directory.join("instance-types.json");
    fs::write(&types, instance_types().to_string()).expect("the instance types can be written");
    let mut command = Command::new(program(&format!("karpenter-{}", running_karpenter())));
    command
        .env("KUBECONFIG", plane.kubeconfig())
        .env("INSTANCE_TYPES_FILE_PATH", types)
        .envs([
            ("SYSTEM_NAMESPACE", "kube-system"),
            ("KUBERNETES_MIN_VERSION", "1.19.0-0"),
            ("DISABLE_LEADER_ELECTION", "true"),
            (
                "FEATURE_GATES",
                match repair {
                    NodeRepair::Off => "StaticCapacity=true",
                    NodeRepair::On | NodeRepair::Legacy => "StaticCapacity=true,NodeRepair=true",
                },
            ),
            // Any free port.
            ("METRICS_PORT", "0"),
            ("HEALTH_PROBE_PORT", "0"),
        ]);
    if repair == NodeRepair::Legacy {
        // 1.14 knows no other way, and does not know the variable.
        command.env("LEGACY_NODE_REPAIR", "true");
    }
    Process::start("karpenter", &command, directory)
}

fn with_kubeconfig(command: &mut Command, plane: &ControlPlane) {
    let flag = |path: &Path| format!("--kubeconfig={}", path.display());
    command.arg(flag(plane.kubeconfig()));
}
