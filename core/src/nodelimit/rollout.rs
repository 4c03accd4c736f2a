//! Whether a change has reached the nodes of a NodePool: what `poolgate rollout` waits for.
//!
//! The nodes are those that there are at the start, so that a rollout ends whatever is changed meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::nodelimit::plan::{ClaimState, Condition};
use crate::nodelimit::why::{Cause, CauseKind};

/// How long nothing may have been outdated before a rollout is done, and how long all that is left may have been blocked
/// before it is stuck.
const STEADY: SignedDuration = SignedDuration::from_secs(30);

/// How long Karpenter may take to see a change, and to mark nodes as drifted: it watches NodePools and NodeClaims.
const PROMPT: SignedDuration = SignedDuration::from_mins(1);

/// How long it may take before Karpenter has asked the provider about every node, a class is ready, and evicted pods are
/// healthy again somewhere else.
const SLOW: SignedDuration = SignedDuration::from_mins(5);

/// A node that drifts sooner after its creation did not match from the beginning.
const IMMEDIATELY: SignedDuration = SignedDuration::from_mins(2);

/// The rollout of one NodePool.
#[derive(Debug)]
pub struct Rollout {
    begun: Timestamp,
    deadline: Option<Timestamp>,
    generation: Option<i64>,
    /// The UIDs of the NodeClaims that have to match.
    nodes: BTreeSet<Arc<str>>,
    /// Those of new NodeClaims that have to be initialized before it is done.
    awaited: BTreeSet<Arc<str>>,
    /// True if a hash shows that the change concerns a node: an image that a class selects is in no hash.
    is_shown_by_hash: bool,
    settled_since: Option<Timestamp>,
    stuck_since: Option<Timestamp>,
    behind_since: Option<Timestamp>,
    /// How much Karpenter has not reacted to.
    missed: usize,
}

/// What is known of a NodePool at one moment.
#[derive(Debug)]
pub struct RolloutLook<'s> {
    /// When.
    pub at: Timestamp,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// True if a change of its node class is waited for, too.
    pub is_of_class: bool,
    /// True if Karpenter has seen the NodePool and its node class as they are now, if that is known.
    pub is_seen: Option<bool>,
    /// True if nodes are replaced although the pool is full.
    pub makes_room: bool,
    /// Its NodeClaims.
    pub claims: &'s [RolloutClaim<'s>],
}

/// A NodeClaim of the pool.
#[derive(Debug)]
pub struct RolloutClaim<'s> {
    /// As a plan sees it.
    pub state: ClaimState<'s>,
    /// True if it was made from another template than the NodePool has now, or cannot match its requirements.
    pub by_template: Option<bool>,
    /// True if it was made from the template that the NodePool has now, requirements aside.
    pub is_of_template: Option<bool>,
    /// True if it was made from another version of the node class than there is now.
    pub by_class: Option<bool>,
    /// Its condition `Drifted`.
    pub drifted: Option<&'s Condition>,
    /// What keeps it.
    pub causes: Vec<Cause>,
}

/// How far a rollout is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// How many nodes there were at the start.
    pub nodes: usize,
    /// How many of them match, or are gone.
    pub up_to_date: usize,
    /// How many wait.
    pub waiting: usize,
    /// How many are on their way out.
    pub replacing: usize,
    /// How many cannot be replaced before the deadline.
    pub blocked: usize,
    /// How many new nodes are not ready yet.
    pub starting: usize,
    /// The NodeClaims, by name, that something keeps beyond the deadline, those on their way out among them.
    #[serde(skip)]
    pub kept: Vec<Arc<str>>,
    /// What follows.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// If a rollout is still to be waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state", content = "why")]
pub enum Verdict {
    /// No: every node is up to date.
    Done,
    /// Yes.
    Waiting,
    /// No: it will not be done by the deadline.
    Stuck(Stuck),
}

/// Why a rollout will not be done in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// A node of the current template has drifted.
    #[error(
        "drift loop: NodeClaim {0} is new and has drifted already, so Karpenter replaces its nodes again and again"
    )]
    Loop(Arc<str>),
    /// Karpenter does not react.
    #[error("Karpenter has not reacted to the change for a minute: it is down or behind")]
    Behind,
    /// Something keeps each node that is left.
    #[error("nothing that is left can be replaced in time")]
    Blocked,
    /// The NodePool does not exist any more.
    #[error("the NodePool is gone")]
    Gone,
}

