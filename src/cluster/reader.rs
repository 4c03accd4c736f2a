//! A cluster that a command reads once. It is found as kubectl finds it. Each request has a deadline, and a failure
//! names the server and the cure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use kube::config::KubeconfigError;
use poolgate_core::facts::NODEPOOL_DEFINITION;
use poolgate_core::nodelimit::plan::{BudgetsByNamespace, PodOnNode};
use poolgate_core::nodelimit::why::keeps_from_drift;
use poolgate_files::sources::cluster::{
    Cluster, ClusterFlags, ClusterReadError, KubeArgs, Request, TakeObject,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tokio::runtime::{Builder, Runtime};

use super::api::{ApiError, Deadline, Fault, resource};
use super::collection::{Collection, RawObject};
use super::config::{Found, UnusableConfig, UnusableKubeconfig, find_at, kubeconfig_of};
use super::connect;
use super::discovery::served_at;
use super::objects::{
    BudgetObject, DEFINITIONS, EVENTS, NODE_CLAIMS, NODE_POOLS, NODES, NodeKinds, NodeObject,
    POD_DISRUPTION_BUDGETS, PODS, PodObject,
};

/// How long the API server may take for a page or an object.
const ANSWER: Duration = Duration::from_secs(20);

/// The number of objects per page. Only one page is in memory, so a cluster of any size can be read.
const PAGE: u32 = 100;

/// A cluster that is read.
pub struct ClusterReader {
    runtime: Runtime,
    client: Client,
    server: String,
}

impl ClusterReader {
    /// The cluster for the commands on files, which know no Kubernetes client.
    pub fn lend(args: &KubeArgs) -> Result<Cluster, ClusterReadError> {
        let reader = Self::connect(args)?;
        Ok(Cluster {
            server: reader.server.clone(),
            answer: Box::new(move |request, take| reader.answer(request, take)),
        })
    }

    /// Finds the cluster and makes a client. No request is sent yet.
    pub fn connect(args: &KubeArgs) -> Result<Self, ClusterReadError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| ClusterReadError(format!("could not start the Kubernetes client: {error}")))?;
        let route = args.route();
        let config = match runtime.block_on(find_at(route)) {
            Ok(Found::Cluster(mut config)) => {
                // A busy API server, or one that has just been given a definition, answers a moment later.
                config.default_retry = true;
                *config
            }
            Ok(Found::Nowhere) => return Err(nowhere(route)),
            Ok(Found::Unusable(error)) => {
                let cause = match &error {
                    UnusableConfig::Kubeconfig(cause) => Some(cause),
                    UnusableConfig::InCluster(_) => None,
                };
                let what = format!("the cluster cannot be used: {error}");
                return Err(unusable(route, what, cause));
            }
            Err(error) => return Err(unusable(route, error.to_string(), Some(&error.cause))),
        };
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        match runtime.block_on(connect::client(config)) {
            Ok(client) => Ok(Self {
                runtime,
                client,
                server,
            }),
            Err(why) => Err(ClusterReadError(format!(
                "{server}: could not create a client: {why}"
            ))),
        }
    }

    /// Its client, for a command that sends many requests simultaneously.
    pub fn into_parts(self) -> (Runtime, Client) {
        (self.runtime, self.client)
    }

    fn ask<T>(&self, answer: impl Future<Output = Result<T, ApiError>>) -> Result<T, ClusterReadError> {
        self.runtime.block_on(answer).map_err(|error| {
            let (server, verb, resource, why) = (&self.server, error.verb, &error.resource, &error.fault);
            ClusterReadError(match (error.status(), why) {
                (_, Fault::NoAnswer(_)) => {
                    let seconds = ANSWER.as_secs();
                    format!("{server} did not answer within {seconds} s: {verb} {resource}")
                }
                (Some(401), _) => format!("{server} rejected the credentials ({why}). Log in again"),
                (Some(403), _) => format!("{server}: {why}. This requires the verb {verb} on {resource}"),
                (Some(404), _) => format!(
                    "{server} does not serve {resource}: its CRD is missing or lacks this version. Install \
                     Karpenter's CRDs, or choose another cluster with --context"
                ),
                _ if error.is_unreachable() => format!(
                    "{server} is unreachable: {why}. Check the address in the kubeconfig, the VPN and the proxy"
                ),
                _ => format!("{server}: {verb} {resource}: {why}"),
            })
        })
    }
}

impl ClusterReader {
    fn answer(&self, request: Request<'_>, take: &mut TakeObject<'_>) -> Result<(), ClusterReadError> {
        match request {
            Request::Definition => self.one(DEFINITIONS, NODEPOOL_DEFINITION, take),
            Request::NodePools => self.list(NODE_POOLS, None, take),
            Request::NodeClaims => self.list(NODE_CLAIMS, None, take),
            Request::Nodes => self.list(NODES, None, take),
            Request::Kept { nodes, at } => self.kept(nodes, at, take),
            Request::Events { reason, about } => {
                let fields = format!("reason={reason},involvedObject.kind={about}");
                self.list(EVENTS, Some(&fields), take)
            }
            Request::NodeClasses { group, kind } => {
                match self.ask(served_at(&self.client, group, kind, ANSWER))? {
                    Some(path) => self.list(&path, None, take),
                    None => Err(ClusterReadError(format!(
                        "{} does not serve this kind of {group}. Install its CRD",
                        self.server
                    ))),
                }
            }
            Request::Group(group) => self.one("/apis", group, take),
            Request::Apply {
                resource,
                manager,
                object,
            } => self.apply(resource, manager, object),
        }
    }

