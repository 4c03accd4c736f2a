//! Karpenter's events about a node, and poolgate's about its pool.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use poolgate_core::budget::Reason;
use serde::Serialize;

use crate::status::age::age;
use crate::status::facts::KnownClaim;

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

/// The latest events about a node; of its NodePool those about these reasons for disruption. What is said of a node and of its
/// NodeClaim is reported once.
pub fn about(events: &[&Event], claim: &KnownClaim, reasons: &[Reason]) -> Vec<Said> {
    let said = events.iter().filter_map(|event| {
        let about = event.involved_object.kind.as_deref()?;
        let reason = event
            .reason
            .as_deref()
            .filter(|reason| REASONS.contains(reason))?;
        let message = event.message.as_deref().unwrap_or_default();
        let is_told = is_about(event, claim)
            && (about != "NodePool" || is_for(message, reasons))
            && (!CONSOLIDATION.contains(&reason) || reasons.iter().copied().any(is_consolidation));
        let last = event.last_timestamp.as_ref().map(|at| at.0);
        let last = last.or_else(|| event.event_time.as_ref().map(|at| at.0));
        is_told.then(|| Said {
            about: about.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
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

/// Whether an event is about the node of a NodeClaim, the NodeClaim, or its NodePool.
fn is_about(event: &Event, claim: &KnownClaim) -> bool {
    let name = event.involved_object.name.as_deref();
    match event.involved_object.kind.as_deref() {
        Some("Node") => name.is_some() && name == claim.details.node_name.as_deref(),
        Some("NodeClaim") => name == Some(&claim.claim.name),
        Some("NodePool") => name == Some(&claim.pool),
        _ => false,
    }
}

/// Whether Karpenter has said of a node why it does not repair it.
pub fn call_broken(events: &[&Event], claim: &KnownClaim) -> bool {
    events.iter().any(|event| {
        let message = event.message.as_deref().unwrap_or_default().to_lowercase();
        let says_so = event.reason.as_deref() == Some("NodeRepairBlocked") || message.starts_with("repair ");
        let kind = event.involved_object.kind.as_deref();
        says_so && kind != Some("NodePool") && is_about(event, claim)
    })
}
