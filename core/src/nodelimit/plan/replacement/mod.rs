//! What happens to a node of a full pool that must be replaced: there is no room for its replacement beside it, so it is
//! terminated first.
//!
//! Karpenter (1.15 and newer) creates the replacement of a broken node first. If that is denied, it tries the same node
//! again and again, and disrupts nothing else in the whole cluster until that succeeds. So a node whose replacement was
//! denied is held from repair: `karpenter.sh/do-not-repair` keeps Karpenter from trying. One such node at a time may be
//! retried: it is no longer held, and if Karpenter then tries to repair it again, and fails, the repair is *stuck*: the
//! node is listed in the ledger and terminated. Budgets, the share of broken nodes at which Karpenter stops, tolerations
//! and vetoes are all implied by a stuck repair, so none of them is computed here.

mod drain;
mod drift;
mod obstacle;
mod repair;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::situation::{Memory, RETRY_LASTS, Situation};
use super::state::{Claim, ClaimState, ObjectRef};
use crate::nodelimit::ledger::{Moment, ReplacedFor, Replacement, Stopped, Uid};

pub use drain::{
    BudgetsByNamespace, DrainObstacle, Eviction, MOST_PODS_ON_NODE, NamespacedName, PodDisruptionBudget,
    PodOnNode,
};
pub use obstacle::Obstacle;

/// How long a newer claim may take to be initialized after the listed one is gone.
const REPLACED_WITHIN: Duration = Duration::from_mins(15);

/// What to do about nodes that must be replaced.
#[derive(Debug, Default)]
pub struct Replacements<'p> {
    /// UIDs of the claims whose nodes Karpenter must not repair now.
    pub held_from_repair: BTreeSet<&'p str>,
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
    /// Why none of them is terminated now.
    pub obstacle: Option<Obstacle>,
    /// When to decide again, if nothing changes before.
    pub again_at: Option<Moment>,
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
    /// The claim to annotate.
    pub claim: ObjectRef,
    /// When its machine goes, whatever still runs on it.
    pub at: Timestamp,
}

/// How a replacement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplacementOutcome {
    /// A newer node is initialized, or none was needed.
    Replaced,
    /// Karpenter no longer wanted it when it was retried.
    Dropped,
    /// It was listed, and before it was deleted something had changed.
    Cancelled,
    /// No newer node came in time.
    Stopped,
}

impl ReplacementOutcome {
    /// Every outcome, for metrics that exist from the start.
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
    /// What became of the replacement.
    pub outcome: ReplacementOutcome,
}

/// Decides what to do about nodes that must be replaced.
pub fn decide<'p>(situation: &Situation<'p>, memory: &mut Memory) -> Replacements<'p> {
    let mut decided = Replacements::default();
    if !situation.is_acted_upon() {
        memory.forget_replacements();
        return decided;
    }
    let waits = |claim: &&ClaimState<'_>| situation.waits_for_repair(claim);
    decided.waiting = situation.claims.iter().copied().filter(waits).collect();
    memory.see_replacements(&decided.waiting, situation.is_awaited, situation.clock);
    decided.obstacle = Obstacle::find(situation);
    match (
        &situation.state.ledger.replacement,
        situation.state.ledger.stopped,
    ) {
        (Some(replacement), _) => follow(situation, replacement, memory, &mut decided),
        (None, Some(stopped)) if goes_on(situation, stopped) => {
            decided.ledger = Some(ReplacementState::default());
        }
        (None, _) => {
            repair::retry(situation, memory, &mut decided);
            drift::choose(situation, memory, &mut decided);
        }
    }
    let is_retried = |claim: &&&ClaimState<'_>| memory.retry.as_ref().is_some_and(|retry| retry.is_of(claim));
    let held = decided.waiting.iter().filter(|claim| !is_retried(claim));
    decided.held_from_repair = held.map(|claim| &*claim.uid).collect();
    decided
}

