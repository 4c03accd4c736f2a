//! The answers about nodes: pure functions of what was read.

use jiff::Timestamp;
use poolgate_core::api::API_VERSION;
use poolgate_core::diagnostic::first_few;
use poolgate_core::nodelimit::why::{Cause, Explanation, Wanted};
use serde::Serialize;
use serde_json::Value;

use crate::status::explainer::Explainer;
use crate::status::facts::{self, Facts, Kept, KnownClaim};
use crate::status::node_events::Said;
use crate::status::replacements::MOST_NAMES;

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
    pub fn of<'f>(facts: &'f Facts, explainer: &Explainer<'f>, claims: &[&'f KnownClaim]) -> Self {
        let whys = claims
            .iter()
            .map(|&known| Why::of(known, explainer.explain(known).0, explainer));
        let mut whys: Vec<Why> = whys.collect();
        whys.sort_by(|one, other| (&one.node, &one.node_claim).cmp(&(&other.node, &other.node_claim)));
        Self {
            at: facts.now,
            nodes: whys,
            others: Vec::new(),
            unread: unread(facts, explainer.kept),
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
                match known.find(|keeps| keeps.cause.is_told_with(&cause)) {
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
        format!("{}: {}", first_few(&self.nodes, MOST_NAMES), self.cause.line())
    }
}

impl Why {
    fn of(known: &KnownClaim, found: Explanation, explainer: &Explainer<'_>) -> Self {
        let mut events = explainer.events.about(known, &found.reasons);
        // Karpenter's event stays for an hour after the PodDisruptionBudget is gone.
        if explainer.knows_budgets() && !found.causes.iter().any(Cause::is_of_a_budget_of_pods) {
            events.retain(|said| !said.is_of_a_budget_of_pods());
        }
        Self {
            node: known.details.node_name.as_deref().map(str::to_owned),
            node_claim: known.claim.name.to_string(),
            node_pool: known.pool.to_string(),
            expires: found.expires,
            events,
            causes: found.causes,
            wanted: found.wanted,
        }
    }
}

/// What could not be read of all that causes are found from.
fn unread(facts: &Facts, kept: Option<&Kept>) -> Vec<String> {
    let events = kept.and_then(|kept| kept.events.as_ref().err());
    facts::unread([
        ("policy", facts.policy.as_ref().err()),
        ("NodePools", facts.pools.as_ref().err()),
        ("Nodes", facts.nodes.as_ref().err()),
        ("ledgers", facts.ledgers.as_ref().err()),
        ("pods", kept.and_then(|kept| kept.pods.as_ref().err())),
        (
            "PodDisruptionBudgets",
            kept.and_then(|kept| kept.budgets.as_ref().err()),
        ),
        ("events", events.or(facts.events.as_ref().err())),
    ])
}
