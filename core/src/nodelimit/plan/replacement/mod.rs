//! What happens to a node of a full pool that must be replaced: there is no place for its replacement beside it, so it is
//! terminated first.
//!
//! Of a broken node, Karpenter (1.15 and newer) wants the replacement to exist first. Denied, it tries the same node again and again, and
//! disrupts nothing else in the whole cluster until that succeeds. So a node whose replacement was denied is *barred*:
//! `karpenter.sh/do-not-repair` keeps Karpenter from trying. One barred node at a time has its *turn*: it is no longer
//! barred, and if Karpenter then wants to repair it again, in vain, that is a *verdict*: the node is listed in the
//! ledger and terminated. Budgets, the share of broken nodes at which Karpenter stops, tolerations and vetoes are all
//! implied by a fresh verdict, so none of them is computed here.

mod drifted;
mod follow;
mod obstacle;
mod turn;
mod verdict;

use std::collections::BTreeSet;

use super::claim::ClaimState;
use super::memory::Memory;
use super::object_ref::ObjectRef;
use super::replacement_memory::{ReplacementMemory, Turn};
use super::replacement_outcome::{Deadline, Ended, ReplacementOutcome, ReplacementState};
use super::situation::Situation;
use crate::nodelimit::ledger::{Moment, ReplacedFor};

pub use obstacle::Obstacle;

/// What to do about nodes that must be replaced.
#[derive(Debug, Default)]
pub struct Replacements<'p> {
    /// UIDs of the claims whose nodes Karpenter must not repair now.
    pub barred: BTreeSet<&'p str>,
    /// The new content of the ledger, if it changes.
    pub ledger: Option<ReplacementState>,
    /// The claim to delete now. It is in the ledger.
    pub delete: Option<ObjectRef>,
    /// The drain to bound now.
    pub deadline: Option<Deadline>,
    /// What has just ended.
    pub ended: Vec<Ended>,
    /// The claims that wait for their replacement, the oldest first.
    pub waiting: Vec<&'p ClaimState<'p>>,
    /// Why a drifted node cannot be drained without harm.
    pub refused: Option<String>,
    /// Why none of them is terminated now.
    pub obstacle: Option<Obstacle>,
    /// When to decide again, if nothing changes before.
    pub again_at: Option<Moment>,
}

/// Decides what to do about nodes that must be replaced.
pub fn decide<'p>(situation: &Situation<'p>, memory: &mut Memory) -> Replacements<'p> {
    let mut decided = Replacements::default();
    let memory = &mut memory.replacements;
    if !situation.is_acted_upon() {
        *memory = ReplacementMemory::default();
        return decided;
    }
    let waits = |claim: &&ClaimState<'_>| situation.waits_for_repair(claim);
    decided.waiting = situation.claims.iter().copied().filter(waits).collect();
    memory.see(&decided.waiting, situation.is_awaited, situation.clock);
    decided.obstacle = Obstacle::find(situation);
    match (
        &situation.state.ledger.replacement,
        situation.state.ledger.stopped,
    ) {
        (Some(replacement), _) => follow::follow(situation, replacement, memory, &mut decided),
        (None, Some(stopped)) if follow::goes_on(situation, stopped) => {
            decided.ledger = Some(ReplacementState::default());
        }
        (None, stopped) => {
            turn::take(situation, memory, &mut decided);
            drifted::choose(situation, memory, &mut decided);
            if let Some(stopped) = stopped {
                decided.ledger = follow::adopted(situation, stopped);
            }
        }
    }
    decided.refused = memory.refusal().map(str::to_owned);
    decided.bar_all_but(memory.turn.as_ref());
    decided
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
