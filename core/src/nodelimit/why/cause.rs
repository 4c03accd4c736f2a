//! Why a node stays: one thing that keeps it, and what to change.

use jiff::Timestamp;
use serde::Serialize;

/// What keeps a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CauseKind {
    /// poolgate holds it, because there is no place for a replacement.
    HeldByPoolgate,
    /// poolgate holds it, because pods wait for the places that are free.
    PendingPods,
    /// poolgate holds it, because a user has frozen the NodePool.
    Frozen,
    /// A user's annotation of the node.
    NodeDoNotDisrupt,
    /// The annotation by which it must not be repaired.
    NodeDoNotRepair,
    /// The annotation of a pod on it.
    PodDoNotDisrupt,
    /// A PodDisruptionBudget allows no eviction.
    PodDisruptionBudget,
    /// Two PodDisruptionBudgets select one pod.
    SeveralPodDisruptionBudgets,
    /// Nothing bounds its drain, or lets Karpenter pass over its pods.
    NoTerminationGracePeriod,
    /// A budget of the NodePool allows no disruption now.
    BudgetClosed,
    /// As many nodes are being disrupted as a budget allows.
    BudgetUsedUp,
    /// Karpenter cannot read a budget.
    BudgetUnreadable,
    /// The NodePool has as many nodes as it may have.
    PoolFull,
    /// The NodePool's node class is not ready.
    NodeClassNotReady,
    /// The NodePool is not ready for another reason.
    PoolNotReady,
    /// It has not been unchanged for long enough.
    ConsolidateAfter,
    /// The NodePool is not consolidated.
    ConsolidationDisabled,
    /// Only empty nodes of the NodePool are consolidated.
    WhenEmpty,
    /// It is not ready for pods yet.
    NotInitialized,
    /// It is being rebooted.
    Rebooting,
    /// Pods on it are about to end.
    PodsEnding,
    /// Volumes are still attached to it.
    VolumesAttached,
    /// Its machine is being terminated.
    InstanceTerminating,
    /// Karpenter should have begun.
    KarpenterSilent,
    /// Karpenter has not tried to repair it, and may never.
    NotRepaired,
}

/// One thing that keeps a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    #[serde(rename = "cause")]
    /// What kind of thing keeps it.
    pub kind: CauseKind,
    /// A sentence without its full stop.
    pub text: String,
    /// When it passes on its own, if that is known.
    pub until: Option<Timestamp>,
    /// What to change, or the command that does it.
    pub change: Option<String>,
    /// The part of the text that other nodes share. Nodes are reported together if kind and this part are the same.
    #[serde(skip)]
    pub shared: String,
}

impl Cause {
    pub(crate) fn new(kind: CauseKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind,
            shared: text.clone(),
            text,
            until: None,
            change: None,
        }
    }

    /// Adds what is true of this node alone.
    #[must_use]
    pub(super) fn here(mut self, text: &str) -> Self {
        self.text += text;
        self
    }

    /// Reports it together with other causes of the same kind, whatever they name.
    #[must_use]
    pub(super) fn with_its_kind(self) -> Self {
        Self {
            shared: String::new(),
            ..self
        }
    }

    #[must_use]
    pub(crate) fn until(self, until: Option<Timestamp>) -> Self {
        Self { until, ..self }
    }

    #[must_use]
    pub(super) fn change(self, change: impl Into<String>) -> Self {
        Self {
            change: Some(change.into()),
            ..self
        }
    }

    /// True if both are reported together.
    pub fn is_told_with(&self, other: &Self) -> bool {
        (self.kind, &self.shared) == (other.kind, &other.shared)
    }

    /// True if a PodDisruptionBudget allows no eviction.
    pub const fn is_of_a_budget_of_pods(&self) -> bool {
        matches!(
            self.kind,
            CauseKind::PodDisruptionBudget | CauseKind::SeveralPodDisruptionBudgets
        )
    }

    /// The cause in one line.
    pub fn line(&self) -> String {
        let until = self.until.map(|until| format!(", until {until:.0}"));
        let change = self.change.as_ref().map(|change| format!(". {change}"));
        format!(
            "{}{}{}",
            self.text,
            until.unwrap_or_default(),
            change.unwrap_or_default()
        )
    }
}
