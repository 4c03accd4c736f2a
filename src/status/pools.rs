//! The report on each NodePool: how many nodes it has and may have, and what is waiting.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use poolgate_core::api::lacks_mode;
use poolgate_core::api::{AtLimit, ClaimCounts, HELD_LABEL, NodeLimit, NodeLimitMode, OverLimit};
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, DISRUPTED_TAINT, NODEPOOL_LABEL, NodePool};
use poolgate_core::policy::{FeatureGate, GateState, Policy};
use serde::Serialize;

use super::facts::{Asked, ClaimObject, Facts, NodeObject};
use crate::cluster::ledgers::StoredLedger;
use crate::cluster::objects::PoolObject;

/// The report on a NodePool. A number is `None` if something that it is made of could not be read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolReport {
    pub name: String,
    /// For a pool without a limit only the number of NodeClaims is reported.
    pub limit: Option<LimitReport>,
    /// How many NodeClaims there are.
    pub node_claims: Option<usize>,
    /// How many of its nodes poolgate holds.
    pub held_nodes: Option<usize>,
    /// What the gate would decide on a creation, if it was asked and that is known.
    pub next: Option<String>,
    pub denied: Option<DenialReport>,
    /// What is waiting and why, and other notes, a sentence each.
    pub notes: Vec<String>,
    /// What is wrong.
    #[serde(skip)]
    pub problems: Vec<String>,
}

/// A limit, and how much of it is taken, each as far as it is known.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitReport {
    pub nodes: u32,
    pub mode: &'static str,
    /// Whether the NodePool itself says it.
    pub mode_is_written: bool,
    /// How many count.
    pub taken: Option<usize>,
    pub free: Option<usize>,
    /// How many are too many, without those that are going already.
    pub excess: Option<usize>,
    /// What happens to those: `report` or `terminate`.
    pub over_limit: Option<&'static str>,
}

/// The last denial that was recorded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DenialReport {
    pub total: u64,
    pub last_claim: String,
    pub at: Option<Timestamp>,
}

/// The reports on all pools, by name; `None` if the pools could not be read.
pub fn of_pools(facts: &Facts, policy: Option<&Policy>, has_gate: Option<bool>) -> Option<Vec<PoolReport>> {
    let nodes = nodes_by_name(facts);
    let objects = facts.pools.as_ref().ok()?.iter();
    let reports = objects.map(|object| PoolFacts::of(object, facts, policy, nodes.as_ref()).report(has_gate));
    let mut reports: Vec<PoolReport> = reports.collect();
    reports.sort_by(|one, other| one.name.cmp(&other.name));
    Some(reports)
}

/// All nodes by name, if they could be read.
pub fn nodes_by_name(facts: &Facts) -> Option<BTreeMap<&str, &NodeObject>> {
    let nodes = facts.nodes.as_ref().ok()?.iter();
    Some(nodes.map(|node| (&*node.metadata.name, node)).collect())
}

fn claims_of<'f>(facts: &'f Facts, pool: &str) -> Option<Vec<&'f ClaimObject>> {
    let claims = facts.claims.as_ref().ok()?.iter();
    let claims = claims.filter(|claim| claim.metadata.labels.pool.as_deref() == Some(pool));
    Some(claims.collect())
}

/// A node limit. What the NodePool leaves to the policy is known only if the policy is.
#[derive(Debug, Clone, Copy)]
pub struct KnownLimit {
    pub nodes: u32,
    pub mode: NodeLimitMode,
    mode_is_written: bool,
    pub over_limit: Option<OverLimit>,
    pub at_limit: Option<AtLimit>,
    /// Whether it is left to poolgate.
    pub is_annotated: bool,
}

impl KnownLimit {
    fn from_object(object: &PoolObject, policy: Option<&Policy>) -> Option<Self> {
        let object = object.kept();
        let object = Json::from(&object);
        let view = NodePool::view(ApiVersion::V1, &object);
        let limit = NodeLimit::of(&view, OverLimit::default())?;
        let (over_limit, at_limit) = (OverLimit::annotated(&view), AtLimit::annotated(&view));
        Some(Self {
            nodes: limit.nodes,
            mode: limit.mode,
            mode_is_written: !lacks_mode(&view),
            over_limit: over_limit.or(policy.map(|policy| policy.over_limit)),
            at_limit: at_limit.or(policy.map(|policy| policy.at_limit)),
            is_annotated: view.annotated_node_limit().is_some(),
        })
    }
}

/// What the policy, or the provider of the pool's machines, says of the gate without which Karpenter repairs nothing.
fn repair_gate(object: &PoolObject, policy: Option<&Policy>) -> GateState {
    let object = object.kept();
    let object = Json::from(&object);
    let view = NodePool::view(ApiVersion::V1, &object);
    let declared = policy.map(|policy| policy.cluster.clone()).unwrap_or_default();
    declared.gate(FeatureGate::NodeRepair, view.template.node_class_group())
}

