//! The Kubernetes side: which cluster there is, and what is watched in it.
//!
//! All of it runs on a thread of its own. Nothing here is waited for by a review: what is known is left in
//! [`ClusterView`](crate::admission::ClusterView), and while the cluster does not answer, what was known holds.

mod args;
mod collection;
mod config;
mod connect;
mod definition;
mod lease;
mod metrics;
mod pools;
mod run;
mod watch;
mod watch_metrics;

pub(crate) use args::ClusterArgs;
pub(crate) use metrics::ClusterMetrics;
pub(crate) use run::{Cluster, ClusterError};
pub(crate) use collection::{Collection, Versioned};
pub(crate) use connect::{ConnectError, Connector};
pub(crate) use definition::FIELDS as DEFINITION_FIELDS;
pub(crate) use lease::{Candidate, Leadership, SHORTEST as SHORTEST_LEASE};
pub(crate) use watch::{Follower, Watch, described};
pub(crate) use watch_metrics::WatchMetrics;
