//! A live cluster, as far as the commands on files ask one: which flags name it, and what is asked. How it is asked is up
//! to the program: `poolgate` asks it, `poolgate-lint` has no network.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// Which cluster a command reads, in the flags of kubectl.
#[derive(Debug, Args)]
pub struct KubeArgs {
    /// The kubeconfig of the cluster
    /// [default: as kubectl: $KUBECONFIG, ~/.kube/config, then the pod's account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl KubeArgs {
    /// The flags as they are.
    pub fn route(&self) -> ClusterFlags<'_> {
        ClusterFlags {
            kubeconfig: self.kubeconfig.as_deref(),
            context: self.context.as_deref(),
        }
    }
}

/// The values of the flags that lead to a cluster.
#[derive(Debug, Clone, Copy)]
pub struct ClusterFlags<'a> {
    /// The value of `--kubeconfig`.
    pub kubeconfig: Option<&'a Path>,
    /// The value of `--context`.
    pub context: Option<&'a str>,
}

impl ClusterFlags<'_> {
    /// The flags by which the user gives a cluster, with their values.
    pub fn named(self) -> Option<String> {
        let kubeconfig = self
            .kubeconfig
            .map(|path| format!("--kubeconfig {}", path.display()));
        let context = self.context.map(|name| format!("--context {name}"));
        match (kubeconfig, context) {
            (Some(kubeconfig), Some(context)) => Some(format!("{kubeconfig} {context}")),
            (one, other) => one.or(other),
        }
    }
}

/// Whether a command reads a cluster instead of files.
#[derive(Debug, Args)]
pub(crate) struct StoredArgs {
    /// Read the objects of a cluster instead of files
    #[arg(long, conflicts_with = "paths")]
    cluster: bool,

    #[command(flatten)]
    kube: KubeArgs,
}

impl StoredArgs {
    /// Connects to the cluster; none if files are read.
    pub(crate) fn connect(&self, connect: Connect) -> Result<Option<Box<dyn Cluster>>, ClusterReadError> {
        if self.cluster {
            return connect(&self.kube).map(Some);
        }
        match self.kube.route().named() {
            Some(what) => Err(ClusterReadError(format!(
                "{what} has no effect without --cluster: add --cluster, or leave out {what}"
            ))),
            None => Ok(None),
        }
    }
}

/// Why a cluster cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ClusterReadError(pub String);

/// How a program finds the cluster that the flags name.
pub type Connect = fn(&KubeArgs) -> Result<Box<dyn Cluster>, ClusterReadError>;

/// The answer of a program that reads no cluster.
pub(crate) fn files_only(_: &KubeArgs) -> Result<Box<dyn Cluster>, ClusterReadError> {
    Err(ClusterReadError(
        "--cluster: this program reads files only; `poolgate` reads clusters".into(),
    ))
}

/// The path of definitions.
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The path of NodePools. Static ones exist only in v1.
pub const NODE_POOLS: &str = "/apis/karpenter.sh/v1/nodepools";

/// The path of NodeClaims.
pub const NODE_CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

/// The path of nodes.
pub const NODES: &str = "/api/v1/nodes";

/// The path of events.
pub const EVENTS: &str = "/api/v1/events";

/// A cluster that answers one question after the other.
pub trait Cluster {
    /// Where the API server is.
    fn server(&self) -> &str;

    /// The object of this name at a path such as `/api/v1/nodes`, if there is one.
    fn get(&self, path: &str, name: &str) -> Result<Option<Value>, ClusterReadError>;

    /// Hands over each object at a path, while they are read page by page.
    fn list(
        &self,
        path: &str,
        fields: Option<&str>,
        take: &mut TakeObject<'_>,
    ) -> Result<(), ClusterReadError>;

    /// Applies an object on the server, as this field manager, whoever else has written its fields.
    fn apply(&self, path: &str, name: &str, manager: &str, object: &Value) -> Result<(), ClusterReadError>;
}

/// Takes an object of a list, as the API server sent it.
pub type TakeObject<'a> = dyn FnMut(&RawValue) -> serde_json::Result<()> + 'a;

/// Hands over each object at a path as a `K`, while they are read page by page.
pub fn each<K: DeserializeOwned>(
    cluster: &dyn Cluster,
    path: &str,
    fields: Option<&str>,
    mut take: impl FnMut(K),
) -> Result<(), ClusterReadError> {
    cluster.list(path, fields, &mut |object| {
        take(serde_json::from_str(object.get())?);
        Ok(())
    })
}
