//! What becomes of the claims above the limit: which are chosen, and which of them go now.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::claim::ClaimState;
use super::order;
use super::outcome::ClaimRef;
use super::situation::{Situation, after};
use crate::karpenter::NodeLimitMode;
use crate::policy::OverLimit;

/// The most claims that are chosen at once; the next are chosen when these have gone. Bounds the list in the ledger.
pub const MOST_VICTIMS: usize = 100;

/// What becomes of the claims above the limit.
#[derive(Debug, Default)]
pub(super) struct Termination<'p> {
    /// What the list in the ledger is to become, if it is to change.
    pub(super) victims: Option<Vec<Arc<str>>>,
    /// Claims to delete now.
    pub(super) terminate: Vec<ClaimRef>,
    /// Claims that are chosen now.
    pub(super) chosen: Vec<&'p ClaimState<'p>>,
    /// When all will have been steady for long enough, if that is what is waited for.
    pub(super) settled_at: Option<Timestamp>,
}

/// Decides what becomes of the claims above the limit.
pub(super) fn decide<'p>(now: &Situation<'p>) -> Termination<'p> {
    if now.pool.is_deleted {
        // Its claims and its ledger go with it.
        return Termination::default();
    }
    let listed = &now.state.ledger.victims;
    let excess = now.excess();
    if !terminates(now) {
        return Termination::listing((!listed.is_empty()).then(Vec::new));
    }
    let steady_since = now.state.steady_since;
    let settled_at = steady_since.map(|since| after(since, now.settings.settle));
    if settled_at.is_none_or(|at| at > now.now) {
        return Termination {
            settled_at: settled_at.filter(|_| excess > 0),
            ..Termination::default()
        };
    }
    let listed: HashSet<&str> = listed.iter().map(|uid| &**uid).collect();
    let standing = standing(now);
    let is_listed = |claim: &&ClaimState<'_>| listed.contains(&*claim.claim.uid);
    let mut to_go: Vec<_> = standing.iter().copied().filter(is_listed).collect();
    order::sort(&mut to_go, now.now);
    if to_go.len() > excess {
        return Termination::listing(Some(uids(to_go.iter().take(excess))));
    }
    if to_go.is_empty() {
        return choose(now, excess, standing, &listed);
    }
    Termination {
        terminate: to_go
            .into_iter()
            .take(now.state.terminations_left)
            .map(ClaimRef::to)
            .collect(),
        ..Termination::default()
    }
}

/// Whether claims above the limit are to go at all.
pub(super) fn terminates(now: &Situation<'_>) -> bool {
    let chosen = now
        .pool
        .limit
        .is_some_and(|limit| limit.over_limit == OverLimit::Terminate);
    chosen && now.is_acted_upon()
}

/// The claims that count as too many if there are too many.
fn standing<'p>(now: &Situation<'p>) -> Vec<&'p ClaimState<'p>> {
    let is_soft = now.excess_mode() == Some(NodeLimitMode::Soft);
    let stands =
        |claim: &&ClaimState<'_>| claim.claim.deleted.is_none() && !(is_soft && claim.is_being_disrupted());
    now.claims.iter().copied().filter(stands).collect()
}

/// Chooses victims anew, or clears the list once all that stood in it have gone.
fn choose<'p>(
    now: &Situation<'p>,
    excess: usize,
    mut standing: Vec<&'p ClaimState<'p>>,
    listed: &HashSet<&str>,
) -> Termination<'p> {
    if excess > 0 {
        order::sort(&mut standing, now.now);
        standing.truncate(excess.min(MOST_VICTIMS));
        return Termination {
            victims: Some(uids(standing.iter())),
            chosen: standing,
            ..Termination::default()
        };
    }
    let remains = now.claims.iter().any(|claim| listed.contains(&*claim.claim.uid));
    Termination::listing((!listed.is_empty() && !remains).then(Vec::new))
}

fn uids<'c>(claims: impl Iterator<Item = &'c &'c ClaimState<'c>>) -> Vec<Arc<str>> {
    claims.map(|claim| Arc::clone(&claim.claim.uid)).collect()
}

impl Termination<'_> {
    fn listing(victims: Option<Vec<Arc<str>>>) -> Self {
        Self {
            victims,
            ..Self::default()
        }
    }
}

impl ClaimRef {
    fn to(claim: &ClaimState<'_>) -> Self {
        Self {
            name: Arc::clone(&claim.claim.name),
            uid: Arc::clone(&claim.claim.uid),
        }
    }
}
