//! The report on each NodePool: how many nodes it has and may have, and what is waiting.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use poolgate_core::nodelimit::ClaimCounts;
use poolgate_core::nodelimit::plan::{DISRUPTED_TAINT, HELD_LABEL, Pool};
use poolgate_core::policy::Policy;
use serde::Serialize;

use super::facts::{Asked, ClaimObject, Facts, NodeObject};
use super::reconciler::Reconciler;
use crate::cluster::ledgers::Stored;

/// The component whose events are reported.
const COMPONENT: &str = "poolgate";

/// The report on a NodePool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PoolReport {
    pub(super) name: String,
    /// For a pool without a limit only the number of NodeClaims is reported.
    pub(super) limit: Option<LimitReport>,
    /// How many NodeClaims there are.
    pub(super) node_claims: usize,
    /// How many of its nodes poolgate holds.
    pub(super) held_nodes: usize,
    /// What the gate would decide on a creation.
    pub(super) next: Option<String>,
    pub(super) denied: Option<DenialReport>,
    /// What is waiting and why, and other notes, a sentence each.
    pub(super) notes: Vec<String>,
    /// What is wrong.
    #[serde(skip)]
    pub(super) problems: Vec<String>,
}

/// A limit, and how much of it is taken.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LimitReport {
    pub(super) nodes: u32,
    pub(super) mode: &'static str,
    /// How many count.
    pub(super) taken: usize,
    pub(super) free: usize,
    pub(super) over_limit: &'static str,
}

/// The last denial that was recorded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DenialReport {
    pub(super) total: u64,
    pub(super) last_claim: String,
    pub(super) at: Option<Timestamp>,
}

/// The reports on all pools, by name.
pub(super) fn of_pools(
    facts: &Facts,
    policy: &Policy,
    has_gate: bool,
    reconciler: Option<&Reconciler>,
) -> Vec<PoolReport> {
    let nodes = facts.nodes.iter().flatten();
    let nodes: BTreeMap<&str, &NodeObject> = nodes.map(|node| (&*node.metadata.name, node)).collect();
    let leads = reconciler.is_some_and(|reconciler| reconciler.leads);
    let mut pools: Vec<PoolReport> = facts
        .pools
        .iter()
        .flatten()
        .map(|object| {
            let pool = Pool::of(&object.kept(), policy);
            let mut ledgers = facts.ledgers.iter().flatten();
            let seen = Seen {
                claims: of_pool(facts, &pool.name),
                ledger: ledgers.find(|ledger| *ledger.pool == *pool.name),
                pool,
                nodes: &nodes,
                facts,
            };
            seen.report(has_gate, leads)
        })
        .collect();
    pools.sort_by(|one, other| one.name.cmp(&other.name));
    pools
}

fn of_pool<'f>(facts: &'f Facts, pool: &str) -> Vec<&'f ClaimObject> {
    let claims = facts.claims.iter().flatten();
    claims
        .filter(|claim| claim.metadata.labels.pool.as_deref() == Some(pool))
        .collect()
}

/// What was seen of a pool.
struct Seen<'f> {
    facts: &'f Facts,
    pool: Pool,
    claims: Vec<&'f ClaimObject>,
    nodes: &'f BTreeMap<&'f str, &'f NodeObject>,
    ledger: Option<&'f Stored>,
}

