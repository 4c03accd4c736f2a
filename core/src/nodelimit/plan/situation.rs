//! A pool's state, sorted and evaluated once for all decisions.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;

use super::claim::ClaimState;
use super::counts::Counts;
use super::memory::Memory;
use super::now::Now;
use super::pool::Pool;
use super::state::{PoolState, Settings};
use crate::karpenter::NodeLimitMode;
use crate::nodelimit::NodeLimit;
use crate::nodelimit::ledger::Moment;
use crate::policy::OverLimit;

/// How long a denial counts against the nodes that were being disrupted at that time. Karpenter tries again after
/// half a minute at most.
const DENIAL_LASTS: Duration = Duration::from_mins(2);

/// The inputs of every decision.
#[derive(Debug)]
pub(super) struct Situation<'p> {
    pub(super) state: &'p PoolState<'p>,
    pub(super) pool: &'p Pool,
    pub(super) settings: Settings,
    /// The time by the wall clock.
    pub(super) wall: Timestamp,
    /// The time by the monotonic clock.
    pub(super) clock: Moment,
    pub(super) counts: Counts,
    /// The mode that the object itself last said.
    written_mode: Option<NodeLimitMode>,
    /// The limit above which claims may be terminated: the most lenient combination of those of the last settle
    /// time.
    lenient: Option<NodeLimit>,
    /// When `lenient` is computed again, if nothing changes before.
    pub(super) lenient_until: Option<Moment>,
    /// The claims, the oldest first.
    pub(super) claims: Vec<&'p ClaimState<'p>>,
    /// The UIDs of the claims of whose nodes [`is_denied`](Self::is_denied) is true.
    denied: HashSet<&'p str>,
    /// Whether a pod is pending that the pool could serve.
    pub(super) is_awaited: bool,
    /// Whether a node is being created: admitted, but not ready for pods yet.
    pub(super) is_growing: bool,
    /// Whether a deleted node still has pods that must leave it.
    pub(super) is_draining: bool,
}

impl<'p> Situation<'p> {
    /// Evaluates a state, and records the limit and mode that the pool has now.
    pub(super) fn of(state: &'p PoolState<'p>, memory: &mut Memory, now: Now) -> Self {
        if state.pool.mode_is_written {
            memory.written_mode = state.pool.limit.map(|limit| limit.mode);
        }
        let counts = Counts::of(state);
        let mut claims: Vec<_> = state.claims.iter().collect();
        claims.sort_unstable_by_key(|state| state.age_key());
        let is_on_its_way =
            |state: &ClaimState<'_>| state.claim.deleted.is_none() && !state.claim.conditions.initialized;
        let mut situation = Self {
            state,
            pool: state.pool,
            settings: state.settings,
            wall: now.wall,
            clock: now.clock,
            is_awaited: state
                .pending
                .iter()
                .any(|needs| state.pool.template.could_serve(needs)),
            is_growing: counts.unseen > 0 || state.claims.iter().any(is_on_its_way),
            is_draining: state.claims.iter().any(ClaimState::is_draining),
            written_mode: memory.written_mode,
            lenient: None,
            lenient_until: None,
            counts,
            claims,
            denied: HashSet::new(),
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
        let limit = self.pool.limit.filter(|_| self.is_acted_upon())?;
        let mode = self.excess_mode()?;
        Some(NodeLimit { mode, ..limit })
    }

    /// Whether poolgate may hold nodes of this pool.
    pub(super) fn is_governed(&self) -> bool {
        self.pool.is_hard() && self.is_acted_upon()
    }

    /// Whether poolgate does more for the pool than removing its own marks.
    pub(super) const fn is_acted_upon(&self) -> bool {
        !(self.pool.is_static || self.pool.is_deleted)
    }

    /// The mode by which claims above the limit are counted: if two are possible, the one that counts fewer.
    fn excess_mode(&self) -> Option<NodeLimitMode> {
        let limit = self.pool.limit?;
        let was_soft = [self.state.ledger.mode, self.written_mode].contains(&Some(NodeLimitMode::Soft));
        // The mode may have been pruned from the object: no nodes may be lost because of that.
        let is_soft = !self.pool.mode_is_written && was_soft;
        Some(if is_soft { NodeLimitMode::Soft } else { limit.mode })
    }

    /// How many claims are above the limit, not counting those that are going already.
    pub(super) fn excess(&self) -> usize {
        match (self.pool.limit, self.excess_mode()) {
            (Some(limit), Some(mode)) => self.counts.claims.excess(limit.nodes, mode),
            _ => 0,
        }
    }

    /// The limit above which claims may be terminated now.
    pub(super) fn terminating_limit(&self) -> Option<NodeLimit> {
        self.lenient
            .filter(|limit| limit.over_limit == OverLimit::Terminate)
    }

    /// Whether Karpenter was disrupting the claim's node when the gate denied: there is no place for its
    /// replacement. False if the node is closed already.
    pub(super) fn is_denied(&self, claim: &ClaimState<'_>) -> bool {
        self.denied.contains(&*claim.claim.uid)
    }

    fn denied_claims(&self, memory: &Memory) -> HashSet<&'p str> {
        let Some(denial) = self.recent_denial() else {
            return HashSet::new();
        };
        let was_before = |claim: &ClaimState<'_>| match claim.claim.conditions.disrupted_since {
            Some(since) => since <= denial,
            None => memory.disruptions.get(&claim.claim.uid).copied() < self.state.denied_at,
        };
        let disrupted = self.claims.iter().filter(|claim| claim.is_openly_disrupted());
        let denied = disrupted.filter(|claim| was_before(claim));
        denied.map(|claim| &*claim.claim.uid).collect()
    }

    /// When the gate last denied a claim, by the gate's wall clock, if this replica saw that recently.
    pub(super) fn recent_denial(&self) -> Option<Timestamp> {
        let denial = self.state.ledger.denial?;
        let seen = self.state.denied_at?;
        (self.clock.since(seen) < DENIAL_LASTS).then_some(denial.at)
    }
}

impl ClaimState<'_> {
    /// Older first, then by name.
    pub(super) fn age_key(&self) -> (Timestamp, &str, &str) {
        (self.claim.created, &self.claim.name, &self.claim.uid)
    }

    /// Whether it is deleted, and its node still has pods that must leave.
    fn is_draining(&self) -> bool {
        self.claim.deleted.is_some() && !self.is_empty()
    }

    /// Whether it has no pods that must be placed on another node when its node goes.
    pub(super) fn is_empty(&self) -> bool {
        !self.pods.iter().any(|pod| pod.is_reschedulable())
    }
}