impl Serialize for Stuck {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl RolloutClaim<'_> {
    /// True if it has to be replaced, as far as is known.
    pub fn is_outdated(&self) -> bool {
        self.is_marked() || self.by_template == Some(true) || self.by_class == Some(true)
    }

    /// True if Karpenter has found that it has drifted.
    fn is_marked(&self) -> bool {
        self.drifted.is_some_and(Condition::is_true)
    }

    fn is_starting(&self) -> bool {
        self.state.deleted.is_none() && !self.state.conditions.initialized && !self.state.conditions.rebooting
    }

    /// How soon after its creation it drifted.
    fn drifted_after(&self) -> Option<SignedDuration> {
        let since = self.drifted.filter(|_| self.is_marked())?.since?;
        Some(since.duration_since(self.state.created))
    }
}

impl Progress {
    /// The progress of a pool about which nothing else is known.
    pub const fn stuck(why: Stuck) -> Self {
        Self {
            nodes: 0,
            up_to_date: 0,
            waiting: 0,
            replacing: 0,
            blocked: 0,
            starting: 0,
            kept: Vec::new(),
            verdict: Verdict::Stuck(why),
        }
    }
}

impl Rollout {
    /// Begins with the claims of this look. The caller waits until the deadline; without one, this look decides.
    pub fn begin(look: &RolloutLook<'_>, deadline: Option<Timestamp>) -> Self {
        let uid = |claim: &RolloutClaim<'_>| Arc::clone(&claim.state.uid);
        // A claim that is on its way out for another reason is nobody's concern.
        let stays = |claim: &&RolloutClaim<'_>| claim.state.deleted.is_none() || claim.is_outdated();
        Self {
            begun: look.at,
            deadline,
            generation: look.generation,
            nodes: look.claims.iter().filter(stays).map(uid).collect(),
            awaited: BTreeSet::new(),
            is_shown_by_hash: !look.is_of_class,
            settled_since: None,
            stuck_since: None,
            behind_since: None,
            missed: 0,
        }
    }

    /// How far it is.
    pub fn progress(&mut self, look: &RolloutLook<'_>) -> Progress {
        let looped = self.judge_new(look);
        let is_left =
            |claim: &&RolloutClaim<'_>| self.nodes.contains(&claim.state.uid) && claim.is_outdated();
        let left: Vec<&RolloutClaim<'_>> = look.claims.iter().filter(is_left).collect();
        self.is_shown_by_hash |= left.iter().any(|claim| claim.by_class == Some(true));
        // Of a node that Karpenter has not marked, causes say why it is not consolidated.
        let is_kept = |claim: &&&RolloutClaim<'_>| {
            let is_wanted = claim.is_marked() || claim.state.deleted.is_some();
            is_wanted && claim.causes.iter().any(|cause| self.lasts(cause, look))
        };
        let kept: Vec<&&RolloutClaim<'_>> = left.iter().filter(is_kept).collect();
        let starting = look.claims.iter().filter(|claim| claim.is_starting());
        let starting: BTreeSet<Arc<str>> = starting.map(|claim| Arc::clone(&claim.state.uid)).collect();
        let is_going = |claim: &&&RolloutClaim<'_>| claim.state.is_going();
        let (replacing, kept_while_going) = (
            left.iter().filter(is_going).count(),
            kept.iter().copied().filter(is_going).count(),
        );
        let blocked = kept.len() - kept_while_going;
        let is_settled = left.is_empty() && look.is_seen != Some(false);
        let progress = Progress {
            nodes: self.nodes.len(),
            up_to_date: self.nodes.len().saturating_sub(left.len()),
            waiting: left.len().saturating_sub(replacing + blocked),
            replacing,
            blocked,
            starting: starting.len(),
            kept: kept.iter().map(|claim| Arc::clone(&claim.state.name)).collect(),
            verdict: Verdict::Waiting,
        };

