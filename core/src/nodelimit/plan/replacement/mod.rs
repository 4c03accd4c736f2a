//! What happens to a broken node of a full pool: there is no place for its replacement beside it, so it is terminated
//! first.
//!
//! Karpenter (1.15 and newer) wants the replacement to exist first. Denied, it tries the same node again and again, and
//! disrupts nothing else in the whole cluster until that succeeds. So a node whose replacement was denied is *barred*:
//! `karpenter.sh/do-not-repair` keeps Karpenter from trying. One barred node at a time has its *turn*: it is no longer
//! barred, and if Karpenter then wants to repair it again, in vain, that is a *verdict*: the node is listed in the
//! ledger and terminated. Budgets, the share of broken nodes at which Karpenter stops, tolerations and vetoes are all
//! implied by a fresh verdict, so none of them is computed here.

mod follow;
mod obstacle;
mod turn;
mod verdict;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::claim::ClaimState;
use super::memory::Memory;
use super::outcome::ObjectRef;
use super::situation::Situation;
use crate::nodelimit::ledger::{Moment, ReplacedFor, Replacement, Stopped};

pub(super) use obstacle::Obstacle;
pub(super) use turn::Turn;

/// What is remembered of the replacements of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReplacementMemory {
    /// Since when each node has been barred, by the UID of its claim.
    barred: BTreeMap<Arc<str>, Moment>,
    /// The node whose turn it is.
    turn: Option<Turn>,
    /// Since when the listed claim has been gone.
    gone_since: Option<Moment>,
}

/// What the ledger says of replacements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplacementState {
    /// The claim that may be deleted.
    pub replacement: Option<Replacement>,
    /// Why nothing more is replaced.
    pub stopped: Option<Stopped>,
}

/// A deleted claim whose drain gets a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadline {
    /// The claim.
    pub claim: ObjectRef,
    /// When its machine goes, whatever still runs on it.
    pub at: Timestamp,
}

/// How a replacement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplacementOutcome {
    /// A newer node is initialized, or none was needed.
    Replaced,
    /// Karpenter no longer wanted it when its turn came.
    Dropped,
    /// It was listed, and before it was deleted something had changed.
    Cancelled,
    /// No newer node came in time.
    Stopped,
}

impl ReplacementOutcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Replaced, Self::Dropped, Self::Cancelled, Self::Stopped];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Dropped => "dropped",
            Self::Cancelled => "cancelled",
            Self::Stopped => "stopped",
        }
    }
}

/// The end of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The name of the node.
    pub node: Arc<str>,
    /// Why it was to be replaced.
    pub reason: ReplacedFor,
    /// How it ended.
    pub outcome: ReplacementOutcome,
}

/// What to do about nodes that must be replaced.
#[derive(Debug, Default)]
pub(super) struct Replacements<'p> {
    /// UIDs of the claims whose nodes Karpenter must not repair now.
    pub(super) barred: HashSet<&'p str>,
    /// The new content of the ledger, if it changes.
    pub(super) ledger: Option<ReplacementState>,
    /// The claim to delete now. It is in the ledger.
    pub(super) delete: Option<ObjectRef>,
    /// The drain to bound now.
    pub(super) deadline: Option<Deadline>,
    /// What has just ended.
    pub(super) ended: Vec<Ended>,
    /// The claims that wait for their replacement, the oldest first.
    pub(super) waiting: Vec<&'p ClaimState<'p>>,
    /// Why none of them is terminated now.
    pub(super) obstacle: Option<Obstacle>,
    /// When to decide again, if nothing changes before.
    pub(super) again_at: Option<Moment>,
}

/// Decides what to do about nodes that must be replaced.
pub(super) fn decide<'p>(now: &Situation<'p>, memory: &mut Memory) -> Replacements<'p> {
    let mut decided = Replacements::default();
    let memory = &mut memory.replacements;
    if !now.is_acted_upon() {
        *memory = ReplacementMemory::default();
        return decided;
    }
    let waits = |claim: &&ClaimState<'_>| now.waits_for_repair(claim);
    decided.waiting = now.claims.iter().copied().filter(waits).collect();
    memory.see(&decided.waiting, now.clock);
    decided.obstacle = Obstacle::of(now);
    match (&now.state.ledger.replacement, now.state.ledger.stopped) {
        (Some(replacement), _) => follow::follow(now, replacement, memory, &mut decided),
        (None, Some(stopped)) if follow::goes_on(now, stopped) => {
            decided.ledger = Some(ReplacementState::default());
        }
        (None, _) => turn::take(now, memory, &mut decided),
    }
    decided.bar_all_but(memory.turn.as_ref());
    decided
}

impl ReplacementMemory {
    /// Records which nodes wait.
    fn see(&mut self, waiting: &[&ClaimState<'_>], now: Moment) {
        let barred = waiting.iter().map(|claim| {
            let uid = &claim.claim.uid;
            (Arc::clone(uid), self.barred.get(uid).copied().unwrap_or(now))
        });
        self.barred = barred.collect();
    }
}

impl Replacements<'_> {
    fn bar_all_but(&mut self, turn: Option<&Turn>) {
        let is_its = |claim: &&&ClaimState<'_>| turn.is_some_and(|turn| turn.is_of(claim));
        let others = self.waiting.iter().filter(|claim| !is_its(claim));
        self.barred = others.map(|claim| &*claim.claim.uid).collect();
    }

    fn look_again(&mut self, at: Moment) {
        self.again_at = Some(self.again_at.map_or(at, |before| before.min(at)));
    }

    fn end(&mut self, node: &str, reason: ReplacedFor, outcome: ReplacementOutcome) {
        self.ended.push(Ended {
            node: node.into(),
            reason,
            outcome,
        });
    }
}
