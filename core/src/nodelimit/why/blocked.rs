//! Nodes that should go and stay: each counts once, by one cause.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::wanted::{self, Goal};
use super::{Cause, CauseKind, Explanation, Seen};

/// After this time, a node that is being deleted is held up whatever is known of it: drained, and its machine terminated, it
/// would be gone.
const LONG: SignedDuration = SignedDuration::from_mins(10);

/// What a blocked node is counted by. A node with several causes counts by the first in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocked {
    /// It is being deleted, and a pod, a volume or a finalizer holds it.
    Deleting,
    /// A user has frozen the NodePool.
    Frozen,
    /// A user's annotation of the node.
    NodeDoNotDisrupt,
    /// The annotation of a pod on it.
    PodDoNotDisrupt,
    /// A PodDisruptionBudget allows no eviction.
    PodDisruptionBudget,
    /// A budget of the NodePool allows no disruption now.
    BudgetClosed,
    /// The NodePool has no room for its replacement.
    PoolFull,
    /// poolgate keeps Karpenter from repairing it until there is room.
    Repair,
    /// It is empty, and has not been unchanged for long enough.
    ConsolidateAfter,
    /// There is room, and pods wait for it.
    PendingPods,
    /// Its NodePool or node class is not ready.
    PoolNotReady,
}

impl Blocked {
    /// All, in their order.
    pub const ALL: [Self; 11] = [
        Self::Deleting,
        Self::Frozen,
        Self::NodeDoNotDisrupt,
        Self::PodDoNotDisrupt,
        Self::PodDisruptionBudget,
        Self::BudgetClosed,
        Self::PoolFull,
        Self::Repair,
        Self::ConsolidateAfter,
        Self::PendingPods,
        Self::PoolNotReady,
    ];

    /// The word for metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deleting => "deleting",
            Self::Frozen => "frozen",
            Self::NodeDoNotDisrupt => "node_do_not_disrupt",
            Self::PodDoNotDisrupt => "pod_do_not_disrupt",
            Self::PodDisruptionBudget => "pod_disruption_budget",
            Self::BudgetClosed => "budget_closed",
            Self::PoolFull => "pool_full",
            Self::Repair => "repair",
            Self::ConsolidateAfter => "consolidate_after",
            Self::PendingPods => "pending_pods",
            Self::PoolNotReady => "pool_not_ready",
        }
    }

    /// What a cause counts as; `None` if it is a setting, or passes with the node's turn.
    fn of(cause: &Cause, seen: &Seen<'_>) -> Option<Self> {
        let waits_for_turn = seen
            .pool
            .is_some_and(|known| known.makes_room() && !known.has_no_leader);
        match cause.kind {
            CauseKind::Frozen => Some(Self::Frozen),
            CauseKind::NodeDoNotDisrupt | CauseKind::NodeDoNotRepair => Some(Self::NodeDoNotDisrupt),
            CauseKind::PodDoNotDisrupt => Some(Self::PodDoNotDisrupt),
            CauseKind::PodDisruptionBudget | CauseKind::SeveralPodDisruptionBudgets => {
                Some(Self::PodDisruptionBudget)
            }
            CauseKind::BudgetClosed | CauseKind::BudgetUnreadable => Some(Self::BudgetClosed),
            CauseKind::HeldByPoolgate if seen.state.marks().held_for().repair => Some(Self::Repair),
            CauseKind::HeldByPoolgate | CauseKind::PoolFull => (!waits_for_turn).then_some(Self::PoolFull),
            CauseKind::ConsolidateAfter => Some(Self::ConsolidateAfter),
            CauseKind::PendingPods => Some(Self::PendingPods),
            CauseKind::NodeClassNotReady | CauseKind::PoolNotReady => Some(Self::PoolNotReady),
            CauseKind::NoTerminationGracePeriod
            | CauseKind::BudgetUsedUp
            | CauseKind::ConsolidationDisabled
            | CauseKind::WhenEmpty
            | CauseKind::NotInitialized
            | CauseKind::Rebooting
            | CauseKind::PodsEnding
            | CauseKind::VolumesAttached
            | CauseKind::InstanceTerminating
            | CauseKind::KarpenterSilent
            | CauseKind::NotRepaired => None,
        }
    }
}

/// Why a node that should go stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedNode {
    /// What it is counted by.
    pub by: Blocked,
    /// The cause itself, if one is known.
    pub cause: Option<Cause>,
    /// Since when it should go, if that is known.
    pub since: Option<Timestamp>,
}

impl Explanation {
    /// Why the node stays, if it should go.
    pub fn blocked(&self, seen: &Seen<'_>) -> Option<BlockedNode> {
        // Karpenter may have no wish to repair it.
        let is_wanted = |goal: Goal| goal != Goal::Unhealthy || wanted::is_known_to_be_broken(seen);
        if !self.wanted.iter().any(|one| is_wanted(one.goal)) {
            return None;
        }
        let since = self.wanted.iter().filter_map(|one| one.since).min();
        let found = |by: Blocked, cause: Option<&Cause>| BlockedNode {
            by,
            cause: cause.cloned(),
            since,
        };
        let known = self.causes.iter().filter_map(|cause| {
            let by = Blocked::of(cause, seen)?;
            Some((by, cause))
        });
        let first = known.min_by_key(|(by, _)| *by);
        let Some(deleted) = seen.state.deleted else {
            return first.map(|(by, cause)| found(by, Some(cause)));
        };
        let is_attached = |cause: &&Cause| cause.kind == CauseKind::VolumesAttached;
        let holds = first.map(|(_, cause)| cause);
        let holds = holds.or_else(|| self.causes.iter().find(is_attached));
        let is_held = holds.is_some() || seen.now.duration_since(deleted) >= LONG;
        is_held.then(|| found(Blocked::Deleting, holds))
    }
}
