//! A replacement that is listed in the ledger, step by step: the claim is deleted, its drain is bounded, it is gone, and
//! a newer one is initialized. Each step is found again in the cluster after a restart.

use std::time::Duration;

use jiff::SignedDuration;

use super::{Replacements, drifted};
use crate::nodelimit::ledger::{ReplacedFor, Replacement, Stopped};
use crate::nodelimit::plan::claim::{Claim, ClaimState};
use crate::nodelimit::plan::object_ref::ObjectRef;
use crate::nodelimit::plan::replacement_memory::{ReplacementMemory, VERDICT_LASTS};
use crate::nodelimit::plan::replacement_outcome::{Deadline, ReplacementOutcome, ReplacementState};
use crate::nodelimit::plan::situation::Situation;
use crate::nodelimit::plan::spec_limit;

/// How long a newer claim may take to be initialized after the listed one is gone.
const REPLACED_WITHIN: Duration = Duration::from_mins(15);

/// Decides on the next step.
pub fn follow<'p>(
    situation: &Situation<'p>,
    replacement: &Replacement,
    memory: &mut ReplacementMemory,
    decided: &mut Replacements<'p>,
) {
    let is_its = |claim: &&ClaimState<'_>| *claim.claim.uid == *replacement.uid.as_str();
    let claim = situation.claims.iter().copied().find(is_its);
    let is_gone = claim.is_none();
    memory.gone_since = is_gone.then(|| memory.gone_since.unwrap_or(situation.clock));
    match claim {
        Some(claim) if claim.claim.deleted.is_none() => {
            let may_go = match replacement.reason {
                ReplacedFor::Unhealthy => decided.obstacle.is_none() && situation.has_fresh_verdict(claim),
                ReplacedFor::Drifted => drifted::may_go(situation, claim, decided),
            };
            // Nothing may show that a verdict is no longer fresh.
            decided.look_again(situation.clock.plus(VERDICT_LASTS));
            // Of a drifted one, Karpenter must see first that there is no place.
            let is_limit_written =
                replacement.reason == ReplacedFor::Unhealthy || spec_limit::decide(situation).is_none();
            match (may_go, is_limit_written) {
                (true, true) => decided.delete = Some(ObjectRef::to_claim(claim.claim)),
                (true, false) => {}
                (false, _) => {
                    memory.turn = None;
                    decided.clear(replacement, ReplacementOutcome::Cancelled);
                }
            }
        }
        Some(claim) => {
            memory.turn = None;
            decided.deadline = deadline(situation, claim.claim, replacement.reason);
        }
        None => {
            memory.turn = None;
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
    memory: &mut ReplacementMemory,
    decided: &mut Replacements<'p>,
) {
    let is_newer = |claim: &&ClaimState<'_>| {
        let claim = claim.claim;
        claim.deleted.is_none()
            && claim.conditions.initialized
            && claim.created.as_second() > replacement.newest
    };
    if situation.claims.iter().copied().any(|claim| is_newer(&claim)) {
        memory.gone_since = None;
        return decided.clear(replacement, ReplacementOutcome::Replaced);
    }
    let ends = memory.gone_since.unwrap_or(situation.clock).plus(REPLACED_WITHIN);
    if ends > situation.clock {
        return decided.look_again(ends);
    }
    memory.gone_since = None;
    if !situation.is_awaited {
        // No pod needs the node any more.
        return decided.clear(replacement, ReplacementOutcome::Replaced);
    }
    decided.clear(replacement, ReplacementOutcome::Stopped);
    decided.ledger = Some(ReplacementState {
        replacement: None,
        stopped: Some(Stopped {
            at: situation.wall.as_second(),
            template: situation.pool.template_hash.before,
            template_sha256: Some(situation.pool.template_hash.sha256),
            class_ready_since: situation.pool.class_ready_since.map(jiff::Timestamp::as_second),
        }),
    });
}

/// Whether what kept the last node from being replaced may be over. Poolgate's own writes, and other changes of the
/// NodePool's status, do not show that.
pub fn goes_on(situation: &Situation<'_>, stopped: Stopped) -> bool {
    let class_ready_since = situation.pool.class_ready_since.map(jiff::Timestamp::as_second);
    let is_ready_anew = class_ready_since.is_some() && class_ready_since != stopped.class_ready_since;
    let is_changed = |hash| hash != situation.pool.template_hash.sha256;
    stopped.template_sha256.is_some_and(is_changed) || is_ready_anew
}

/// What the release before wrote, which says of no template that it is the same, with the hash of the present one.
pub fn adopted(situation: &Situation<'_>, stopped: Stopped) -> Option<ReplacementState> {
    let template_sha256 = Some(situation.pool.template_hash.sha256);
    stopped.template_sha256.is_none().then_some(ReplacementState {
        replacement: None,
        stopped: Some(Stopped {
            template_sha256,
            ..stopped
        }),
    })
}

impl Replacements<'_> {
    /// Removes the replacement from the ledger.
    fn clear(&mut self, replacement: &Replacement, outcome: ReplacementOutcome) {
        self.ledger = Some(ReplacementState::default());
        self.end(&replacement.node, replacement.reason, outcome);
    }
}
