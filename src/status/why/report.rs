//! The answers about nodes: pure functions of what was read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use poolgate_core::api::API_VERSION;
use poolgate_core::nodelimit::why::{Cause, Explanation, Seen, Wanted, explain};
use poolgate_core::policy::Policy;
use serde::Serialize;
use serde_json::Value;

use super::events::{self, Said};
use super::look::More;
use crate::status::facts::{self, Facts, KnownClaim};
use crate::status::pools::{NodesByName, PoolFacts};
use crate::status::replacements::listed_names;

/// Why nodes stay.
#[derive(Debug, Serialize)]
pub struct Whys {
    pub at: Timestamp,
    pub nodes: Vec<Why>,
    /// The obstacles to consolidating the other nodes of a requested pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Keeps>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// What keeps several nodes.
#[derive(Debug, PartialEq, Eq, Serialize)]
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
    pub node_pool: String,
    /// Why it should go; none if Karpenter has no reason yet.
    pub wanted: Vec<Wanted>,
    /// When it expires, if it has not and does.
    pub expires: Option<Timestamp>,
    pub events: Vec<Said>,
    pub causes: Vec<Cause>,
}

impl Whys {
    /// The answers as one object of JSON.
    pub fn json(&self) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(self)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("apiVersion".to_owned(), API_VERSION.into());
            object.insert("kind".to_owned(), "NodeReport".into());
        }
        Ok(value)
    }

    /// The answers about these NodeClaims, by the names of their nodes.
    pub fn of(facts: &Facts, more: &More, policy: Option<&Policy>, claims: &[&KnownClaim]) -> Self {
        let nodes = NodesByName::of(facts);
        let pools = facts.pools.iter().flatten();
        let pools = pools.map(|object| PoolFacts::of(object, facts, policy, &nodes));
        let pools: BTreeMap<String, PoolFacts<'_>> =
            pools.map(|pool| (pool.name().to_owned(), pool)).collect();
        let is_so = |event: &&Event| {
            let pool = pools.get(event.involved_object.name.as_deref().unwrap_or_default());
            !pool.is_some_and(|pool| pool.contradicts(event))
        };
        let of_pools = facts.events.iter().flatten().filter(is_so);
        let events: Vec<Event> = more.events.iter().flatten().chain(of_pools).cloned().collect();
        let whys = claims.iter().map(|&known| {
            let node = known.details.node_name.as_deref();
            let pods = more.pods.as_ref().ok().zip(node);
            let pods = pods.map(|(pods, node)| pods.get(node).map_or(&[][..], Vec::as_slice));
            let objects = objects(known);
            let seen = Seen {
                now: facts.now,
                state: &nodes.state(known, pods.unwrap_or_default()),
                details: &known.details,
                ready: nodes.of_claim(known).and_then(|node| node.ready.as_ref()),
                pool: pools.get(&*known.pool).map(|pool| &pool.known),
                pods,
                budgets: more.budgets.as_deref().unwrap_or_default(),
                is_called_broken: events::call_broken(&events, &objects),
            };
            Why::of(known, explain(&seen), &events, &objects)
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

    /// Reduces nodes that have no reason to go to their causes, each once.
    pub fn keep_those_that_should_go(&mut self) {
        let (wanted, others) = std::mem::take(&mut self.nodes)
            .into_iter()
            .partition(|why| !why.wanted.is_empty());
        self.nodes = wanted;
        self.others = Keeps::of(others);
    }
}

impl Keeps {
    /// What keeps these nodes, the same once.
    pub fn of(whys: Vec<Why>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for why in whys {
            let name = why.node.unwrap_or(why.node_claim);
            for cause in why.causes {
                let mut known = all.iter_mut();
                match known.find(|keeps| keeps.cause.shared == cause.shared) {
                    Some(keeps) => {
                        keeps.nodes.push(name.clone());
                        let until = keeps.cause.until.filter(|_| keeps.cause.until == cause.until);
                        keeps.cause.until = until;
                    }
                    None => all.push(Self {
                        nodes: vec![name.clone()],
                        cause,
                    }),
                }
            }
        }
        all
    }

    /// In one line.
    pub fn line(&self) -> String {
        let names = self.nodes.iter().map(String::as_str).collect();
        format!("{}: {}", listed_names(names), self.cause.line())
    }
}

impl Why {
    fn of(known: &KnownClaim, found: Explanation, events: &[Event], objects: &[(&str, &str)]) -> Self {
        Self {
            node: known.details.node_name.as_deref().map(str::to_owned),
            node_claim: known.claim.name.to_string(),
            node_pool: known.pool.to_string(),
            expires: found.expires,
            events: events::about(events, objects, &found.reasons),
            causes: found.causes,
            wanted: found.wanted,
        }
    }
}

/// The objects whose events are about the node of a NodeClaim, by kind and name.
fn objects(known: &KnownClaim) -> Vec<(&str, &str)> {
    let node = known.details.node_name.as_deref().map(|node| ("Node", node));
    let claim = ("NodeClaim", &*known.claim.name);
    node.into_iter()
        .chain([claim, ("NodePool", &*known.pool)])
        .collect()
}

/// What could not be read of all that causes are found from.
fn unread(facts: &Facts, more: &More) -> Vec<String> {
    facts::unread([
        ("policy", facts.policy.as_ref().err()),
        ("NodePools", facts.pools.as_ref().err()),
        ("Nodes", facts.nodes.as_ref().err()),
        ("ledgers", facts.ledgers.as_ref().err()),
        ("pods", more.pods.as_ref().err()),
        ("PodDisruptionBudgets", more.budgets.as_ref().err()),
        ("events", more.events.as_ref().or(facts.events.as_ref()).err()),
    ])
}
