//! Karpenter's events `DisruptionBlocked` and `NodeRepairBlocked`, in plain words.

use std::fmt::Write as _;

use jiff::Timestamp;
use poolgate_core::diagnostic::counted;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::terminal;

/// Karpenter could not begin to disrupt a node, or nodes of a pool.
pub const DISRUPTION: &str = "DisruptionBlocked";

/// Karpenter repairs no node of a pool.
pub const REPAIR: &str = "NodeRepairBlocked";

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A pool as a whole.
    Pool,
    /// A node of it.
    Node,
}

/// Events of one pool that mean the same.
#[derive(Debug)]
pub struct Blocked {
    /// The reason of the events.
    kind: &'static str,
    scope: Scope,
    meaning: Option<&'static str>,
    /// The message of the last one.
    message: String,
    last: Option<Timestamp>,
    /// How many events; those about nodes are about one node each.
    count: usize,
}

/// A part of a message, and what it means.
const MEANINGS: [(&str, &str); 12] = [
    (
        "due to blocking budget",
        "the budgets of the pool allowed no disruption for this reason at that time",
    ),
    (
        "pod has \"karpenter.sh/do-not-disrupt\" annotation",
        "a pod blocks the disruption until it ends or its annotation is removed",
    ),
    (
        "blocked through the \"karpenter.sh/do-not-disrupt\" annotation",
        "the annotation karpenter.sh/do-not-disrupt of the node blocks its disruption. If the node has the label \
         poolgate.dev/held, poolgate removes both when there is room for a replacement",
    ),
    (
        "blocked through the \"karpenter.sh/do-not-repair\" annotation",
        "the node is broken, and its annotation karpenter.sh/do-not-repair blocks the repair. If the node has the label \
         poolgate.dev/held, there was no room for a replacement: see `poolgate status`",
    ),
    (
        "requires a termination grace period to bypass blocking pods",
        "the node is broken, but a pod blocks its repair. Karpenter repairs it when that pod is gone, or if its NodeClaim \
         or the provider's repair policy has a terminationGracePeriod",
    ),
    (
        "are unhealthy",
        "too many nodes are broken. Karpenter assumes a common cause and repairs none until fewer are broken",
    ),
    (
        "eviction does not support multiple PDBs",
        "two PodDisruptionBudgets select the same pod, so it cannot be evicted. Change the selector of one",
    ),
    (
        "pdb prevents pod evictions",
        "a PodDisruptionBudget allows no eviction. `kubectl get pdb -A` shows it with 0 allowed disruptions",
    ),
    (
        "nominated for a pending pod",
        "a pending pod will be scheduled to the node. This passes on its own",
    ),
    (
        "deleting or marked for deletion",
        "the node is already being removed, and counts against the budgets",
    ),
    (
        "initialized",
        "the node is not initialized. Karpenter waits until it is ready with all requested resources",
    ),
    (
        "node is rebooting",
        "the node is being rebooted. This passes on its own",
    ),
];

/// What a message means, if that is known.
pub fn meaning(message: &str) -> Option<&'static str> {
    let message = message.to_lowercase();
    let mut known = MEANINGS.iter();
    let (_, meaning) = known.find(|(part, _)| message.contains(&part.to_lowercase()))?;
    Some(meaning)
}

impl Blocked {
    pub fn new(kind: &'static str, scope: Scope, meaning: Option<&'static str>) -> Self {
        Self {
            kind,
            scope,
            meaning,
            message: String::new(),
            last: None,
            count: 0,
        }
    }

    /// Counts an event, and keeps its message if it is the latest.
    pub fn add(&mut self, message: String, at: Option<Timestamp>) {
        self.count += 1;
        if self.message.is_empty() || at > self.last {
            self.message = message;
            self.last = at;
        }
    }

    /// The events in sentences: what Karpenter says, and what that means.
    pub fn described(&self, clock: &Clock) -> String {
        let about = match self.scope {
            Scope::Pool => String::new(),
            Scope::Node => format!(", {}", counted(self.count, "node")),
        };
        let when = self.last.map(|at| format!(", last at {}", clock.write(at)));
        let mut text = format!(
            "{}{about}{}: {}\n",
            self.kind,
            when.unwrap_or_default(),
            terminal::clean(&self.message)
        );
        if let Some(meaning) = self.meaning {
            let _ = writeln!(text, "  {meaning}");
        }
        text
    }

    pub fn json(&self) -> Value {
        json!({
            "reason": self.kind,
            "about": match self.scope { Scope::Pool => "NodePool", Scope::Node => "NodeClaim" },
            "message": self.message,
            "meaning": self.meaning,
            "last": self.last.map(|at| at.to_string()),
            "count": self.count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_karpenter_1_15_have_a_meaning() {
        for (message, start) in [
            (
                "No allowed disruptions for disruption reason Drifted due to blocking budget",
                "the budgets",
            ),
            (
                "Pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=default/a)",
                "a pod blocks",
            ),
            (
                "Disruption is blocked through the \"karpenter.sh/do-not-disrupt\" annotation",
                "the annotation",
            ),
            (
                "Pdb prevents pod evictions (PodDisruptionBudget=[default/a])",
                "a PodDisruptionBudget",
            ),
            (
                "Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[a b])",
                "two",
            ),
            ("Node is nominated for a pending pod", "a pending pod"),
            (
                "Node is deleting or marked for deletion",
                "the node is already being",
            ),
            ("Node isn't initialized nor registered", "the node is not"),
            ("Node is rebooting", "the node is being rebooted"),
            (
                "Repair is blocked through the \"karpenter.sh/do-not-repair\" annotation",
                "the node is broken, and its",
            ),
            (
                "Repair requires a termination grace period to bypass blocking pods",
                "the node is broken, but a pod",
            ),
            (
                "more than 20% of nodes in nodepool \"general\" are unhealthy",
                "too many nodes",
            ),
        ] {
            assert!(
                meaning(message).is_some_and(|meaning| meaning.starts_with(start)),
                "{message}"
            );
        }
        assert_eq!(meaning("Not all pods would schedule"), None);
    }
}
