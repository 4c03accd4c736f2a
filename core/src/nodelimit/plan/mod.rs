//! What to do for a pool so that its node limit holds: which nodes to keep from disruption, what to terminate,
//! which events to write.
//!
//! [`plan`] decides from plain data and a given time. It knows nothing of clusters, watches or writes, or of when
//! it is called: once a plan is carried out, the next one has nothing left to do.

mod events;
mod excess;
mod holds;
mod replacement;
mod situation;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::nodelimit::ledger::Moment;
use holds::Holds;
use replacement::{Obstacle, Replacements};
use situation::Situation;

pub use events::{Event, EventReason, above_limit, of_limit};
pub use excess::eviction_cost;
pub use replacement::{
    BudgetsByNamespace, Deadline, DrainObstacle, Ended, Eviction, MOST_PODS_ON_NODE, NamespacedName,
    PodDisruptionBudget, PodOnNode, ReplacementOutcome, ReplacementState,
};
pub(crate) use situation::Counts;
pub use situation::{Memory, Numbers, RolloutState};
pub use state::{
    Claim, ClaimState, Condition, Conditions, DEADLINE_ANNOTATION, DELETION_COST_ANNOTATION,
    DISRUPTION_COST_ANNOTATION, Disruption, DoNotDisrupt, HeldFor, LastDenial, LedgerIdentity, LedgerState,
    LimitWrite, Marks, Node, Now, ObjectRef, Pod, PodCosts, Pool, PoolDetails, PoolState, Protection, Rights,
    SETTLE, Settings, Tries, written_cost,
};

/// Decides what to do for a pool now.
///
/// The same state and memory give the same plan, whatever the order of claims, pods and other lists. Takes time in
/// proportion to the claims (times their logarithm) and the pods.
pub fn plan(state: &PoolState<'_>, memory: &Memory, now: Now) -> Plan {
    let mut memory = memory.clone();
    let situation = Situation::assess(state, &mut memory, now);
    let holds = holds::decide(&situation, &mut memory);
    let termination = excess::decide(&situation);
    let replacements = replacement::decide(&situation, &mut memory);
    let (hold, unhold) = changed_marks(&situation, &holds, &replacements);
    let schedule = situation.scheduled_limit().and_then(|_| situation.next_minute());
    let events = events::decide(&situation, &holds, &termination, &replacements, &mut memory);
    Plan {
        hold,
        unhold,
        limit: situation.limit_write(),
        store_ledger: state.ledger.identity.is_none()
            && (excess::terminates(&situation) && situation.excess() > 0
                || replacements.obstacle == Some(Obstacle::Ledger)),
        victims: termination.victims,
        terminate: termination.terminate,
        replacement: replacements.ledger,
        replace: replacements.delete,
        deadline: replacements.deadline,
        ended: replacements.ended,
        events,
        numbers: situation.numbers(replacements.waiting.len()),
        again_at: [
            holds.again_at,
            termination.again_at,
            replacements.again_at,
            schedule,
        ]
        .into_iter()
        .flatten()
        .min(),
        memory,
    }
}

/// What to do for a pool now, in the order of the fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The nodes to hold, and why.
    pub hold: Vec<Hold>,
    /// Nodes to unhold, by name.
    pub unhold: Vec<Unhold>,
    /// The node limit to write, if poolgate writes it and it changes.
    pub limit: Option<LimitWrite>,
    /// True if a ledger is to be stored in place of the missing one: nothing is deleted without an open one.
    pub store_ledger: bool,
    /// The ledger's new list of victims, if it changes, at most [`excess::MOST_VICTIMS`]. Such a plan terminates
    /// nothing: plan again once the list is written.
    pub victims: Option<Vec<Arc<str>>>,
    /// Claims to delete, with a precondition on the UID, in this order. All of them are in the ledger.
    pub terminate: Vec<ObjectRef>,
    /// What the ledger says of replacements from now on, if that changes. Such a plan deletes nothing: plan again once it
    /// is written.
    pub replacement: Option<ReplacementState>,
    /// The claim to delete so that it can be replaced. It is in the ledger.
    pub replace: Option<ObjectRef>,
    /// The drain to bound.
    pub deadline: Option<Deadline>,
    /// The replacements that have ended, to be counted once [`Self::replacement`] is written.
    pub ended: Vec<Ended>,
    /// Events to write on the NodePool.
    pub events: Vec<Event>,
    /// The numbers to show.
    pub numbers: Numbers,
    /// When to plan again if nothing changes before: another turn, a budget's window, the end
    /// of the settle time.
    pub again_at: Option<Moment>,
    /// The memory for the next plan of this pool, once the events are written. If they could not be written, keep
    /// the former memory: then they are reported again.
    pub memory: Memory,
}

/// A node to hold: label [`HELD_LABEL`](crate::api::HELD_LABEL), annotation [`HELD_ANNOTATION`](crate::api::HELD_ANNOTATION) and the annotations of Karpenter that
/// the reasons need, all in one write. Marks of ours for other reasons are removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hold {
    /// The node to write to.
    pub node: ObjectRef,
    /// Why it is held: the value of the annotation.
    pub reasons: HeldFor,
}

/// A node to unhold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unhold {
    /// The node to write to.
    pub node: ObjectRef,
    /// True if `karpenter.sh/do-not-disrupt` stays, as a user's from now on, because `poolgate.dev/keep` asks for it.
    pub hand_over: bool,
}

/// The nodes whose marks change, those of the oldest claims first.
fn changed_marks(
    situation: &Situation<'_>,
    holds: &Holds<'_>,
    replacements: &Replacements<'_>,
) -> (Vec<Hold>, Vec<Unhold>) {
    let (mut hold, mut unhold) = (Vec::new(), Vec::new());
    let nodes = situation.claims.iter();
    for (claim, node) in nodes.filter_map(|claim| Some((claim, claim.node?))) {
        let uid = &*claim.uid;
        let (marks, before) = (node.marks, node.marks.held_for());
        let is_frozen = holds.freeze.contains(uid);
        let reasons = HeldFor {
            node_limit: holds.hold.contains(uid) || before.node_limit && !holds.unhold.contains(uid),
            // One that is being disrupted or deleted keeps what it has.
            freeze: is_frozen || before.freeze && situation.is_frozen(),
            repair: replacements.held_from_repair.contains(uid),
        };
        let is_decided = holds.hold.contains(uid) || is_frozen || reasons.repair || reasons != before;
        if !reasons.any() {
            if marks.any_is_ours() {
                unhold.push(Unhold {
                    node: ObjectRef::to_node(node),
                    hand_over: marks.hands_over(),
                });
            }
        } else if is_decided && !marks.hold_for(reasons) {
            hold.push(Hold {
                node: ObjectRef::to_node(node),
                reasons,
            });
        }
    }
    (hold, unhold)
}
