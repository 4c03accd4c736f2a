//! The Kubernetes side: which cluster there is, how it is called, and what is watched, read and written in it.
//!
//! No review of a NodePool waits for the cluster. The known state is in
//! [`ClusterView`](crate::cluster::view::ClusterView), and stays there while the API server is down.

mod api;
pub mod clock;
mod collection;
pub mod config;
pub mod connect;
pub mod definition;
mod discovery;
mod lease;
pub mod ledgers;
pub mod managed_fields;
pub mod metrics;
pub mod objects;
pub mod pools;
mod reader;
mod reconnect;
pub mod stored_pools;
pub mod view;
pub mod watch;
pub mod webhooks;

pub use api::{ApiError, Deadline, call};
pub use collection::{Collection, Versioned};
pub use config::{ClusterArgs, LedgerArgs};
pub use connect::{client, lasting_client, required_cluster};
pub use definition::FIELDS as DEFINITION_FIELDS;
pub use discovery::served_at;
pub use lease::{
    Candidate, LONGEST as LONGEST_LEASE, Leadership, SHORTEST as SHORTEST_LEASE, age as lease_age,
    holder as lease_holder, is_silent as lease_is_silent, path as leases_path,
};
pub use ledgers::{LedgerError, LedgerStore, path as ledgers_path};
pub use metrics::{ClusterMetrics, WatchMetrics};
pub use reader::ClusterReader;
#[cfg(test)]
pub use reconnect::reconnecting;
pub use watch::{Follower, Watch, backoff};