/// What was seen of a pool.
pub struct PoolFacts<'f> {
    pub facts: &'f Facts,
    pub object: &'f PoolObject,
    pub limit: Option<KnownLimit>,
    /// What is known of Karpenter's gate `NodeRepair` where the pool is.
    pub repair: GateState,
    /// Its NodeClaims, if they could be read.
    pub claims: Option<Vec<&'f ClaimObject>>,
    /// All nodes by name, if they could be read.
    pub nodes: Option<&'f BTreeMap<&'f str, &'f NodeObject>>,
}

impl<'f> PoolFacts<'f> {
    /// What was seen of this pool.
    pub fn of(
        object: &'f PoolObject,
        facts: &'f Facts,
        policy: Option<&Policy>,
        nodes: Option<&'f BTreeMap<&'f str, &'f NodeObject>>,
    ) -> Self {
        Self {
            facts,
            object,
            limit: KnownLimit::from_object(object, policy),
            repair: repair_gate(object, policy),
            claims: claims_of(facts, &object.metadata.name),
            nodes,
        }
    }

    fn report(&self, has_gate: Option<bool>) -> PoolReport {
        let name = &*self.object.metadata.name;
        let mut notes: Vec<String> = self.above().into_iter().chain(self.drains()).collect();
        if let Some(outstanding @ 1..) = self.outstanding() {
            notes.push(format!("{outstanding} admitted and not created yet"));
        }
        notes.extend(self.ledger_says());
        notes.extend(self.replacements());
        notes.extend(self.events());
        if self.limit.is_some() && has_gate == Some(false) {
            notes.push("no gate is registered: more nodes may come than the limit allows".into());
        }
        let held = self.held();
        let stop = self.stop().map(|stop| format!("NodePool {name}: {stop}"));
        let mut problems: Vec<String> = stop.into_iter().collect();
        if let Some(held @ 1..) = held
            && self.has_no_leader()
        {
            problems.push(format!(
                "NodePool {name}: nodes are held ({held}), and no reconciler is the leader to unhold them"
            ));
        }
        PoolReport {
            name: name.to_owned(),
            limit: self.limit.map(|limit| self.limit_report(limit)),
            node_claims: self.claims.as_ref().map(Vec::len),
            held_nodes: held,
            next: self.limit.and_then(|_| self.next()),
            denied: self.denied(),
            notes,
            problems,
        }
    }

    pub fn limit_report(&self, limit: KnownLimit) -> LimitReport {
        let counted = self.counts(limit.mode).map(|counts| counts.counted(limit.mode));
        let taken = counted.and_then(|counted| Some(counted + self.outstanding()?));
        LimitReport {
            nodes: limit.nodes,
            mode: limit.mode.as_str(),
            mode_is_written: limit.mode_is_written,
            taken,
            free: taken.map(|taken| (limit.nodes as usize).saturating_sub(taken)),
            excess: self.excess(limit.nodes, limit.mode),
            over_limit: limit.over_limit.map(OverLimit::as_str),
        }
    }

    /// Whether it is known that no reconciler leads.
    pub fn has_no_leader(&self) -> bool {
        let reconciler = self.facts.reconciler.as_ref();
        reconciler.is_ok_and(|reconciler| reconciler.as_ref().is_none_or(|reconciler| !reconciler.leads))
    }

    /// How many of its nodes poolgate holds.
    pub fn held(&self) -> Option<usize> {
        let held = self.nodes?.values().filter(|node| {
            let label = |key| node.metadata.label(key);
            label(HELD_LABEL).is_some() && label(NODEPOOL_LABEL) == Some(&*self.object.metadata.name)
        });
        Some(held.count())
    }

    /// The NodeClaims, as far as a limit of this mode counts them.
    fn counts(&self, mode: NodeLimitMode) -> Option<ClaimCounts> {
        let claims = self.claims.as_ref()?;
        // Only their nodes tell which of them Karpenter is disrupting.
        if mode == NodeLimitMode::Soft && self.nodes.is_none() {
            return None;
        }
        let undeleted = || {
            let claims = claims.iter();
            claims.filter(|claim| claim.metadata.deletion_timestamp.is_none())
        };
        Some(ClaimCounts {
            existing: claims.len(),
            undeleted: undeleted().count(),
            staying: undeleted().filter(|claim| !self.is_disrupted(claim)).count(),
        })
    }

