//! The answers about nodes: pure functions of what was read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use poolgate_core::budget::Reason;
use poolgate_core::policy::Policy;
use serde::Serialize;

use super::cause::Cause;
use super::causes;
use super::events::{self, Said};
use super::look::More;
use super::objects::PodObject;
use super::seen::Seen;
use super::wanted::{self, Goal, Wanted};
use crate::status::facts::{ClaimObject, Facts};
use crate::status::pools::{PoolFacts, nodes_by_name};

/// Why nodes stay.
#[derive(Debug, Serialize)]
pub struct Whys {
    pub at: Timestamp,
    pub nodes: Vec<Why>,
    /// What keeps the other nodes of the pool from consolidation, if all of them are asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Keeps>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// What keeps several nodes.
#[derive(Debug, Serialize)]
pub struct Keeps {
    /// Their names.
    pub nodes: Vec<String>,
    /// As it is of the first of them.
    #[serde(flatten)]
    pub cause: Cause,
}

/// Why a node stays.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    pub node: Option<String>,
    pub node_claim: String,
    pub node_pool: Option<String>,
    /// Why it should go; none if Karpenter has no reason yet.
    pub wanted: Vec<Wanted>,
    /// When it expires, if it has not and does.
    pub expires: Option<Timestamp>,
    pub events: Vec<Said>,
    pub causes: Vec<Cause>,
}

impl Whys {
    /// The answers about these NodeClaims, by the names of their nodes.
    pub fn of(facts: &Facts, more: &More, policy: Option<&Policy>, claims: &[&ClaimObject]) -> Self {
        let nodes = nodes_by_name(facts);
        let pools: BTreeMap<&str, PoolFacts<'_>> = facts
            .pools
            .iter()
            .flatten()
            .map(|pool| {
                (
                    &*pool.metadata.name,
                    PoolFacts::of(pool, facts, policy, nodes.as_ref()),
                )
            })
            .collect();
        let pods = more.pods.as_ref().ok().map(|pods| by_node(pods));
        let is_so = |event: &&Event| {
            let pool = pools.get(event.involved_object.name.as_deref().unwrap_or_default());
            !pool.is_some_and(|pool| pool.contradicts(event))
        };
        let of_pools = facts.events.iter().flatten().filter(is_so);
        let events: Vec<Event> = more.events.iter().flatten().chain(of_pools).cloned().collect();
        let whys = claims.iter().map(|&claim| {
            let name = claim.status.node_name.as_deref().unwrap_or_default();
            let objects = objects(claim);
            let seen = Seen {
                now: facts.now,
                is_called_broken: events::call_broken(&events, &objects),
                claim,
                node: nodes.as_ref().and_then(|nodes| nodes.get(name).copied()),
                pool: claim
                    .metadata
                    .labels
                    .pool
                    .as_deref()
                    .and_then(|pool| pools.get(pool)),
                pods: pods.as_ref(),
                budgets: more.budgets.as_deref().unwrap_or_default(),
            };
            Why::of(&seen, &events, &objects)
        });
        let mut whys: Vec<Why> = whys.collect();
        whys.sort_by(|one, other| (&one.node, &one.node_claim).cmp(&(&other.node, &other.node_claim)));
        Self {
            at: facts.now,
            nodes: whys,
            others: Vec::new(),
            unread: unread(facts, more),
        }
    }

    /// Of nodes that nobody wants to go, leaves only what keeps them, the same once.
    pub fn keep_those_that_should_go(&mut self) {
        let (wanted, others) = std::mem::take(&mut self.nodes)
            .into_iter()
            .partition(|why| !why.wanted.is_empty());
        self.nodes = wanted;
        let others: Vec<Why> = others;
        for why in others {
            let name = why.node.unwrap_or(why.node_claim);
            for cause in why.causes {
                let mut known = self.others.iter_mut();
                match known.find(|keeps| keeps.cause.shared == cause.shared) {
                    Some(keeps) => {
                        keeps.nodes.push(name.clone());
                        let until = keeps.cause.until.filter(|_| keeps.cause.until == cause.until);
                        keeps.cause.until = until;
                    }
                    None => self.others.push(Keeps {
                        nodes: vec![name.clone()],
                        cause,
                    }),
                }
            }
        }
    }
}

impl Why {
    fn of(seen: &Seen<'_>, events: &[Event], objects: &[(&str, &str)]) -> Self {
        let claim = seen.claim;
        let wanted = wanted::all(seen);
        let pool = claim.metadata.labels.pool.as_deref();
        let mut reasons: Vec<Reason> = wanted.iter().filter_map(|one| one.goal.reason()).collect();
        if wanted.is_empty() {
            reasons.push(Reason::Underutilized);
        }
        let is_leaving = |one: &Wanted| matches!(one.goal, Goal::Deleted | Goal::Expired);
        Self {
            node: claim.status.node_name.clone(),
            node_claim: claim.metadata.name.to_string(),
            node_pool: pool.map(str::to_owned),
            expires: wanted::expires(seen).filter(|_| !wanted.iter().any(is_leaving)),
            events: events::about(events, objects, &reasons),
            causes: causes::all(seen, &wanted),
            wanted,
        }
    }
}

/// The objects whose events are about the node of a NodeClaim, by kind and name.
fn objects(claim: &ClaimObject) -> Vec<(&str, &str)> {
    let objects = [
        ("Node", claim.status.node_name.as_deref()),
        ("NodeClaim", Some(&*claim.metadata.name)),
        ("NodePool", claim.metadata.labels.pool.as_deref()),
    ];
    let named = objects.into_iter().filter_map(|(kind, name)| Some((kind, name?)));
    named.collect()
}

/// Pods by their nodes.
fn by_node(pods: &[PodObject]) -> BTreeMap<&str, Vec<&PodObject>> {
    let mut by_node: BTreeMap<&str, Vec<&PodObject>> = BTreeMap::new();
    for pod in pods {
        if let Some(node) = pod.spec.node_name.as_deref() {
            by_node.entry(node).or_default().push(pod);
        }
    }
    by_node
}

/// What could not be read of all that causes are found from.
fn unread(facts: &Facts, more: &More) -> Vec<String> {
    let part = |name: &str, error: Option<&String>| Some(format!("{name}: {}", error?));
    [
        part("policy", facts.policy.as_ref().err()),
        part("NodePools", facts.pools.as_ref().err()),
        part("Nodes", facts.nodes.as_ref().err()),
        part("ledgers", facts.ledgers.as_ref().err()),
        part("pods", more.pods.as_ref().err()),
        part("PodDisruptionBudgets", more.budgets.as_ref().err()),
        part("events", more.events.as_ref().or(facts.events.as_ref()).err()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
