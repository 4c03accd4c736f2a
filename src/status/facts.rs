//! The state of a cluster at one moment: what was read, what webhooks answered, and why the rest is not known.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Taint};
use serde::Deserialize;

use super::reconciler::Reconciler;
use crate::cluster::ledgers::StoredLedger;
use crate::cluster::objects::{Conditions, Metadata, Object, PoolLabel, PoolObject, Texts};
use crate::cluster::webhooks::Webhook;

/// What was read, or why it was not.
pub type Read<T> = Result<T, String>;

/// A NodeClaim.
pub type ClaimObject = Object<Metadata<PoolLabel, Texts>, ClaimSpec, ClaimStatus>;

/// A node.
pub type NodeObject = Object<Metadata<Texts, Texts>, NodeSpec, NodeStatus>;

/// A Deployment.
pub type DeploymentObject = Object<Metadata, DeploymentSpec, DeploymentStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeploymentSpec {
    pub replicas: u32,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    pub ready_replicas: u32,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSpec {
    pub expire_after: Option<String>,
    pub termination_grace_period: Option<String>,
    pub startup_taints: Option<Vec<Taint>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimStatus {
    pub node_name: Option<String>,
    /// When a pod came to its node or went last.
    pub last_pod_event_time: Option<String>,
    pub conditions: Conditions,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    pub taints: Option<Vec<Taint>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    pub conditions: Conditions,
}

/// The API server's answer to an inquiry: a dry run, to which webhooks add their self reports.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Their self reports.
    pub reports: Vec<SelfReport>,
    /// Why it is denied, if it is.
    pub error: Option<String>,
}

/// The self report of a webhook: its words by key.
#[derive(Debug, Clone, Default)]
pub struct SelfReport(BTreeMap<String, String>);

impl SelfReport {
    /// The self report in a warning; `None` if the warning is not from poolgate.
    pub fn parse(warning: &str) -> Option<Self> {
        let (_, words) = warning.split_once(crate::admission::inquiry::BEGINNING)?;
        let words = words.split(['"', ' ']).filter_map(|word| word.split_once('='));
        Some(Self(
            words.map(|(key, value)| (key.into(), value.into())).collect(),
        ))
    }

    /// One of its words.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

/// Everything that is known.
#[derive(Debug)]
pub struct Facts {
    pub now: Timestamp,
    /// The namespace that poolgate is in.
    pub namespace: String,
    pub webhooks: Read<Vec<Webhook>>,
    /// Those of poolgate's Deployments that exist.
    pub deployments: Read<Vec<DeploymentObject>>,
    /// The answer about a NodePool; `None` if no webhook was to be asked.
    pub asked: Option<Read<Asked>>,
    /// The answers about a NodeClaim of each pool, and of a pool that does not exist.
    pub asked_of_claims: BTreeMap<String, Read<Asked>>,
    /// The text of the policy, if there is one.
    pub policy: Read<Option<String>>,
    /// The holder of the reconcilers' Lease; `None` if there is no Lease.
    pub reconciler: Read<Option<Reconciler>>,
    pub pools: Read<Vec<PoolObject>>,
    pub claims: Read<Vec<ClaimObject>>,
    pub nodes: Read<Vec<NodeObject>>,
    pub ledgers: Read<Vec<StoredLedger>>,
    pub events: Read<Vec<Event>>,
}
