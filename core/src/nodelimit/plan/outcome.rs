//! The result of a plan: what to do, and the numbers to show.

use std::sync::Arc;

use super::held_for::HeldFor;
use super::memory::Memory;
use super::object_ref::ObjectRef;
use super::replacement_outcome::{Deadline, Ended, ReplacementState};
use crate::api::NodeLimitMode;
use crate::budget::Reason;
use crate::nodelimit::ledger::Moment;

/// What to do for a pool now, in the order of the fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The nodes to hold, and why.
    pub hold: Vec<Hold>,
    /// Nodes to unhold, by name.
    pub unhold: Vec<Unhold>,
    /// The new value of `spec.limits.nodes`, if poolgate writes it and it changes.
    pub spec_limit: Option<u32>,
    /// Whether to store a ledger in place of the missing one: nothing is deleted without an open one.
    pub store_ledger: bool,
    /// The ledger's new list of victims, if it changes, at most [`super::excess::MOST_VICTIMS`]. Such a plan terminates
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
    /// When to plan again if nothing changes before: another turn for the open places, a budget's window, the end
    /// of the settle time.
    pub again_at: Option<Moment>,
    /// The memory for the next plan of this pool, once the events are written. If they could not be written, keep
    /// the former memory: then they are reported again.
    pub memory: Memory,
}

/// A node to hold: label [`crate::api::HELD_LABEL`], annotation [`crate::api::HELD_ANNOTATION`] and the annotations of Karpenter that
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
    /// Whether `karpenter.sh/do-not-disrupt` stays, as a user's from now on, because [`crate::api::KEEP_MARK`] asks for
    /// it.
    pub hand_over: bool,
}

/// An event on the NodePool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The `reason` of the event, by which users filter.
    pub reason: EventReason,
    /// The `message` of the event: a sentence for people.
    pub message: String,
}

/// Why an event is written. Every event is of type `Normal`, except for faults: see [`EventReason::is_warning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventReason {
    /// Karpenter may disrupt no node, because there is no place for its replacement.
    DisruptionBlocked,
    /// The pool has as many nodes as it may, and pods wait for more.
    NodeLimitReached,
    /// The pool has more nodes than it may.
    NodeLimitExceeded,
    /// A node is terminated first, because the pool is full, and then replaced.
    ReplacementStarted,
    /// Nodes that must be replaced are not, and why.
    ReplacementBlocked,
    /// A node need not be replaced after all.
    ReplacementDropped,
    /// A node that was terminated was not replaced.
    ReplacementStopped,
}

impl EventReason {
    /// The reason as it is in the event.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DisruptionBlocked => "DisruptionBlocked",
            Self::NodeLimitReached => "NodeLimitReached",
            Self::NodeLimitExceeded => "NodeLimitExceeded",
            Self::ReplacementStarted => "ReplacementStarted",
            Self::ReplacementBlocked => "ReplacementBlocked",
            Self::ReplacementDropped => "ReplacementDropped",
            Self::ReplacementStopped => "ReplacementStopped",
        }
    }

    /// Whether the event is of type `Warning`.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::NodeLimitExceeded | Self::ReplacementStopped)
    }
}

/// The numbers of a pool, before the plan is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    /// How many NodeClaims count, in the pool's mode; all of them if it has no limit.
    pub nodes: u32,
    /// The most nodes that the pool may have; `None` if it has no limit.
    pub limit: Option<u32>,
    /// How many more are possible, minus reservations that have no claim yet.
    pub remaining: Option<u32>,
    /// The mode of the limit.
    pub mode: Option<NodeLimitMode>,
    /// How many nodes may be disrupted for each reason: the least of the active budgets and, in a Hard pool and for
    /// reasons that need replacements, the places left. `None`: as many as there are.
    pub allowed: [(Reason, Option<u32>); Reason::ALL.len()],
    /// How many nodes carry poolgate's marks.
    pub held: u32,
    /// How many NodeClaims are above the limit, not counting those that are going already.
    pub excess: u32,
    /// How many nodes Karpenter wants to repair, and cannot.
    pub unrepaired: u32,
}
