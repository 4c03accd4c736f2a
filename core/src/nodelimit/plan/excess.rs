//! What happens to the claims above the limit: which are chosen, and which of them are deleted now.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::claim::ClaimState;
use super::object_ref::ObjectRef;
use super::order;
use super::situation::Situation;
use crate::api::{NodeLimit, NodeLimitMode, OverLimit};
use crate::nodelimit::ledger::Moment;

/// The most claims that are chosen at once; the next are chosen when these are gone. Bounds the list in the ledger.
pub(crate) const MOST_VICTIMS: usize = 100;

/// What happens to the claims above the limit.
#[derive(Debug, Default)]
pub struct Termination<'p> {
    /// The new list in the ledger, if it changes.
    pub victims: Option<Vec<Arc<str>>>,
    /// Claims to delete now.
    pub terminate: Vec<ObjectRef>,
    /// Claims that are chosen now.
    pub chosen: Vec<&'p ClaimState<'p>>,
    /// Whether claims above the limit stay only until everything has been steady, and the limit the same, for long
    /// enough.
    pub is_settling: bool,
    /// When to decide again, if nothing changes before.
    pub again_at: Option<Moment>,
}

/// Decides what happens to the claims above the limit.
pub fn decide<'p>(situation: &Situation<'p>) -> Termination<'p> {
    if situation.pool.is_deleted {
        // Its claims and its ledger are deleted with it.
        return Termination::default();
    }
    let listed = &situation.state.ledger.victims;
    if !terminates(situation) {
        return Termination::listing((!listed.is_empty()).then(Vec::new));
    }
    let settled_at = situation.settled_at();
    if settled_at.is_none_or(|at| at > situation.clock) {
        return Termination {
            is_settling: situation.state.steady_since.is_some(),
            again_at: settled_at.filter(|_| situation.excess() > 0),
            ..Termination::default()
        };
    }
    let limit = situation.terminating_limit();
    let excess = limit.map_or(0, |limit| situation.counts.excess(limit));
    let is_spared = excess < situation.excess();
    Termination {
        is_settling: is_spared && excess == 0,
        again_at: situation.lenient_until.filter(|_| is_spared),
        ..reduce(situation, limit, excess)
    }
}

/// Decides which claims are chosen, or deleted, if `excess` claims are too many.
fn reduce<'p>(situation: &Situation<'p>, limit: Option<NodeLimit>, excess: usize) -> Termination<'p> {
    let listed = &situation.state.ledger.victims;
    let listed: BTreeSet<&str> = listed.iter().map(|uid| &**uid).collect();
    let standing = standing(situation, limit);
    let is_listed = |claim: &&ClaimState<'_>| listed.contains(&*claim.claim.uid);
    let mut to_go: Vec<_> = standing.iter().copied().filter(is_listed).collect();
    order::sort(&mut to_go, situation.wall);
    if to_go.len() > excess {
        return Termination::listing(Some(uids(to_go.iter().take(excess))));
    }
    let is_better = |claim: &&ClaimState<'_>| !is_listed(claim) && !order::goes_last(claim);
    if to_go.iter().copied().any(order::goes_last) && standing.iter().any(is_better) {
        // A user marked it after it was chosen. Others are chosen in its place once the rest of the list is gone.
        return Termination::listing(Some(uids(to_go.iter().filter(|claim| !order::goes_last(claim)))));
    }
    if to_go.is_empty() {
        return choose(situation, excess, standing, &listed);
    }
    Termination {
        terminate: to_go
            .into_iter()
            .take(situation.state.terminations_left)
            .map(|claim| ObjectRef::to_claim(claim.claim))
            .collect(),
        ..Termination::default()
    }
}

/// Whether claims above the limit are deleted at all.
pub fn terminates(situation: &Situation<'_>) -> bool {
    situation.settings.rights.may_terminate() && is_termination_wanted(situation)
}

/// Whether the pool asks for that, whether or not poolgate may do it.
pub fn is_termination_wanted(situation: &Situation<'_>) -> bool {
    let limit = situation.pool.limit.filter(|_| situation.is_acted_upon());
    limit.is_some_and(|limit| limit.over_limit == OverLimit::Terminate)
}

/// The claims that count as too many if there are too many.
fn standing<'p>(situation: &Situation<'p>, limit: Option<NodeLimit>) -> Vec<&'p ClaimState<'p>> {
    let is_soft = limit.is_some_and(|limit| limit.mode == NodeLimitMode::Soft);
    let stands =
        |claim: &&ClaimState<'_>| claim.claim.deleted.is_none() && !(is_soft && claim.is_being_disrupted());
    situation.claims.iter().copied().filter(stands).collect()
}

/// Chooses new victims, or clears the list once all in it are gone.
fn choose<'p>(
    situation: &Situation<'p>,
    excess: usize,
    mut standing: Vec<&'p ClaimState<'p>>,
    listed: &BTreeSet<&str>,
) -> Termination<'p> {
    if excess > 0 {
        order::sort(&mut standing, situation.wall);
        standing.truncate(excess.min(MOST_VICTIMS));
        return Termination {
            victims: Some(uids(standing.iter())),
            chosen: standing,
            ..Termination::default()
        };
    }
    let remains = situation
        .claims
        .iter()
        .any(|claim| listed.contains(&*claim.claim.uid));
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