    /// How many NodeClaims are above a limit. Those of a surge are not.
    fn excess(&self, limit: u32, mode: NodeLimitMode) -> Option<usize> {
        let excess = self.counts(mode)?.excess(limit, mode);
        if excess == 0 || mode == NodeLimitMode::Soft {
            return Some(excess);
        }
        let ledger = self.ledger().ok()?;
        let surged = ledger.map_or(&[][..], |stored| stored.ledger.surged());
        let staying = self.claims.as_ref()?.iter();
        let staying = staying.filter(|claim| claim.metadata.deletion_timestamp.is_none());
        let is_surged = |claim: &&&ClaimObject| surged.iter().any(|uid| uid.as_str() == &*claim.metadata.uid);
        let is_replaced = |claim: &&&ClaimObject| {
            let is_true = |kind| claim.status.conditions.is_true(kind);
            is_true("Initialized") && is_true("DisruptionReason") && !is_true("Rebooting")
        };
        let surged = staying.clone().filter(is_surged).count();
        Some(excess.saturating_sub(surged.min(staying.filter(is_replaced).count())))
    }

    fn is_disrupted(&self, claim: &ClaimObject) -> bool {
        let name = claim.status.node_name.as_deref().unwrap_or_default();
        let node = self.nodes.and_then(|nodes| nodes.get(name));
        let mut taints = node.iter().flat_map(|node| node.spec.taints.iter().flatten());
        taints.any(|taint| taint.key == DISRUPTED_TAINT)
    }

    /// Its ledger, if it has one; or why that is not known.
    pub fn ledger(&self) -> Result<Option<&StoredLedger>, &String> {
        let ledgers = self.facts.ledgers.as_ref()?;
        Ok(ledgers
            .iter()
            .find(|ledger| ledger.pool == self.object.metadata.name))
    }

    /// The UIDs of its NodeClaims.
    fn uids(&self) -> Option<BTreeSet<&str>> {
        let claims = self.claims.as_ref()?.iter();
        Some(claims.map(|claim| &*claim.metadata.uid).collect())
    }

    /// How many were admitted and do not exist yet.
    pub fn outstanding(&self) -> Option<usize> {
        let known = self.uids()?;
        let Some(stored) = self.ledger().ok()? else {
            return Some(0);
        };
        // What the lost one held is not known.
        if stored.ledger.is_closed() {
            return None;
        }
        let reservations = stored.ledger.reservations();
        Some(reservations.filter(|uid| !known.contains(uid.as_str())).count())
    }

    /// NodeClaims that are being deleted keep their places.
    fn drains(&self) -> Option<String> {
        let claims = self.claims.iter().flatten();
        let drains = claims.filter_map(|claim| {
            let since = claim.metadata.deleted()?;
            let node = claim.status.node_name.as_deref();
            Some((since, node.unwrap_or(&claim.metadata.name)))
        });
        let mut drains: Vec<_> = drains.collect();
        drains.sort();
        let (since, node) = drains.first()?;
        let mode = self.limit.map(|limit| limit.mode);
        let places = if mode == Some(NodeLimitMode::Hard) {
            "; each keeps its place until it is gone"
        } else {
            ""
        };
        let count = drains.len();
        Some(format!(
            "{count} on the way out, the first, {node}, since {since:.0}{places}"
        ))
    }

    fn ledger_says(&self) -> Vec<String> {
        let Ok(Some(stored)) = self.ledger() else {
            return Vec::new();
        };
        let mut says = Vec::new();
        if let Some(lost) = &stored.lost {
            says.push(format!("its ledger was lost, and is being replaced: {lost}"));
        } else if stored.ledger.is_closed() {
            says.push("its ledger was lost: it is full until its NodeClaims are counted again".into());
        }
        if let (Some(termination), Some(known)) = (stored.ledger.termination(), self.uids()) {
            let left = termination
                .victims()
                .iter()
                .filter(|uid| known.contains(uid.as_str()));
            says.push(format!("{} above the limit are being terminated", left.count()));
        }
        says
    }

    fn denied(&self) -> Option<DenialReport> {
        let denied = self.ledger().ok()??.ledger.denied()?;
        Some(DenialReport {
            total: denied.total,
            last_claim: denied.claim.to_string(),
            at: i64::try_from(denied.at)
                .ok()
                .and_then(|at| Timestamp::from_second(at).ok()),
        })
    }

    /// What the gate would decide on a creation. Why that is not known, the report says elsewhere.
    fn next(&self) -> Option<String> {
        let asked = self.facts.asked_of_claims.get(&*self.object.metadata.name)?;
        let Asked { reports, error } = asked.as_ref().ok()?;
        let decided = reports.iter().find_map(|report| report.get("decision"));
        let unasked = error.is_none().then_some("admitted-unasked");
        decided.or(unasked).map(str::to_owned)
    }
}
