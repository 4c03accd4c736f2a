//! What the user says about the cluster.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

/// What the user says about the cluster.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// The kubeconfig of the cluster whose NodePool definition and NodePools are looked at
    /// [default: what kubectl takes: $KUBECONFIG, ~/.kube/config, then the pod's account]
    #[arg(long, env = "POOLGATE_KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current one]
    #[arg(long, env = "POOLGATE_CONTEXT", value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Where poolgate keeps what it has to remember, such as the ledgers of node limits
    /// [default: the pod's namespace, else that of the context, else `default`]
    #[arg(long, env = "POOLGATE_NAMESPACE", value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Look at no cluster, also where there is one
    #[arg(
        long,
        env = "POOLGATE_NO_CLUSTER",
        action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new()
    )]
    pub(crate) no_cluster: bool,
}
