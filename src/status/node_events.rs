//! Events that explain why nodes stay: Karpenter's about nodes and NodeClaims, and poolgate's about NodePools.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use poolgate_core::budget::Reason;
use serde::Serialize;

use super::age::age;
use super::facts::KnownClaim;

/// The reasons of events that are about a node that goes or stays: Karpenter's, and one of poolgate's.
const REASONS: [&str; 14] = [
    "DisruptionBlocked",
    "Unconsolidatable",
    "ConsolidationRejected",
    "NodeRepairBlocked",
    "FailedDraining",
    "AwaitingVolumeDetachment",
    "TerminationGracePeriodExpiring",
    "FailedTermination",
    "DisruptionLaunching",
    "DisruptionWaitingReadiness",
    "DisruptionTerminating",
    "RebootFailed",
    "NodeClassNotReady",
    "ReplacementBlocked",
];

/// Those of them that say nothing about drift and repair.
const CONSOLIDATION: [&str; 2] = ["Unconsolidatable", "ConsolidationRejected"];

/// How long a message is shown to people. One about pods that fit nowhere names every NodePool.
const LONGEST: usize = 300;

/// How many events of a node are reported.
const MOST: usize = 6;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The kind of the object that it is about.
    pub about: String,
    pub reason: String,
    pub message: String,
    pub last: Option<Timestamp>,
}

impl Said {
    /// Whether it is about a PodDisruptionBudget that allows no eviction.
    pub fn is_of_a_budget_of_pods(&self) -> bool {
        self.message.to_lowercase().starts_with("pdb prevents")
    }

    /// The event in one line.
    pub fn line(&self, now: Timestamp) -> String {
        let last = self.last.map(|last| format!(" {} ago", age(last, now)));
        let last = last.unwrap_or_default();
        let mut message: String = self.message.chars().take(LONGEST).collect();
        if message.len() < self.message.len() {
            message += " …";
        }
        format!("{} on the {}{last}: {message}", self.reason, self.about)
    }
}

/// Events by the kind and name of their objects: each node is compared with its own alone.
pub struct NodeEvents<'f>(BTreeMap<&'f str, BTreeMap<&'f str, Vec<&'f Event>>>);

impl<'f> FromIterator<&'f Event> for NodeEvents<'f> {
    fn from_iter<I: IntoIterator<Item = &'f Event>>(events: I) -> Self {
        let mut by_object = Self(BTreeMap::new());
        for event in events {
            let about = &event.involved_object;
            if let (Some(kind), Some(name)) = (about.kind.as_deref(), about.name.as_deref()) {
                let of_kind = by_object.0.entry(kind).or_default();
                of_kind.entry(name).or_default().push(event);
            }
        }
        by_object
    }
}

impl<'f> NodeEvents<'f> {
    fn on(&self, kind: &str, name: Option<&str>) -> &[&'f Event] {
        let events = name.and_then(|name| self.0.get(kind)?.get(name));
        events.map(Vec::as_slice).unwrap_or_default()
    }

    /// Those on the node and the NodeClaim.
    fn on_node(&self, claim: &KnownClaim) -> impl Iterator<Item = &&'f Event> {
        let of_node = self.on("Node", claim.details.node_name.as_deref()).iter();
        of_node.chain(self.on("NodeClaim", Some(&claim.claim.name)))
    }

    /// The latest events about a node; of its NodePool those about these reasons for disruption. An event that both the node
    /// and its NodeClaim have is reported once.
    pub fn about(&self, claim: &KnownClaim, reasons: &[Reason]) -> Vec<Said> {
        let of_pool = self.on("NodePool", Some(&claim.pool)).iter();
        let of_pool = of_pool.filter(|event| is_for(event.message.as_deref().unwrap_or_default(), reasons));
        let said = self.on_node(claim).chain(of_pool).filter_map(|event| {
            let reason = event.reason.as_deref()?;
            let is_told = REASONS.contains(&reason)
                && (!CONSOLIDATION.contains(&reason) || reasons.iter().copied().any(is_consolidation));
            let last = event.last_timestamp.as_ref().map(|at| at.0);
            let last = last.or_else(|| event.event_time.as_ref().map(|at| at.0));
            is_told.then(|| Said {
                about: event.involved_object.kind.clone().unwrap_or_default(),
                reason: reason.to_owned(),
                message: event.message.clone().unwrap_or_default(),
                last,
            })
        });
        let mut said: Vec<Said> = said.collect();
        said.sort_by_key(|one| Reverse(one.last));
        let mut seen = BTreeSet::new();
        said.retain(|one| seen.insert((one.reason.clone(), one.message.clone())));
        said.truncate(MOST);
        said
    }

    /// Whether Karpenter has said of a node why it does not repair it.
    pub fn call_broken(&self, claim: &KnownClaim) -> bool {
        self.on_node(claim).any(|event| {
            let message = event.message.as_deref().unwrap_or_default().to_lowercase();
            event.reason.as_deref() == Some("NodeRepairBlocked") || message.starts_with("repair ")
        })
    }
}

const fn is_consolidation(reason: Reason) -> bool {
    matches!(reason, Reason::Empty | Reason::Underutilized)
}

/// Whether a message names one of these reasons, or none.
fn is_for(message: &str, reasons: &[Reason]) -> bool {
    let named = message
        .split_once("disruption reason ")
        .and_then(|(_, rest)| Reason::parse(rest.split(' ').next().unwrap_or_default()));
    named.is_none_or(|named| reasons.contains(&named))
}
