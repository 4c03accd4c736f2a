//! What was seen of a NodePool.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use poolgate_core::api::{AtLimit, OverLimit};
use poolgate_core::changes::{ChangeKind, between};
use poolgate_core::diagnostic::Severity;
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::nodelimit::plan::{ClaimState, Node, PodOnNode, Pool};
use poolgate_core::nodelimit::why::KnownPool;
use poolgate_core::policy::Policy;
use poolgate_core::pool::NodePool;
use poolgate_core::review::{Request, Subject, review};
use poolgate_core::rules::used_up;

use super::facts::{Facts, KnownClaim, KnownNode};
use crate::cluster::ledgers::{self, StoredLedger};
use crate::cluster::objects::PoolObject;

/// All nodes by name, if they could be read.
#[derive(Debug)]
pub struct NodesByName<'f>(Option<BTreeMap<&'f str, &'f KnownNode>>);

impl<'f> NodesByName<'f> {
    pub fn of(facts: &'f Facts) -> Self {
        let nodes = facts.nodes.as_ref().ok();
        Self(nodes.map(|nodes| nodes.iter().map(|known| (&*known.node.name, known)).collect()))
    }

    /// The node of a NodeClaim.
    pub fn of_claim(&self, claim: &KnownClaim) -> Option<&'f KnownNode> {
        self.0.as_ref()?.get(claim.details.node_name.as_deref()?).copied()
    }

    /// A NodeClaim with its node and these pods on it.
    pub fn state(&self, known: &'f KnownClaim, pods: &'f [PodOnNode]) -> ClaimState<'f> {
        ClaimState {
            claim: &known.claim,
            node: self.of_claim(known).map(|known| &*known.node),
            tries: None,
            pods: pods.iter().map(|pod| &*pod.pod).collect(),
        }
    }
}

/// What was seen of a pool.
pub struct PoolFacts<'f> {
    pub facts: &'f Facts,
    /// What core judges by.
    pub known: KnownPool<'f>,
    /// What becomes of nodes above its limit. What the NodePool leaves to the policy is known only if the policy is.
    pub over_limit: Option<OverLimit>,
    /// Which of its nodes are replaced at the limit, if that is known.
    pub at_limit: Option<AtLimit>,
    /// How many pods wait that one of its nodes could take.
    pub waiting: usize,
    /// Limits of other resources than nodes that are used up.
    pub used_up: Vec<String>,
    /// The used shares of its limits of processors and memory.
    pub limits_used: [Option<f64>; 2],
    /// How many errors and warnings `lint` finds.
    pub findings: [usize; 2],
    /// Whether the installed release treats it differently than the line before.
    pub is_changed: bool,
}

impl<'f> PoolFacts<'f> {
    /// What was seen of this pool.
    pub fn of(
        object: &PoolObject,
        facts: &'f Facts,
        policy: Option<&Policy>,
        nodes: &NodesByName<'f>,
    ) -> Self {
        let kept = object.with_usage();
        let json = Json::from(&kept);
        let view = NodePool::view(ApiVersion::V1, &json);
        let built_in = Policy::default();
        let assumed = policy.unwrap_or(&built_in);
        let pool = Arc::new(Pool::of(&kept, assumed));
        let claims = facts.claims.as_ref().ok().map(|claims| {
            let its = claims.iter().filter(|known| known.pool == pool.name);
            its.map(|known| nodes.state(known, &[])).collect()
        });
        let ledgers = facts.ledgers.as_ref().ok();
        let ledger = ledgers.map(|ledgers| {
            let its = ledgers.iter().find(|stored| *stored.owner == *pool.uid);
            its.map(ledgers::state).unwrap_or_default()
        });
        let reconciler = facts.reconciler.as_ref();
        let has_no_leader =
            reconciler.is_ok_and(|reconciler| reconciler.as_ref().is_none_or(|reconciler| !reconciler.leads));
        let knows_nodes = facts.nodes.is_ok();
        let waiting = facts.waiting.iter().flatten();
        let waiting = waiting.filter(|needs| pool.could_serve(needs)).count();
        let mut known = KnownPool::new(pool, claims, knows_nodes, ledger, has_no_leader);
        known.is_waited_for = waiting > 0;
        Self {
            facts,
            over_limit: OverLimit::annotated(&view).or(policy.map(|policy| policy.over_limit)),
            at_limit: AtLimit::annotated(&view).or(policy.map(|policy| policy.at_limit)),
            used_up: used_up(&view, &view),
            waiting,
            known,
            limits_used: ["cpu", "memory"].map(|wanted| {
                let mut used = view.limits_used();
                used.find_map(|(resource, used)| (resource == wanted).then_some(used))
            }),
            is_changed: facts.step().is_some_and(|step| {
                let mut changes = between(&view, assumed, step);
                changes.any(|(change, _)| change.kind == ChangeKind::Different)
            }),
            findings: findings(&json, assumed, &facts.karpenter(assumed), facts.now),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.known.pool.name
    }

    /// Its NodeClaims, as far as they could be read.
    pub fn claims(&self) -> impl Iterator<Item = &ClaimState<'f>> {
        self.known.claims.iter().flatten()
    }

    /// The same, with what only a report needs.
    pub fn known_claims(&self) -> impl Iterator<Item = &'f KnownClaim> {
        let claims = self.facts.claims.iter().flatten();
        claims.filter(|known| known.pool == self.known.pool.name)
    }

    /// Its nodes, if they could be read.
    pub fn nodes(&self) -> Option<impl Iterator<Item = &'f Node>> {
        let nodes = self.facts.nodes.as_ref().ok()?.iter();
        let its = nodes.filter(|known| known.pool == self.known.pool.name);
        Some(its.map(|known| &*known.node))
    }

    /// Its ledger as it is stored, if it is known to have one.
    pub fn stored(&self) -> Option<&'f StoredLedger> {
        let ledgers = self.facts.ledgers.as_ref().ok()?;
        ledgers
            .iter()
            .find(|stored| *stored.owner == *self.known.pool.uid)
    }
}

/// How many errors and warnings `lint` finds in a NodePool.
fn findings(object: &Json<'_>, policy: &Policy, karpenter: &TargetKarpenter, at: Timestamp) -> [usize; 2] {
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object,
        old: None,
        claims: None,
        at,
    };
    let report = review(&request, policy, karpenter).report;
    [Severity::Error, Severity::Warning].map(|severity| {
        let found = report.diagnostics().iter();
        found.filter(|diagnostic| diagnostic.severity == severity).count()
    })
}