    fn get<K: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
        name: &str,
    ) -> Result<Option<K>, ClusterReadError> {
        let objects = Collection::<K>::new(self.client.clone(), path);
        self.ask(objects.get_opt(name, Deadline::within(ANSWER)))
    }

    fn one(&self, path: &str, name: &str, take: &mut TakeObject<'_>) -> Result<(), ClusterReadError> {
        match self.get::<RawObject>(path, name)? {
            Some(object) => take(&object).map_err(|error| {
                ClusterReadError(format!("{}: get {}: {error}", self.server, resource(path)))
            }),
            None => Ok(()),
        }
    }

    fn list(
        &self,
        path: &str,
        fields: Option<&str>,
        take: &mut TakeObject<'_>,
    ) -> Result<(), ClusterReadError> {
        self.each(path, fields, |object: RawObject| {
            take(&object).map_err(|error| {
                ClusterReadError(format!("{}: list {}: {error}", self.server, resource(path)))
            })
        })
    }

    fn each<K: DeserializeOwned + Clone + Send + 'static>(
        &self,
        path: &str,
        fields: Option<&str>,
        mut take: impl FnMut(K) -> Result<(), ClusterReadError>,
    ) -> Result<(), ClusterReadError> {
        let objects = Collection::<K>::new(self.client.clone(), path);
        let mut params = ListParams::default().limit(PAGE);
        params.field_selector = fields.map(Into::into);
        let mut pages = objects.pages(params);
        while let Some(page) = self.ask(pages.next(Deadline::within(ANSWER)))? {
            page.into_iter().try_for_each(&mut take)?;
        }
        Ok(())
    }

    /// Pods and budgets are read only if a node may be kept by them.
    fn kept(
        &self,
        nodes: &BTreeMap<String, bool>,
        at: Timestamp,
        take: &mut TakeObject<'_>,
    ) -> Result<(), ClusterReadError> {
        let mut pods: BTreeMap<String, Vec<PodOnNode>> = BTreeMap::new();
        let mut budgets = Vec::new();
        if nodes.values().any(|is_bounded| !is_bounded) {
            self.each(PODS, Some("spec.nodeName!="), |pod: PodObject| {
                if let Some(name) = pod.node_name().filter(|name| nodes.get(*name) == Some(&false)) {
                    pods.entry(name.to_owned()).or_default().push(pod.on_node());
                }
                Ok(())
            })?;
            self.each(POD_DISRUPTION_BUDGETS, None, |budget: BudgetObject| {
                budgets.push(budget.budget());
                Ok(())
            })?;
        }
        let budgets: BudgetsByNamespace = budgets.into_iter().collect();
        let mut kinds = NodeKinds::default();
        self.each(NODES, None, |node: NodeObject| {
            let Some(seen) = node.seen(&mut kinds, &BTreeSet::new()) else {
                return Ok(());
            };
            let Some(is_bounded) = nodes.get(&*seen.node.name) else {
                return Ok(());
            };
            let pods = pods.get(&*seen.node.name).filter(|_| !is_bounded);
            let Some(cause) = keeps_from_drift(&seen.node, pods.map(Vec::as_slice), &budgets, at) else {
                return Ok(());
            };
            to_raw_value(&(&*seen.node.name, cause.text))
                .and_then(|kept| take(&kept))
                .map_err(|error| ClusterReadError(format!("{}: {error}", self.server)))
        })
    }

    fn apply(&self, resource: &str, manager: &str, object: &Value) -> Result<(), ClusterReadError> {
        let text = |field: &str| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let path = format!("/apis/{}/{resource}", text("/apiVersion"));
        let objects = Collection::<IgnoredAny>::new(self.client.clone(), &path);
        let params = PatchParams::apply(manager).force();
        let (share, by) = (Patch::Apply(object), Deadline::within(ANSWER));
        let applied = objects.patch(text("/metadata/name"), &params, &share, by);
        self.ask(applied).map(drop)
    }
}

/// No cluster is configured, or the kubeconfig has contexts and no current one.
fn nowhere(route: ClusterFlags<'_>) -> ClusterReadError {
    match contexts(route) {
        Some(known) => other_context("the kubeconfig has no current context", &known),
        None => ClusterReadError(
            "no cluster found: there is no kubeconfig at $KUBECONFIG or ~/.kube/config, and this process does not \
             run in a pod. Set --kubeconfig FILE"
                .into(),
        ),
    }
}

/// What is wrong, with the existing contexts if the wrong context is the reason.
fn unusable(route: ClusterFlags<'_>, what: String, cause: Option<&UnusableKubeconfig>) -> ClusterReadError {
    let is_context = matches!(
        cause,
        Some(UnusableKubeconfig::Content(
            KubeconfigError::LoadContext(_) | KubeconfigError::CurrentContextNotSet
        ))
    );
    match contexts(route).filter(|_| is_context) {
        Some(known) => other_context(&what, &known),
        None => ClusterReadError(what),
    }
}

fn other_context(what: &str, known: &str) -> ClusterReadError {
    ClusterReadError(format!("{what}. Set --context to one of its contexts: {known}"))
}

/// The contexts of the kubeconfig as a list; none if it has none or cannot be read.
fn contexts(route: ClusterFlags<'_>) -> Option<String> {
    let kubeconfig = kubeconfig_of(route).ok()?;
    let contexts = kubeconfig.contexts.into_iter();
    let names: Vec<String> = contexts.map(|context| context.name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
