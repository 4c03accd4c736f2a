//! The Kubernetes side: which cluster there is, what is watched in it, and the gate of node limits.
//!
//! All of it runs on a thread of its own. No review waits for it: what is known is left in
//! [`ClusterView`](crate::admission::ClusterView), and stays there while the cluster does not answer. Only the gate is
//! waited for, no longer than the request allows.

pub(crate) mod authority;
pub(crate) mod claims;
pub(crate) mod clock;
mod collection;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod definition;
pub(crate) mod gate_metrics;
mod kubeconfig;
mod lease;
pub(crate) mod ledgers;
pub(crate) mod metrics;
mod pool_ledgers;
pub(crate) mod pools;
mod reader;
pub(crate) mod stored;
pub(crate) mod watch;
pub(crate) mod webhooks;

pub(crate) use collection::{Collection, RawObject, Versioned, turn_page};
pub(crate) use config::ClusterArgs;
pub(crate) use connect::{client, client_for_watches, required_cluster, without_kept_connections};
pub(crate) use definition::FIELDS as DEFINITION_FIELDS;
pub(crate) use gate_metrics::GateMetrics;
pub(crate) use lease::{
    Candidate, Leadership, SHORTEST as SHORTEST_LEASE, holder as lease_holder, is_silent as lease_is_silent,
};
pub(crate) use ledgers::{LABEL as LEDGER_LABEL, path as ledgers_path};
pub(crate) use metrics::{ClusterMetrics, WatchMetrics};
pub(crate) use pool_ledgers::{PoolLedgers, VictimError, read_ledger};
pub(crate) use reader::{ClusterReadError, ClusterReader, KubeArgs, StoredArgs};
pub(crate) use watch::{Follower, Watch, backoff, described};