        let settled = lasted(&mut self.settled_since, is_settled, look.at);
        // A node that is deleted first is replaced a moment later. What comes after that is not about the change.
        if settled.is_none_or(|settled| settled < STEADY) {
            self.awaited = starting;
        } else {
            self.awaited.retain(|uid| starting.contains(uid));
        }
        let is_missed = |claim: &&&RolloutClaim<'_>| {
            !claim.is_marked() && claim.state.is_launched && !claim.state.is_going()
        };
        let missed = left.iter().filter(is_missed).count() + usize::from(look.is_seen == Some(false));
        if std::mem::replace(&mut self.missed, missed) > missed {
            self.behind_since = None;
        }
        let behind = lasted(&mut self.behind_since, missed > 0, look.at);
        let is_stuck = !left.is_empty() && kept.len() == left.len() && self.awaited.is_empty();
        let stuck = lasted(&mut self.stuck_since, is_stuck, look.at);
        let patience = patience(kept.iter().flat_map(|claim| &claim.causes));
        let is_shown = look.is_seen.is_some() && self.is_shown_by_hash;
        let quiet = match self.deadline {
            None => SignedDuration::ZERO,
            Some(_) if is_shown || self.nodes.is_empty() => STEADY,
            Some(_) => SLOW,
        };
        let verdict = if let Some(name) = looped {
            Verdict::Stuck(Stuck::Loop(name))
        } else if behind.is_some_and(|behind| behind >= PROMPT) {
            Verdict::Stuck(Stuck::Behind)
        } else if self.deadline.is_some() && stuck.is_some_and(|stuck| stuck >= patience) {
            Verdict::Stuck(Stuck::Blocked)
        } else if self.awaited.is_empty() && settled.is_some_and(|settled| settled >= quiet) {
            Verdict::Done
        } else {
            Verdict::Waiting
        };
        Progress { verdict, ..progress }
    }

    /// Adds new nodes of an outdated template, which Karpenter may create until it has seen the change. Returns a new node
    /// of the current one that has drifted already.
    fn judge_new(&mut self, look: &RolloutLook<'_>) -> Option<Arc<str>> {
        let is_early = look.at.duration_since(self.begun) < STEADY;
        let is_unchanged = look.generation == self.generation;
        let mut looped = None;
        for claim in look.claims.iter().filter(|claim| claim.is_outdated()) {
            if self.nodes.contains(&claim.state.uid) {
                continue;
            }
            let drifted = claim.drifted_after();
            if is_early || claim.is_of_template == Some(false) {
                self.nodes.insert(Arc::clone(&claim.state.uid));
            } else if is_unchanged
                && claim.is_of_template == Some(true)
                && drifted.is_some_and(|after| after < IMMEDIATELY)
            {
                looped = Some(Arc::clone(&claim.state.name));
            }
        }
        looped
    }

    /// True if a cause keeps a node until the deadline and beyond.
    fn lasts(&self, cause: &Cause, look: &RolloutLook<'_>) -> bool {
        let blocks = match cause.kind {
            CauseKind::HeldByPoolgate | CauseKind::PoolFull => !look.makes_room,
            CauseKind::Frozen
            | CauseKind::NodeDoNotDisrupt
            | CauseKind::PodDoNotDisrupt
            | CauseKind::PodDisruptionBudget
            | CauseKind::SeveralPodDisruptionBudgets
            | CauseKind::BudgetClosed
            | CauseKind::BudgetUnreadable
            | CauseKind::NodeClassNotReady
            | CauseKind::PoolNotReady => true,
            _ => false,
        };
        let is_late = |until| self.deadline.is_some_and(|deadline| until > deadline);
        blocks && cause.until.is_none_or(is_late)
    }
}

/// How long all that is left must have been kept by these causes before a rollout is stuck. Some pass by themselves: pods
/// of a node that has gone are healthy again, and a class that has just been changed is ready.
fn patience<'c>(mut causes: impl Iterator<Item = &'c Cause>) -> SignedDuration {
    let may_pass = |cause: &Cause| {
        matches!(
            cause.kind,
            CauseKind::PodDisruptionBudget | CauseKind::NodeClassNotReady | CauseKind::PoolNotReady
        )
    };
    if causes.any(may_pass) { SLOW } else { STEADY }
}

/// For how long something has been true, if it is.
fn lasted(since: &mut Option<Timestamp>, is_true: bool, at: Timestamp) -> Option<SignedDuration> {
    *since = is_true.then(|| since.unwrap_or(at));
    since.map(|since| at.duration_since(since))
}

#[cfg(test)]
mod tests;
