//! The state of a cluster at one moment: what was read, what webhooks answered, and why the rest is not known.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Taint};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::reconciler::Reconciler;
use crate::cluster::ledgers::Stored;
use crate::cluster::webhooks::Webhook;
use crate::objects::{Metadata, Object, PoolLabel, PoolObject, Texts};

/// What was read, or why it was not.
pub(super) type Read<T> = Result<T, String>;

/// A NodeClaim.
pub(super) type ClaimObject = Object<Metadata<PoolLabel, Texts>, IgnoredAny, ClaimStatus>;

/// A node.
pub(super) type NodeObject = Object<Metadata<Texts, Texts>, NodeSpec>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClaimStatus {
    pub(super) node_name: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeSpec {
    pub(super) taints: Option<Vec<Taint>>,
}

/// The API server's answer to an inquiry: a dry run, to which webhooks add their self reports.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    /// Their self reports.
    pub(super) reports: Vec<SelfReport>,
    /// Why it is denied, if it is.
    pub(super) error: Option<String>,
}

/// The self report of a webhook: its words by key.
#[derive(Debug, Clone, Default)]
pub(super) struct SelfReport(BTreeMap<String, String>);

impl SelfReport {
    /// The self report in a warning; `None` if the warning is not from poolgate.
    pub(super) fn of(warning: &str) -> Option<Self> {
        let (_, words) = warning.split_once(crate::admission::inquiry::BEGINNING)?;
        let words = words.split(['"', ' ']).filter_map(|word| word.split_once('='));
        Some(Self(
            words.map(|(key, value)| (key.into(), value.into())).collect(),
        ))
    }

    /// One of its words.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

/// Everything that is known.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) now: Timestamp,
    /// The namespace that poolgate is in.
    pub(super) namespace: String,
    pub(super) webhooks: Read<Vec<Webhook>>,
    /// The answer about a NodePool; `None` if no webhook was asked.
    pub(super) asked: Option<Read<Asked>>,
    /// The answers about a NodeClaim of each pool, and of a pool that does not exist.
    pub(super) asked_of_claims: BTreeMap<String, Read<Asked>>,
    /// The text of the policy, if there is one.
    pub(super) policy: Read<Option<String>>,
    /// The holder of the reconcilers' Lease; `None` if there is no Lease.
    pub(super) reconciler: Read<Option<Reconciler>>,
    pub(super) pools: Read<Vec<PoolObject>>,
    pub(super) claims: Read<Vec<ClaimObject>>,
    pub(super) nodes: Read<Vec<NodeObject>>,
    pub(super) ledgers: Read<Vec<Stored>>,
    pub(super) events: Read<Vec<Event>>,
}