/// Decides on the next step of a replacement that is listed in the ledger: the claim is deleted, its drain is bounded, it
/// is gone, and a newer one is initialized. Each step is found again in the cluster after a restart.
fn follow<'p>(
    situation: &Situation<'p>,
    replacement: &Replacement,
    memory: &mut Memory,
    decided: &mut Replacements<'p>,
) {
    let is_its = |claim: &&ClaimState<'_>| *claim.uid == *replacement.uid.as_str();
    let claim = situation.claims.iter().copied().find(is_its);
    let is_gone = claim.is_none();
    memory.gone_since = is_gone.then(|| memory.gone_since.unwrap_or(situation.clock));
    match claim {
        Some(claim) if claim.deleted.is_none() => {
            let may_go = match replacement.reason {
                ReplacedFor::Unhealthy => decided.obstacle.is_none() && situation.is_repair_stuck(claim),
                ReplacedFor::Drifted => drift::may_go(situation, claim, decided),
            };
            // No event tells when a repair is no longer stuck.
            decided.look_again(situation.clock.plus(RETRY_LASTS));
            // For a drifted node, the limit that Karpenter sees is lowered first.
            let is_limit_written =
                replacement.reason == ReplacedFor::Unhealthy || situation.limit_write().is_none();
            match (may_go, is_limit_written) {
                (true, true) => decided.delete = Some(ObjectRef::to_claim(claim)),
                (true, false) => {}
                (false, _) => {
                    memory.retry = None;
                    decided.clear(replacement, ReplacementOutcome::Cancelled);
                }
            }
        }
        Some(claim) => {
            memory.retry = None;
            decided.deadline = deadline(situation, claim, replacement.reason);
        }
        None => {
            memory.retry = None;
            wait_for_newer(situation, replacement, memory, decided);
        }
    }
}

/// The bound of a drain: a PodDisruptionBudget could hold it up forever. Karpenter sets the one of a claim that has a
/// `terminationGracePeriod` itself.
fn deadline(situation: &Situation<'_>, claim: &Claim, reason: ReplacedFor) -> Option<Deadline> {
    let is_bounded = claim.has_deadline || claim.has_grace_period || reason != ReplacedFor::Unhealthy;
    let grace = SignedDuration::try_from(situation.pool.repair_grace_period).ok()?;
    let at = claim.deleted?.checked_add(grace).ok()?;
    (!is_bounded && situation.settings.rights.patch).then(|| Deadline {
        claim: ObjectRef::to_claim(claim),
        at,
    })
}

fn wait_for_newer<'p>(
    situation: &Situation<'p>,
    replacement: &Replacement,
    memory: &mut Memory,
    decided: &mut Replacements<'p>,
) {
    let newer = || {
        let claims = situation.claims.iter().copied();
        claims.filter(|claim| claim.created.as_second() > replacement.newest)
    };
    if newer().any(|claim| claim.deleted.is_none() && claim.conditions.initialized) {
        memory.gone_since = None;
        return decided.clear(replacement, ReplacementOutcome::Replaced);
    }
    let ends = memory.gone_since.unwrap_or(situation.clock).plus(REPLACED_WITHIN);
    if ends > situation.clock {
        return decided.look_again(ends);
    }
    memory.gone_since = None;
    let has_place = situation.counts.remaining(situation.pool) != Some(0) || newer().next().is_some();
    if !situation.is_awaited || !has_place {
        // No pod needs the node any more, or the limit was lowered, so that nothing can replace it.
        return decided.clear(replacement, ReplacementOutcome::Replaced);
    }
    decided.clear(replacement, ReplacementOutcome::Stopped);
    decided.ledger = Some(ReplacementState {
        replacement: None,
        stopped: Some(Stopped {
            at: situation.wall.as_second(),
            template: situation.pool.template_hash,
            class_ready_since: situation.pool.class_ready_since.map(jiff::Timestamp::as_second),
        }),
    });
}

/// Whether what kept the last node from being replaced may be over. poolgate's own writes, and other changes of the
/// NodePool's status, do not show that.
fn goes_on(situation: &Situation<'_>, stopped: Stopped) -> bool {
    let class_ready_since = situation.pool.class_ready_since.map(jiff::Timestamp::as_second);
    let is_ready_anew = class_ready_since.is_some() && class_ready_since != stopped.class_ready_since;
    stopped.template != situation.pool.template_hash || is_ready_anew
}

impl<'p> Replacements<'p> {
    /// Lists a claim in the ledger: nothing else may be deleted to make room.
    fn list(&mut self, situation: &Situation<'p>, claim: &ClaimState<'p>, reason: ReplacedFor) {
        let (Ok(uid), Some(node)) = (Uid::new(&claim.uid), claim.node) else {
            return;
        };
        let newest = situation
            .claims
            .iter()
            .map(|claim| claim.created.as_second())
            .max();
        let replacement = Replacement {
            uid,
            claim: claim.name.as_ref().into(),
            node: node.name.as_ref().into(),
            reason,
            newest: newest.unwrap_or_default(),
        };
        self.ledger = Some(ReplacementState {
            replacement: Some(replacement),
            stopped: None,
        });
    }

    /// Removes the replacement from the ledger.
    fn clear(&mut self, replacement: &Replacement, outcome: ReplacementOutcome) {
        self.ledger = Some(ReplacementState::default());
        self.end(&replacement.node, replacement.reason, outcome);
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
