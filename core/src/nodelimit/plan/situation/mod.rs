//! A pool's state, sorted and evaluated once for all decisions.

mod counts;
mod memory;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::state::{ClaimState, Now, Pool, PoolState, Settings, Tries};
use crate::api::{NodeLimit, OverLimit};
use crate::nodelimit::ledger::Moment;

pub use counts::{Counts, Numbers, RolloutState, asks_for_replacement};
pub use memory::{Memory, RETRY_LASTS, Retry, Topic};

/// How long a denial counts against the nodes that were being disrupted at that time: Karpenter's longest pause between
/// two tries (`singleton` controllers of 1.15: 1,000 s), and some time to make the next one.
const DENIAL_LASTS: Duration = Duration::from_secs(1_060);

/// How long a denial is news.
const DENIAL_IS_RECENT: Duration = Duration::from_mins(2);

/// The inputs of every decision.
#[derive(Debug)]
pub struct Situation<'p> {
    pub state: &'p PoolState<'p>,
    pub pool: &'p Pool,
    pub settings: Settings,
    /// The time by the wall clock.
    pub wall: Timestamp,
    /// The time by the monotonic clock.
    pub clock: Moment,
    pub counts: Counts,
    /// The limit above which claims may be terminated: the most lenient combination of those of the last settle
    /// time.
    lenient: Option<NodeLimit>,
    /// Since when the limit has been the same.
    limit_since: Moment,
    /// Since when the ledger has been the same.
    ledger_since: Moment,
    /// When `lenient` is computed again, if nothing changes before.
    pub(crate) lenient_until: Option<Moment>,
    /// When the newest claim was created.
    newest: Option<Timestamp>,
    /// The claims, the oldest first.
    pub claims: Vec<&'p ClaimState<'p>>,
    /// The UIDs of the claims for which [`is_denied`](Self::is_denied) is true, and whether this pool was denied a claim
    /// meanwhile.
    denied: BTreeMap<&'p str, bool>,
    /// True if a pod is pending that the pool could serve.
    pub(crate) is_awaited: bool,
    /// True if a node is being created: admitted, but not ready for pods yet.
    pub(crate) is_growing: bool,
    /// True if a deleted node still has pods that must leave it.
    pub(crate) is_draining: bool,
}

impl<'p> Situation<'p> {
    /// Evaluates a state, and records the limit that the pool has now.
    pub fn assess(state: &'p PoolState<'p>, memory: &mut Memory, now: Now) -> Self {
        let counts = Counts::of(&state.claims, &state.ledger);
        let mut claims: Vec<_> = state.claims.iter().collect();
        claims.sort_unstable_by_key(|claim| claim.age_key());
        let mut situation = Self {
            state,
            pool: state.pool,
            settings: state.settings,
            wall: now.wall,
            clock: now.clock,
            is_awaited: state.pool.template.could_take_any(state.pending.iter().copied()),
            is_growing: counts.unseen > 0 || state.claims.iter().any(ClaimState::is_starting),
            is_draining: state
                .claims
                .iter()
                .any(|claim| claim.deleted.is_some() && !claim.is_empty()),
            lenient: None,
            limit_since: memory.see_limit(state.pool.limit, now.clock),
            ledger_since: memory.see_ledger(state.ledger.identity.as_ref(), now.clock),
            lenient_until: None,
            counts,
            newest: claims.iter().map(|claim| claim.created).max(),
            claims,
            denied: BTreeMap::new(),
        };
        memory.see_disruptions(&situation.claims, now.clock);
        situation.denied = situation.denied_claims(memory);
        let settle = state.settings.settle;
        memory.limits.see(situation.limit_in_force(), now.clock, settle);
        situation.lenient = memory.limits.most_lenient();
        situation.lenient_until = memory.limits.next_change(settle);
        situation
    }

    /// The limit above which claims would be terminated, regardless of earlier limits.
    fn limit_in_force(&self) -> Option<NodeLimit> {
        self.pool.limit_for_excess().filter(|_| self.is_acted_upon())
    }

    /// True if poolgate may hold nodes of this pool.
    pub fn is_governed(&self) -> bool {
        self.pool.is_hard() && self.is_acted_upon()
    }

    /// True if poolgate does more for the pool than removing its own marks.
    pub const fn is_acted_upon(&self) -> bool {
        !(self.pool.is_static || self.pool.is_deleted)
    }

    /// True if a user has frozen the pool: Karpenter is to disrupt none of its nodes, and poolgate deletes none.
    pub fn is_frozen(&self) -> bool {
        !self.pool.is_deleted && self.pool.is_frozen_at(self.wall)
    }

    /// When the freeze ends on its own.
    pub fn freeze_ends_at(&self) -> Option<Moment> {
        let left = self.pool.freeze.as_ref()?.until?.duration_since(self.wall);
        Some(self.clock.plus(Duration::try_from(left).ok()?))
    }

