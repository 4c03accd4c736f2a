//! The state of a cluster at one moment: what was read, what webhooks answered, and why the rest is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use poolgate_core::facts::{Installed, KarpenterVersion, TargetKarpenter};
use poolgate_core::nodelimit::plan::{BudgetsByNamespace, Claim, Condition, Node, PodOnNode};
use poolgate_core::nodelimit::why::Details;
use poolgate_core::pods::Needs;
use poolgate_core::policy::Policy;
use serde::Deserialize as _;
use serde_json::Value;

use super::reconciler::Reconciler;
use crate::cluster::ledgers::StoredLedger;
use crate::cluster::objects::{
    ClaimObject, DeploymentObject, Interned, NodeKinds, NodeObject, Origin, PoolObject, SeenClaim, SeenNode,
};
use crate::cluster::webhooks::Webhook;
use crate::serving::registration::host_and_path;

/// A value that was read, or why it was not.
pub type Read<T> = Result<T, String>;

/// A NodeClaim of a pool.
#[derive(Debug, Clone)]
pub struct KnownClaim {
    pub claim: Arc<Claim>,
    /// The name of its pool.
    pub pool: Arc<str>,
    pub details: Details,
    pub origin: Origin,
}

/// A node of a pool.
#[derive(Debug, Clone)]
pub struct KnownNode {
    pub node: Arc<Node>,
    /// The name of its pool.
    pub pool: Arc<str>,
    /// Its condition `Ready`.
    pub ready: Option<Condition>,
}

impl KnownClaim {
    /// What is known of a NodeClaim; `None` if it belongs to no pool.
    pub fn of(object: &Value) -> Option<Self> {
        let claim = ClaimObject::deserialize(object).ok()?;
        let details = claim.details();
        let SeenClaim { claim, pool, .. } = claim.seen(&mut Interned::default())?;
        Some(Self {
            claim,
            pool,
            details,
            origin: Origin::deserialize(object).ok()?,
        })
    }

    /// Its node, or the claim itself.
    pub fn node_or_claim(&self) -> &str {
        self.details.node_name.as_deref().unwrap_or(&self.claim.name)
    }
}

impl KnownNode {
    /// What is known of a node; `None` if it belongs to no pool.
    pub fn of(object: NodeObject) -> Option<Self> {
        let ready = object.ready();
        let seen = object.seen(&mut NodeKinds::default(), &BTreeSet::new())?;
        let SeenNode { node, pool, .. } = seen;
        Some(Self { node, pool, ready })
    }
}

/// The API server's answer to an inquiry: a dry run, to which webhooks add their self reports.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Their self reports.
    pub reports: Vec<SelfReport>,
    /// The reason of a denial.
    pub error: Option<String>,
}

/// The self report of a webhook: its words by key.
#[derive(Debug, Clone, Default)]
pub struct SelfReport(BTreeMap<String, String>);

impl SelfReport {
    /// The self report in a warning; `None` if the warning is not from poolgate.
    pub fn parse(warning: &str) -> Option<Self> {
        let (_, words) = warning.split_once(crate::serving::admission::inquiry::BEGINNING)?;
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
    /// The answer about a NodePool; `None` without `--probe`.
    pub asked: Option<Read<Asked>>,
    /// The answers about a NodeClaim of each pool, and of a pool that does not exist.
    pub asked_of_claims: BTreeMap<String, Read<Asked>>,
    /// The text of the policy, if there is one.
    pub policy: Read<Option<String>>,
    /// The holder of the reconcilers' Lease; `None` if there is no Lease.
    pub reconciler: Read<Option<Reconciler>>,
    /// The installed definition of NodePools.
    pub definition: Read<Option<Installed>>,
    pub pools: Read<Vec<PoolObject>>,
    pub claims: Read<Vec<KnownClaim>>,
    pub nodes: Read<Vec<KnownNode>>,
    /// The needs of the pods for which the scheduler finds no node.
    pub waiting: Read<Vec<Arc<Needs>>>,
    pub ledgers: Read<Vec<StoredLedger>>,
    pub events: Read<Vec<Event>>,
}

/// Pods by the name of their node.
pub type PodsByNode = BTreeMap<Box<str>, Vec<PodOnNode>>;

/// What decides why nodes stay, besides their own objects.
#[derive(Debug)]
pub struct Kept {
    pub pods: Read<PodsByNode>,
    pub budgets: Read<BudgetsByNamespace>,
    /// Those about nodes and NodeClaims.
    pub events: Read<Vec<Event>>,
}

impl Facts {
    /// The step to the installed release from the line before.
    pub fn step(&self) -> Option<(KarpenterVersion, KarpenterVersion)> {
        let installed = self.definition.as_ref().ok()?.as_ref()?;
        let installed = installed.releases?.newest;
        Some((installed.line_before()?, installed))
    }

    /// The Karpenter that NodePools are checked for: the installed one, else the one that the policy names.
    pub fn karpenter(&self, policy: &Policy) -> TargetKarpenter {
        let installed = self.definition.as_ref().ok().and_then(Option::as_ref);
        let installed = installed
            .map(|installed| TargetKarpenter::default().with_definition(Arc::new(installed.clone())));
        installed.or_else(|| policy.cluster.target()).unwrap_or_default()
    }

    /// Whether the gate is registered, if that is known.
    pub fn has_gate(&self) -> Option<bool> {
        let webhooks = self.webhooks.as_ref().ok()?;
        let mut paths = webhooks.iter().map(|webhook| host_and_path(webhook).1);
        Some(paths.any(|path| path.starts_with("/gate")))
    }

    /// The policy, if it is known.
    pub fn policy(&self) -> Option<Policy> {
        let text = self.policy.as_ref().ok()?.as_deref();
        text.map_or(Some(Policy::default()), |text| {
            Some(poolgate_core::policy_file::parse(text).ok()?.policy)
        })
    }
}

/// What could not be read, and why, by what it is.
pub fn unread<'e>(parts: impl IntoIterator<Item = (&'static str, Option<&'e String>)>) -> Vec<String> {
    let failed = parts.into_iter();
    failed
        .filter_map(|(name, error)| Some(format!("{name}: {}", error?)))
        .collect()
}
