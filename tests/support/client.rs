//! The API server, for tests that ask it more often than kubectl can be started, or all the time.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{io, iter};

use hyper::{Method, Request, StatusCode};
use hyper_util::client::legacy;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Config, Error};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::control_plane::ControlPlane;
use super::wait::PATIENCE;

const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
/// What kubectl asks for to learn which resources there are.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A client with the rights of a cluster administrator. Paths are those of the API, such as
/// `/apis/karpenter.sh/v1/nodepools/general`, with parameters or without.
pub(crate) struct Client {
    runtime: Runtime,
    client: kube::Client,
}

impl Client {
    /// The name of the ledger of this pool.
    pub(crate) fn ledger_name(&self, pool: &str) -> String {
        let stored = self.get(&format!("/apis/karpenter.sh/v1/nodepools/{pool}"));
        let stored = stored.expect("a NodePool");
        let uid = stored["metadata"]["uid"].as_str().expect("a UID");
        format!("poolgate-ledger-{uid}")
    }

    /// A client of a control plane's first API server.
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        Self::by(plane.kubeconfig())
    }

    /// A client of the API server to which a kubeconfig leads.
    pub(crate) fn by(kubeconfig: &Path) -> Self {
        Self::configured(kubeconfig, |_| {})
    }

    /// The same, as another user.
    pub(crate) fn acting_as(kubeconfig: &Path, user: &str) -> Self {
        Self::configured(kubeconfig, |config| {
            config.auth_info.impersonate = Some(user.to_owned());
        })
    }

    fn configured(kubeconfig: &Path, change: impl FnOnce(&mut Config)) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime can be built");
        let client = runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .expect("a kubeconfig that names a cluster");
            change(&mut config);
            kube::Client::try_from(config).expect("a client")
        });
        Self { runtime, client }
    }

    /// What runs the client's requests, for those that last.
    pub fn parts(&self) -> (&Runtime, kube::Client) {
        (&self.runtime, self.client.clone())
    }

    /// Whether the server says that it is ready.
    pub(crate) fn is_ready(&self) -> bool {
        let request = Request::get("/readyz").body(Vec::new()).expect("a request");
        let answer = async { tokio::time::timeout(PATIENCE, self.client.request_text(request)).await };
        matches!(self.runtime.block_on(answer), Ok(Ok(_)))
    }

    /// The server's own metrics.
    pub(crate) fn metrics(&self) -> String {
        let request = Request::get("/metrics").body(Vec::new()).expect("a request");
        let answer = async { tokio::time::timeout(PATIENCE, self.client.request_text(request)).await };
        let text = self.runtime.block_on(answer).expect("an answer in time");
        text.unwrap_or_else(|error| panic!("GET /metrics: {error}"))
    }

    /// The value of one of the server's own metrics, named with its labels; none while it has none.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let text = self.metrics();
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.parse().ok()
    }

    /// The object there, if there is one.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        match self.send(&Method::GET, path, JSON, "") {
            Ok(object) => Some(object),
            Err(Error::Api(status)) if status.is_not_found() => None,
            Err(error) => panic!("GET {path}: {error}"),
        }
    }

    /// The objects of a collection.
    #[track_caller]
    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        let list = self.get(path).unwrap_or_else(|| panic!("{path} is not served"));
        let items = list["items"].as_array();
        items.unwrap_or_else(|| panic!("{path} is no collection")).clone()
    }

    /// Creates an object that has to be taken.
    #[track_caller]
    pub(crate) fn create(&self, collection: &str, object: &Value) -> Value {
        self.try_create(collection, object)
            .unwrap_or_else(|error| panic!("POST {collection}: {error}"))
    }

    /// Creates an object that may be rejected.
    pub(crate) fn try_create(&self, collection: &str, object: &Value) -> Result<Value, Error> {
        self.send(&Method::POST, collection, JSON, &object.to_string())
    }

    /// Replaces an object, or a part of it such as `…/status`, by one that has to be taken.
    #[track_caller]
    pub(crate) fn replace(&self, path: &str, object: &Value) -> Value {
        self.try_replace(path, object)
            .unwrap_or_else(|error| panic!("PUT {path}: {error}"))
    }

    /// Replaces an object by one that may be rejected.
    pub(crate) fn try_replace(&self, path: &str, object: &Value) -> Result<Value, Error> {
        self.send(&Method::PUT, path, JSON, &object.to_string())
    }

    /// Merges `change` into an object; null removes a field.
    #[track_caller]
    pub(crate) fn merge(&self, path: &str, change: &Value) -> Value {
        self.try_merge(path, change)
            .unwrap_or_else(|error| panic!("PATCH {path}: {error}"))
    }

    /// Merges a change that may be rejected.
    pub(crate) fn try_merge(&self, path: &str, change: &Value) -> Result<Value, Error> {
        self.send(&Method::PATCH, path, MERGE_PATCH, &change.to_string())
    }

    /// Merges a change into an object of one of Kubernetes' own kinds, whose lists may be maps by a key.
    #[track_caller]
    pub(crate) fn merge_lists(&self, path: &str, change: &Value) {
        if let Err(error) = self.send(&Method::PATCH, path, STRATEGIC_MERGE_PATCH, &change.to_string()) {
            panic!("PATCH {path}: {error}");
        }
    }

    /// Applies a manifest, in YAML or JSON, to the object at its path, as `kubectl apply --server-side` does.
    #[track_caller]
    pub(crate) fn apply(&self, path: &str, manifest: &str) {
        self.apply_by("kubectl", path, manifest);
    }

    /// The same by another field manager.
    #[track_caller]
    pub(crate) fn apply_by(&self, manager: &str, path: &str, manifest: &str) {
        let applied = format!("{path}?fieldManager={manager}&force=true");
        if let Err(error) = self.send(&Method::PATCH, &applied, APPLY, manifest) {
            panic!("apply {path}: {error:?}");
        }
    }

    /// Applies an object of one of Kubernetes' own kinds.
    #[track_caller]
    pub(crate) fn apply_object(&self, object: &Value) {
        self.apply(&path_of(object), &object.to_string());
    }

    /// Whether kubectl finds a resource, such as `nodepools`, in a group.
    pub(crate) fn discovers(&self, group: &str, resource: &str) -> bool {
        let Some(found) = self.discovery("/apis") else {
            return false;
        };
        let groups = elements(&found["items"]).filter(|found| found["metadata"]["name"] == group);
        let versions = groups.flat_map(|group| elements(&group["versions"]));
        let mut resources = versions.flat_map(|version| elements(&version["resources"]));
        resources.any(|found| found["resource"] == resource)
    }

    /// What the server serves below `/api` or `/apis`.
    fn discovery(&self, root: &str) -> Option<Value> {
        let request = Request::get(root)
            .header("accept", DISCOVERY)
            .body(Vec::new())
            .expect("a request");
        let answer = async { tokio::time::timeout(PATIENCE, self.client.request(request)).await };
        self.runtime.block_on(answer).ok()?.ok()
    }

    /// All objects of all resources that the server can list, each with the name of its resource.
    pub(crate) fn everything(&self) -> Vec<(String, Value)> {
        let mut listed = BTreeSet::new();
        let mut objects = Vec::new();
        for root in ["/api", "/apis"] {
            let found = self.discovery(root).expect("discovery");
            for group in elements(&found["items"]) {
                let name = group["metadata"]["name"].as_str().unwrap_or_default();
                for version in elements(&group["versions"]) {
                    let base = [root, name, version["version"].as_str().expect("a version")];
                    let base = base
                        .into_iter()
                        .filter(|part| !part.is_empty())
                        .collect::<Vec<_>>()
                        .join("/");
                    for resource in elements(&version["resources"]) {
                        let plural = resource["resource"].as_str().expect("a name");
                        let can_list = elements(&resource["verbs"]).any(|verb| verb == "list");
                        if can_list
                            && plural != "componentstatuses"
                            && listed.insert(format!("{plural}.{name}"))
                        {
                            let found = self.list(&format!("{base}/{plural}"));
                            objects.extend(found.into_iter().map(|object| (plural.to_owned(), object)));
                        }
                    }
                }
            }
        }
        objects
    }

    /// Deletes an object, if it is there.
    #[track_caller]
    pub(crate) fn delete(&self, path: &str) {
        match self.send(&Method::DELETE, path, JSON, "") {
            Ok(_) => {}
            Err(Error::Api(status)) if status.is_not_found() => {}
            Err(error) => panic!("DELETE {path}: {error}"),
        }
    }

    /// Deletes an object with options, which may be rejected.
    pub(crate) fn try_delete(&self, path: &str, options: &Value) -> Result<Value, Error> {
        self.send(&Method::DELETE, path, JSON, &options.to_string())
    }

    fn send(&self, method: &Method, path: &str, kind: &str, body: &str) -> Result<Value, Error> {
        let begun = Instant::now();
        loop {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header("content-type", kind)
                .body(body.as_bytes().to_vec())
                .expect("a request");
            let answer = async { tokio::time::timeout(PATIENCE, self.client.request(request)).await };
            let answer = self
                .runtime
                .block_on(answer)
                .unwrap_or_else(|_| panic!("{method} {path}: no answer in {PATIENCE:?}"));
            match answer {
                Err(error) if begun.elapsed() < PATIENCE && may_be_repeated(&error) => {
                    sleep(Duration::from_millis(200));
                }
                answer => return answer,
            }
        }
    }
}

/// Whether an API server has not done what it was asked for, and will: one that has just begun asks for a moment, and on a
/// busy machine a handshake may take longer than the client waits for it.
fn may_be_repeated(error: &Error) -> bool {
    match error {
        Error::Api(status) => status.code == StatusCode::TOO_MANY_REQUESTS.as_u16(),
        Error::Service(error) => error
            .downcast_ref::<legacy::Error>()
            .is_some_and(|error| error.is_connect() && !is_refused(error)),
        _ => false,
    }
}

/// Whether nobody listens there: a server that is gone does not come back by itself.
fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// The path of an object whose resource is named after its kind: in lower case, in the plural.
fn path_of(object: &Value) -> String {
    let text = |field: &Value| field.as_str().expect("a text").to_owned();
    let version = text(&object["apiVersion"]);
    let root = if version.contains('/') { "apis" } else { "api" };
    let kind = text(&object["kind"]).to_lowercase();
    let resource = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    };
    let name = text(&object["metadata"]["name"]);
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{resource}/{name}"),
        None => format!("/{root}/{version}/{resource}/{name}"),
    }
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