    /// How many claims are above the limit, not counting those that are going already.
    pub fn excess(&self) -> usize {
        self.pool
            .limit_for_excess()
            .map_or(0, |limit| self.counts.excess(limit))
    }

    /// The limit above which claims may be terminated now.
    pub fn terminating_limit(&self) -> Option<NodeLimit> {
        self.lenient
            .filter(|limit| limit.over_limit == OverLimit::Terminate)
    }

    /// True if Karpenter was disrupting the claim's node when the gate denied: there is no room for its
    /// replacement. False if a mark protects the node already.
    pub fn is_denied(&self, claim: &ClaimState<'_>) -> bool {
        self.denied.contains_key(&*claim.uid)
    }

    /// True if a claim was created since Karpenter wants to disrupt this one: it may be the replacement. False while that
    /// condition is missing: Karpenter writes it between the taint and the replacement.
    pub fn may_have_replacement(&self, claim: &ClaimState<'_>) -> bool {
        let is_newer = |since| self.newest.is_some_and(|newest| newest >= since);
        claim.disrupted_since().is_some_and(is_newer)
    }

    /// True if [`is_denied`](Self::is_denied) is true because of another pool only.
    pub fn is_denied_elsewhere(&self, claim: &ClaimState<'_>) -> bool {
        self.denied.get(&*claim.uid) == Some(&false)
    }

    /// True if Karpenter tried to disrupt the claim's node, and failed, while a pool was denied a claim: the replacement may
    /// have been for that other pool.
    pub fn disruption_failed(&self, claim: &ClaimState<'_>) -> bool {
        let has_failed =
            |tries: Tries| tries.have_failed() && self.state.denied_anywhere_at >= Some(tries.first);
        claim.tries.is_some_and(has_failed)
    }

    /// True if poolgate holds the claim's node from repair, or must: Karpenter tried to repair it, and failed. One denial
    /// does not show that: it may have been for a pod, and the repair may be under way. A node that a user has
    /// marked `do-not-repair` is the user's.
    pub fn waits_for_repair(&self, claim: &ClaimState<'_>) -> bool {
        let Some(node) = claim.node.filter(|_| claim.deleted.is_none()) else {
            return false;
        };
        if node.marks.forbid_repair() || claim.conditions.rebooting {
            return false;
        }
        node.marks.held_for().repair || claim.is_to_be_repaired() && self.disruption_failed(claim)
    }

    /// True if Karpenter wants to repair the claim's node now, and cannot: this replica saw it try again, the last time at
    /// most a minute ago, the gate denied the pool a claim since it began, and nothing suggests that a replacement was
    /// created after all. What Karpenter knows of the node has not changed since: [`Tries`] begin anew then.
    pub fn is_repair_stuck(&self, claim: &ClaimState<'_>) -> bool {
        let Some(tries) = claim.tries.filter(|tries| tries.have_failed()) else {
            return false;
        };
        claim.is_to_be_repaired()
            && claim.conditions.initialized
            && self.clock.since(tries.last) <= RETRY_LASTS
            && self.state.denied_at >= Some(tries.first)
            && !self.may_have_replacement(claim)
    }

    fn denied_claims(&self, memory: &Memory) -> BTreeMap<&'p str, bool> {
        let denial = self.denial(DENIAL_LASTS);
        let was_before = |claim: &ClaimState<'_>| match (denial, claim.disrupted_since()) {
            (None, _) => false,
            (Some(denial), Some(since)) => since <= denial,
            (Some(_), None) => memory.disruptions.get(&claim.uid).copied() < self.state.denied_at,
        };
        let disrupted = self.claims.iter().filter(|claim| claim.is_openly_disrupted());
        let denied = disrupted.filter_map(|claim| {
            let is_here = was_before(claim);
            (is_here || self.disruption_failed(claim)).then_some((&*claim.uid, is_here))
        });
        denied.collect()
    }

    /// True if the gate has denied the pool a claim just now.
    pub fn was_denied_recently(&self) -> bool {
        self.denial(DENIAL_IS_RECENT).is_some()
    }

    /// When the gate last denied the pool a claim, by the gate's wall clock, if this replica has seen that since.
    fn denial(&self, within: Duration) -> Option<Timestamp> {
        let denial = self.state.ledger.denial?;
        let seen = self.state.denied_at?;
        (self.clock.since(seen) < within).then_some(denial.at)
    }

    /// From when on the limit has been the same for long enough.
    pub fn limit_settled_at(&self) -> Moment {
        self.limit_since.plus(self.settings.settle)
    }

    /// From when on everything has been steady for long enough that a claim may be deleted; `None` while it is not
    /// steady, or the ledger is not open.
    pub fn settled_at(&self) -> Option<Moment> {
        let steady_since = self.state.steady_since?.max(self.ledger_since);
        let is_open = self.state.ledger.is_open();
        is_open.then(|| steady_since.plus(self.settings.settle))
    }
}
