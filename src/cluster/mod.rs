//! The Kubernetes side: which cluster there is, what is watched in it, and the gate of node limits.
//!
//! All of it runs on a thread of its own. Nothing here is waited for by a review: what is known is left in
//! [`ClusterView`](crate::admission::ClusterView), and while the cluster does not answer, what was known holds. Only the
//! gate is waited for, and for no longer than who asks says.

mod args;
mod claims;
mod clock;
mod config;
mod definition;
mod gate;
mod gate_metrics;
mod gate_side;
mod ledgers;
mod metrics;
mod pools;
mod run;
mod watch;

pub(crate) use args::ClusterArgs;
pub(crate) use gate::{Ask, Gate, GateSettings, OnError, Outcome};
pub(crate) use gate_metrics::GateMetrics;
pub(crate) use metrics::ClusterMetrics;
pub(crate) use run::{Cluster, ClusterError};
