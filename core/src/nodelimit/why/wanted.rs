//! What Karpenter wants with a node.

use jiff::Timestamp;
use serde::Serialize;

use super::Seen;
use crate::budget::Reason;

/// A reason for which a node should go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// The reason.
    #[serde(rename = "reason")]
    pub goal: Goal,
    /// Since when, if that is known.
    pub since: Option<Timestamp>,
    /// Further details.
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
    const fn reason(self) -> Option<Reason> {
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
    const fn new(goal: Goal, since: Option<Timestamp>, details: Option<String>) -> Self {
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
    let deleted = seen.state.deleted;
    let deleted = deleted.map(|since| Wanted::new(Goal::Deleted, Some(since), None));
    let too_old = expires(seen).filter(|&at| at <= seen.now);
    let too_old = too_old.map(|at| Wanted::new(Goal::Expired, Some(at), None));
    let drifted = seen.state.conditions.drifted.then(|| {
        let told = seen.details.drifted.as_ref();
        let reason = told.map(|drifted| drifted.reason.to_string());
        Wanted::new(Goal::Drifted, told.and_then(|drifted| drifted.since), reason)
    });
    let empty = (seen.is_empty() == Some(true)).then_some(Wanted::new(Goal::Empty, None, None));
    [deleted, too_old, unhealthy(seen), drifted, empty]
        .into_iter()
        .flatten()
        .collect()
}

/// The reasons by which budgets count a node. If nothing is wanted, it could be underutilized.
pub fn reasons(wanted: &[Wanted]) -> Vec<Reason> {
    let reasons = wanted.iter().filter_map(|one| one.goal.reason());
    let could_be = wanted.is_empty().then_some(Reason::Underutilized);
    reasons.chain(could_be).collect()
}

/// When it expires.
// karpenter: pkg/controllers/nodeclaim/expiration/controller.go Controller.Reconcile
pub fn expires(seen: &Seen<'_>) -> Option<Timestamp> {
    seen.state.created.checked_add(seen.state.expire_after?).ok()
}

/// Which conditions make a node broken is the provider's matter. It is known to be if Karpenter has tried to repair it or
/// says why it does not, and likely if it is not ready.
fn unhealthy(seen: &Seen<'_>) -> Option<Wanted> {
    if is_known_to_be_broken(seen) {
        return Some(Wanted::new(Goal::Unhealthy, None, None));
    }
    seen.state.node.filter(|node| !node.is_ready)?;
    let details = seen
        .ready
        .map(|ready| format!("Ready is {}: {}", ready.status, ready.reason));
    Some(Wanted::new(Goal::Unhealthy, None, details))
}

/// Whether Karpenter has tried to repair it, or has said why it does not.
pub fn is_known_to_be_broken(seen: &Seen<'_>) -> bool {
    let disruption = seen.state.conditions.disruption;
    disruption.is_some_and(|disruption| disruption.is_repair)
        || seen.is_called_broken
        || seen.state.marks().held_for().repair
}