impl Seen<'_> {
    fn report(&self, has_gate: bool, leads: bool) -> PoolReport {
        let mut notes: Vec<String> = self.drains().into_iter().collect();
        let outstanding = self.outstanding();
        let limit = self.pool.limit.map(|limit| {
            let taken = self.counts().counted(limit.mode) + outstanding;
            LimitReport {
                nodes: limit.nodes,
                mode: limit.mode.as_str(),
                taken,
                free: (limit.nodes as usize).saturating_sub(taken),
                over_limit: limit.over_limit.as_str(),
            }
        });
        if outstanding > 0 {
            notes.push(format!("{outstanding} admitted and not created yet"));
        }
        notes.extend(self.ledger_says());
        notes.extend(self.events());
        let held = self
            .nodes
            .values()
            .filter(|node| {
                let label = |key| node.metadata.label(key);
                label(HELD_LABEL).is_some()
                    && label(poolgate_core::karpenter::NODEPOOL_LABEL) == Some(&self.pool.name)
            })
            .count();
        let mut problems = Vec::new();
        if limit.is_some() && !has_gate && self.facts.webhooks.is_ok() {
            notes.push("no gate is registered: more nodes may come than the limit allows".into());
        }
        if held > 0 && !leads && self.facts.lease.is_ok() {
            problems.push(format!(
                "NodePool {}: nodes are held ({held}), and no reconciler is the leader to unhold them",
                self.pool.name
            ));
        }
        PoolReport {
            name: self.pool.name.to_string(),
            next: limit.as_ref().and_then(|_| self.next()),
            limit,
            node_claims: self.claims.len(),
            held_nodes: held,
            denied: self.denied(),
            notes,
            problems,
        }
    }

    fn counts(&self) -> ClaimCounts {
        let undeleted = || {
            let claims = self.claims.iter();
            claims.filter(|claim| claim.metadata.deletion_timestamp.is_none())
        };
        let is_disrupted = |claim: &&&ClaimObject| {
            let name = claim.status.node_name.as_deref().unwrap_or_default();
            let taints = self.nodes.get(name).and_then(|node| node.spec.taints.as_ref());
            taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == DISRUPTED_TAINT))
        };
        ClaimCounts {
            existing: self.claims.len(),
            undeleted: undeleted().count(),
            staying: undeleted().filter(|claim| !is_disrupted(claim)).count(),
        }
    }

    /// How many were admitted and do not exist yet.
    fn outstanding(&self) -> usize {
        let known: BTreeSet<&str> = self.claims.iter().map(|claim| &*claim.metadata.uid).collect();
        let reservations = self.ledger.iter().flat_map(|stored| stored.ledger.reservations());
        reservations.filter(|uid| !known.contains(uid.as_str())).count()
    }

    /// NodeClaims that are being deleted keep their places.
    fn drains(&self) -> Option<String> {
        let drains = self.claims.iter().filter_map(|claim| {
            let since = claim.metadata.deleted()?;
            let node = claim.status.node_name.as_deref();
            Some((since, node.unwrap_or(&claim.metadata.name)))
        });
        let mut drains: Vec<_> = drains.collect();
        drains.sort();
        let (since, node) = drains.first()?;
        let places = if self.pool.limit.is_some_and(|limit| limit.mode.as_str() == "Hard") {
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
        let Some(stored) = self.ledger else {
            return Vec::new();
        };
        let mut says = Vec::new();
        if let Some(lost) = &stored.lost {
            says.push(format!("its ledger was lost, and is being replaced: {lost}"));
        } else if stored.ledger.is_closed() {
            says.push("its ledger was lost: it is full until its NodeClaims are counted again".into());
        }
        if let Some(termination) = stored.ledger.termination() {
            let known: BTreeSet<&str> = self.claims.iter().map(|claim| &*claim.metadata.uid).collect();
            let left = termination
                .victims()
                .iter()
                .filter(|uid| known.contains(uid.as_str()));
            says.push(format!("{} above the limit are being terminated", left.count()));
        }
        says
    }

    /// The latest event for each reason.
    fn events(&self) -> Vec<String> {
        let events = self.facts.events.iter().flatten();
        let mut events: Vec<_> = events
            .filter(|event| {
                event.involved_object.uid.as_deref() == Some(&*self.pool.uid)
                    && event.reporting_component.as_deref() == Some(COMPONENT)
            })
            .map(|event| (event.last_timestamp.as_ref().map(|at| at.0), event))
            .collect();
        events.sort_by_key(|(at, _)| Reverse(*at));
        let mut seen = BTreeSet::new();
        events
            .into_iter()
            .filter(|(_, event)| seen.insert(&event.reason))
            .map(|(at, event)| {
                let at = at.map(|at| format!(" at {at:.0}")).unwrap_or_default();
                let (reason, message) = (event.reason.as_deref(), event.message.as_deref());
                let (reason, message) = (reason.unwrap_or_default(), message.unwrap_or_default());
                format!("{reason}{at}: {message}")
            })
            .collect()
    }

    fn denied(&self) -> Option<DenialReport> {
        let denied = self.ledger?.ledger.denied()?;
        Some(DenialReport {
            total: denied.total,
            last_claim: denied.claim.to_string(),
            at: i64::try_from(denied.at)
                .ok()
                .and_then(|at| Timestamp::from_second(at).ok()),
        })
    }

    /// What the gate would decide on a creation.
    fn next(&self) -> Option<String> {
        match self.facts.asked_of_claims.get(&*self.pool.name)? {
            Ok(Asked { reports, error }) => {
                let decided = reports.iter().find_map(|report| report.get("decision"));
                let error = error.as_deref();
                Some(decided.or(error).unwrap_or("admitted-unasked").to_owned())
            }
            Err(error) => Some(error.clone()),
        }
    }
}
