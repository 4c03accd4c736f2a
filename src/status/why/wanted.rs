//! What Karpenter wants with a node.

use jiff::Timestamp;
use poolgate_core::api::HELD_ANNOTATION;
use poolgate_core::budget::Reason;
use poolgate_core::nodelimit::plan::HeldFor;
use poolgate_core::value::duration::NillableDuration;
use serde::Serialize;

use super::seen::Seen;

/// A reason for which a node should go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wanted {
    #[serde(rename = "reason")]
    pub goal: Goal,
    /// Since when, if that is known.
    pub since: Option<Timestamp>,
    /// What else is known of it.
    pub details: Option<String>,
}

/// Why a node should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Goal {
    /// It was deleted, and is being drained.
    Deleted,
    /// It is older than its `expireAfter`.
    Expired,
    /// It is broken.
    Unhealthy,
    /// It no longer matches its NodePool.
    Drifted,
    /// No pod on it needs a node.
    Empty,
}

impl Goal {
    /// The reason by which budgets count it; none limits deletion and expiration.
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::Deleted | Self::Expired => None,
            Self::Unhealthy => Some(Reason::Unhealthy),
            Self::Drifted => Some(Reason::Drifted),
            Self::Empty => Some(Reason::Empty),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Expired => "expired",
            Self::Unhealthy => "unhealthy",
            Self::Drifted => "drifted",
            Self::Empty => "empty",
        }
    }
}

impl Wanted {
    fn new(goal: Goal, since: Option<Timestamp>, details: Option<String>) -> Self {
        Self { goal, since, details }
    }

    /// In words.
    pub fn line(&self) -> String {
        let details = self.details.as_ref().map(|details| format!(" ({details})"));
        let since = self.since.map(|since| format!(" since {since:.0}"));
        format!(
            "{}{}{}",
            self.goal.word(),
            details.unwrap_or_default(),
            since.unwrap_or_default()
        )
    }
}

/// Why a node should go, as far as its objects tell.
pub fn all(seen: &Seen<'_>) -> Vec<Wanted> {
    let conditions = &seen.claim.status.conditions;
    let deleted = seen.claim.metadata.deleted();
    let deleted = deleted.map(|since| Wanted::new(Goal::Deleted, Some(since), None));
    let too_old = expires(seen).filter(|&at| at <= seen.now);
    let too_old = too_old.map(|at| Wanted::new(Goal::Expired, Some(at), None));
    let drifted = conditions.is_true("Drifted").then(|| {
        let reason = conditions
            .get("Drifted")
            .map(|condition| condition.reason.to_string());
        Wanted::new(Goal::Drifted, conditions.true_since("Drifted"), reason)
    });
    let empty = seen
        .is_empty()
        .is_some_and(|is_empty| is_empty)
        .then(|| Wanted::new(Goal::Empty, None, None));
    [deleted, too_old, unhealthy(seen), drifted, empty]
        .into_iter()
        .flatten()
        .collect()
}

/// When it expires.
pub fn expires(seen: &Seen<'_>) -> Option<Timestamp> {
    let NillableDuration::After(after) =
        NillableDuration::decode(seen.claim.spec.expire_after.as_deref()?).ok()?
    else {
        return None;
    };
    seen.claim.metadata.created()?.checked_add(after).ok()
}

/// Which conditions make a node broken is the provider's matter. It is known to be if Karpenter has tried to repair it or
/// says why it does not, and likely if it is not ready.
fn unhealthy(seen: &Seen<'_>) -> Option<Wanted> {
    if is_known_to_be_broken(seen) {
        return Some(Wanted::new(Goal::Unhealthy, None, None));
    }
    let ready = seen.node?.status.conditions.get("Ready")?;
    (&*ready.status != "True").then(|| {
        let details = format!("Ready is {}: {}", ready.status, ready.reason);
        Wanted::new(Goal::Unhealthy, None, Some(details))
    })
}

/// Whether Karpenter has tried to repair it, or has said why it does not.
pub fn is_known_to_be_broken(seen: &Seen<'_>) -> bool {
    let wanted = seen.claim.status.conditions.get("DisruptionReason");
    let is_tried = wanted.is_some_and(|one| &*one.status == "True" && &*one.reason == "Unhealthy");
    let held = seen
        .node
        .and_then(|node| node.metadata.annotation(HELD_ANNOTATION));
    is_tried || seen.is_called_broken || held.is_some_and(|held| HeldFor::parse(held).repair)
}
