//! A live cluster for the commands on files: the flags that name it, and the requests to it. The program answers the
//! requests: `poolgate` calls the API server, `poolgate-lint` has no network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;
use poolgate_core::facts::{Installed, ReleaseSource, TargetKarpenter};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::terminal;

/// Which cluster a command reads, in the flags of kubectl.
#[derive(Debug, Args)]
pub struct KubeArgs {
    /// The kubeconfig of the cluster
    /// [default: $KUBECONFIG, else ~/.kube/config, else the service account of the pod]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl KubeArgs {
    /// Connects to the cluster, if one is wanted.
    pub(crate) fn connect(
        &self,
        is_wanted: bool,
        connect: Connect,
    ) -> Result<Option<Cluster>, ClusterReadError> {
        if is_wanted {
            return connect(self).map(Some);
        }
        match self.route().named() {
            Some(what) => Err(ClusterReadError(format!(
                "{what} has no effect without --cluster. Add --cluster, or remove {what}"
            ))),
            None => Ok(None),
        }
    }

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
    #[arg(long, conflicts_with_all = ["paths", "crd"])]
    cluster: bool,

    #[command(flatten)]
    kube: KubeArgs,
}

impl StoredArgs {
    /// Connects to the cluster; none if files are read.
    pub(crate) fn connect(&self, connect: Connect) -> Result<Option<Cluster>, ClusterReadError> {
        self.kube.connect(self.cluster, connect)
    }
}

/// Why a cluster cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ClusterReadError(pub String);

/// How a program finds the cluster that the flags name.
pub type Connect = fn(&KubeArgs) -> Result<Cluster, ClusterReadError>;

/// Why the offline program lacks a command or a flag, and where to get it.
pub(crate) const FILES_ONLY: &str =
    "this program reads files only. The whole program has it: docs/install.md, \"Install the command line\"";

/// The answer of a program that reads no cluster.
pub(crate) fn files_only(_: &KubeArgs) -> Result<Cluster, ClusterReadError> {
    Err(ClusterReadError(format!("--cluster: {FILES_ONLY}")))
}

/// A request to a cluster.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    /// The definition of NodePools; nothing if there is none.
    Definition,
    /// All NodePools.
    NodePools,
    /// All NodeClaims.
    NodeClaims,
    /// All nodes.
    Nodes,
    /// What keeps these nodes from being replaced when they drift: the name of each that is kept, with the reason.
    Kept {
        /// The names of the nodes, with whether something bounds their drain.
        nodes: &'a BTreeMap<String, bool>,
        /// When they are looked at.
        at: Timestamp,
    },
    /// The events with this reason about objects of this kind.
    Events {
        /// The reason of the events.
        reason: &'a str,
        /// The kind of the objects that they are about.
        about: &'a str,
    },
    /// All node classes of a kind.
    NodeClasses {
        /// Their group.
        group: &'a str,
        /// Their kind.
        kind: &'a str,
    },
    /// The group of an API with its versions; nothing if it is not served.
    Group(&'a str),
    /// Applies this object, and takes over its fields from other managers. Hands over nothing.
    Apply {
        /// The resource of its kind, such as `nodepools`.
        resource: &'a str,
        /// Who writes it.
        manager: &'a str,
        /// The object, with its `apiVersion` and name.
        object: &'a Value,
    },
}

/// Answers a request: hands over one object after the other.
pub type Answer = dyn Fn(Request<'_>, &mut TakeObject<'_>) -> Result<(), ClusterReadError>;

/// Takes an object as the API server sent it.
pub type TakeObject<'a> = dyn FnMut(&RawValue) -> serde_json::Result<()> + 'a;

/// A cluster that answers one request after the other.
pub struct Cluster {
    /// Where the API server is.
    pub server: String,
    /// How it answers.
    pub answer: Box<Answer>,
}

impl Cluster {
    /// The Karpenter that the cluster runs; if the user names a release, that release on this cluster.
    pub(crate) fn karpenter(&self, named: &TargetKarpenter) -> anyhow::Result<TargetKarpenter> {
        let definition = self.one(Request::Definition).unwrap_or_else(|error| {
            if named.source() != ReleaseSource::User {
                terminal::remark(&format!(
                    "the Karpenter release of the cluster is unknown (set --karpenter-version): {error}"
                ));
            }
            None
        });
        let installed = definition
            .map(|definition| Installed::parse(&definition))
            .transpose()?;
        Ok(installed.map_or_else(
            || named.clone(),
            |installed| named.with_definition(Arc::new(installed)),
        ))
    }

    /// Hands over each object of the answer as a `K`, while they are read page by page.
    pub(crate) fn each<K: DeserializeOwned>(
        &self,
        request: Request<'_>,
        mut take: impl FnMut(K),
    ) -> Result<(), ClusterReadError> {
        (self.answer)(request, &mut |object| {
            take(serde_json::from_str(object.get())?);
            Ok(())
        })
    }

    /// The object of an answer that has one at most.
    pub(crate) fn one(&self, request: Request<'_>) -> Result<Option<Value>, ClusterReadError> {
        let mut one = None;
        self.each(request, |object| one = Some(object))?;
        Ok(one)
    }
}
