//! A cluster that a command reads once. It is found as kubectl finds it. Each request has a deadline, and a failure is
//! reported with the place and with what to do about it.

use std::time::Duration;

use kube::api::ListParams;
use kube::config::KubeconfigError;
use kube::{Client, Error};
use poolgate_lint::cluster::{Cluster, ClusterReadError, KubeArgs, Route, TakeObject};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::collection::{Collection, RawObject, turn_page};
use super::config::{Found, UnusableConfig, find_at, kubeconfig_of};
use super::connect;
use super::kubeconfig::UnusableKubeconfig;
use super::watch::described;

/// How long the API server may take for a page or an object.
const ANSWER: Duration = Duration::from_secs(20);

/// How many objects a page has: no more are in memory at once, so a cluster of any size can be read.
const PAGE: u32 = 100;

/// A cluster that is read.
pub struct ClusterReader {
    runtime: Runtime,
    client: Client,
    server: String,
}

impl ClusterReader {
    /// The same for commands that do not know how a cluster is asked.
    pub fn boxed(args: &KubeArgs) -> Result<Box<dyn Cluster>, ClusterReadError> {
        Ok(Box::new(Self::connect(args)?))
    }

    /// Finds the cluster and makes a client. No request is sent yet.
    pub fn connect(args: &KubeArgs) -> Result<Self, ClusterReadError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| ClusterReadError(format!("no request can be sent: {error}")))?;
        let route = args.route();
        let config = match runtime.block_on(find_at(route)) {
            Ok(Found::Cluster(config)) => *config,
            Ok(Found::Unwanted | Found::Nowhere) => return Err(nowhere(route)),
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
            Err(why) => Err(ClusterReadError(format!("{server}: no client: {why}"))),
        }
    }

    /// Its client, for a command that sends many requests at once.
    pub fn into_parts(self) -> (Runtime, Client) {
        (self.runtime, self.client)
    }

    fn ask<T>(
        &self,
        verb: &'static str,
        path: &str,
        answer: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, ClusterReadError> {
        let answer = self.runtime.block_on(async { timeout(ANSWER, answer).await });
        let (server, resource) = (&self.server, resource(path));
        let error = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => {
                let seconds = ANSWER.as_secs();
                return Err(ClusterReadError(format!(
                    "{server} has not answered within {seconds} s: {verb} {resource}"
                )));
            }
        };
        let why = described(&error);
        Err(ClusterReadError(match &error {
            Error::Api(status) if status.code == 401 => {
                format!("{server} rejects these credentials ({why}): log in again")
            }
            Error::Api(status) if status.code == 403 => {
                format!("{server}: {why}; you need the verb {verb} on {resource}")
            }
            Error::Api(status) if status.code == 404 => format!(
                "{server} does not serve {resource}: its CRD is not installed, or not in this version; name another \
                 cluster with --context, or install Karpenter's CRDs"
            ),
            Error::HyperError(_) | Error::Service(_) => format!(
                "{server} cannot be reached: {why}; check the address in the kubeconfig, and the way there (VPN, proxy)"
            ),
            _ => format!("{server}: {verb} {resource}: {why}"),
        }))
    }
}

impl Cluster for ClusterReader {
    fn server(&self) -> &str {
        &self.server
    }

    fn get(&self, path: &str, name: &str) -> Result<Option<Value>, ClusterReadError> {
        let objects = Collection::<Value>::new(self.client.clone(), path);
        self.ask("get", path, objects.get_opt(name))
    }

    fn list(
        &self,
        path: &str,
        fields: Option<&str>,
        take: &mut TakeObject<'_>,
    ) -> Result<(), ClusterReadError> {
        let objects = Collection::<RawObject>::new(self.client.clone(), path);
        let mut params = ListParams::default().limit(PAGE);
        params.field_selector = fields.map(Into::into);
        loop {
            let page = self.ask("list", path, objects.list(&params))?;
            for object in page.items {
                take(&object).map_err(|error| {
                    ClusterReadError(format!("{}: list {}: {error}", self.server, resource(path)))
                })?;
            }
            if !turn_page(&mut params, page.metadata.continue_) {
                return Ok(());
            }
        }
    }
}

/// The resource of an API path, as in RBAC rules: `nodepools.karpenter.sh`.
fn resource(path: &str) -> String {
    let mut parts = path.rsplit('/');
    let (resource, _version, group) = (parts.next(), parts.next(), parts.next());
    let resource = resource.unwrap_or_default();
    match group {
        Some(group) if group != "api" => format!("{resource}.{group}"),
        _ => resource.to_owned(),
    }
}

/// No cluster is configured, or the kubeconfig has contexts and no current one.
fn nowhere(route: Route<'_>) -> ClusterReadError {
    match contexts(route) {
        Some(known) => other_context("the kubeconfig has no current context", &known),
        None => ClusterReadError(
            "there is no cluster: no kubeconfig at $KUBECONFIG or ~/.kube/config, and this process does not run in a \
             pod; give --kubeconfig FILE"
                .into(),
        ),
    }
}

/// What is wrong, with the existing contexts if the wrong context is the reason.
fn unusable(route: Route<'_>, what: String, cause: Option<&UnusableKubeconfig>) -> ClusterReadError {
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
    ClusterReadError(format!(
        "{what}; give --context with one of its contexts: {known}"
    ))
}

/// The contexts of the kubeconfig as a list; none if it has none or cannot be read.
fn contexts(route: Route<'_>) -> Option<String> {
    let kubeconfig = kubeconfig_of(route).ok()?;
    let contexts = kubeconfig.contexts.into_iter();
    let names: Vec<String> = contexts.map(|context| context.name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_as_rights_name_it() {
        for (path, name) in [
            ("/api/v1/nodes", "nodes"),
            ("/apis/karpenter.sh/v1/nodepools", "nodepools.karpenter.sh"),
        ] {
            assert_eq!(resource(path), name);
        }
    }
}
