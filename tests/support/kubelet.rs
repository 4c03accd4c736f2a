//! The pods of a Deployment, run on this machine as its manifest says: its command, its volumes, its account.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::Client;
use super::control_plane::ControlPlane;
use super::process::Outcome;
use super::program;
use super::running::Running;

/// A pod that runs. What cannot be as it says: it listens on loopback, at any port.
pub(crate) struct Pod {
    running: Running,
    volumes: PathBuf,
    namespace: String,
    spec: Value,
}

impl std::ops::Deref for Pod {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl std::ops::DerefMut for Pod {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.running
    }
}

impl Pod {
    /// Starts a pod of a Deployment as it is stored, and waits until it is ready.
    pub(crate) fn start(plane: &ControlPlane, namespace: &str, deployment: &str) -> Self {
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}");
        let stored = Client::of(plane).get(&path).expect("a Deployment");
        let spec = stored["spec"]["template"]["spec"].clone();
        let directory = Running::directory();
        let volumes = directory.path().to_owned();
        write_volumes(plane, namespace, &spec, &volumes);
        let mut arguments = command_line(plane, namespace, &spec, &volumes);
        if arguments
            .iter()
            .any(|argument| ["serve", "gate"].contains(&argument.as_str()))
        {
            arguments.push("--listen=127.0.0.1:0".into());
        }
        // Said by the harness, too.
        arguments.retain(|argument| argument != "--log-format=json");
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let mut running = Running::start(directory, &arguments);
        running.wait_until_ready();
        // What a controller would report.
        let ready = json!({"status": {"replicas": 1, "readyReplicas": 1}});
        Client::of(plane).merge(&format!("{path}/status"), &ready);
        Self {
            running,
            volumes,
            namespace: namespace.into(),
            spec,
        }
    }

    /// Brings what has changed in its volumes to the pod.
    pub(crate) fn sync(&self, plane: &ControlPlane) {
        write_volumes(plane, &self.namespace, &self.spec, &self.volumes);
    }
}

/// Runs the pod of a Job to its end.
pub(crate) fn run_job(plane: &ControlPlane, namespace: &str, job: &Value) -> Outcome {
    run_pod(plane, namespace, &job["spec"]["template"]["spec"])
}

/// Runs a pod without volumes to its end.
pub(crate) fn run_pod(plane: &ControlPlane, namespace: &str, spec: &Value) -> Outcome {
    let arguments = command_line(plane, namespace, spec, Path::new(""));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    program::run(&arguments, "")
}

/// What the container runs, with the paths of this machine.
fn command_line(plane: &ControlPlane, namespace: &str, spec: &Value, volumes: &Path) -> Vec<String> {
    let container = &spec["containers"][0];
    let account = spec["serviceAccountName"].as_str().expect("an account");
    let kubeconfig = plane.kubeconfig_of(namespace, account);
    let arguments = container["args"].as_array().expect("arguments").iter();
    let arguments = arguments.map(|argument| {
        let mut argument = argument.as_str().expect("a text").to_owned();
        for (name, path) in mounts(container) {
            argument = argument.replace(path, &volumes.join(name).display().to_string());
        }
        argument
    });
    arguments
        .chain([format!("--kubeconfig={}", kubeconfig.display())])
        .collect()
}

/// The names of volumes, and where the container has them.
fn mounts(container: &Value) -> Vec<(&str, &str)> {
    let mounts = container["volumeMounts"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    mounts
        .iter()
        .map(|mount| {
            let of = |field: &str| mount[field].as_str().expect("a text");
            (of("name"), of("mountPath"))
        })
        .collect()
}

/// Writes each volume into a directory of its name. A Secret or ConfigMap that is not there keeps the pod from starting,
/// unless it is optional.
fn write_volumes(plane: &ControlPlane, namespace: &str, spec: &Value, target: &Path) {
    let client = Client::of(plane);
    for volume in spec["volumes"].as_array().map_or(&[][..], Vec::as_slice) {
        let name = volume["name"].as_str().expect("a name");
        let directory = target.join(name);
        fs::create_dir_all(&directory).expect("a directory");
        let (kind, source, object) = if volume["secret"].is_object() {
            ("secrets", &volume["secret"], &volume["secret"]["secretName"])
        } else {
            ("configmaps", &volume["configMap"], &volume["configMap"]["name"])
        };
        let object = object.as_str().expect("a name");
        let found = client.get(&format!("/api/v1/namespaces/{namespace}/{kind}/{object}"));
        if found.is_none() && source["optional"] == true {
            continue;
        }
        let found = found.expect("a volume's source");
        for (key, value) in found["data"].as_object().expect("data") {
            let text = value.as_str().expect("a text");
            let bytes = match kind {
                "secrets" => STANDARD.decode(text).expect("base64"),
                _ => text.as_bytes().to_owned(),
            };
            fs::write(directory.join(key), bytes).expect("a file");
        }
    }
}
