//! A pool, as far as it is known.

use std::sync::Arc;

use jiff::Timestamp;

use crate::api::NodeLimitMode;
use crate::drift::{Pace, Room, Start};
use crate::nodelimit::plan::{ClaimState, Counts, LedgerState, Pool};

/// A pool, as far as it is known: numbers are `None` if something that they are made of could not be read.
#[derive(Debug)]
pub struct KnownPool<'s> {
    /// The NodePool, as a plan sees it.
    pub pool: Arc<Pool>,
    /// Its NodeClaims; `None` if they could not be read.
    pub claims: Option<Vec<ClaimState<'s>>>,
    /// Its ledger, empty if it has none; `None` if ledgers could not be read.
    pub ledger: Option<LedgerState>,
    /// True if nodes could be read: only they tell which claims Karpenter is disrupting.
    pub(super) knows_nodes: bool,
    /// True if it is known that no reconciler leads.
    pub has_no_leader: bool,
    /// True if a pod waits that one of its nodes could take.
    pub is_waited_for: bool,
    pub(super) counts: Option<Counts>,
}

impl<'s> KnownPool<'s> {
    /// The state of a pool. `claims` have no nodes if nodes could not be read.
    pub fn new(
        pool: Arc<Pool>,
        claims: Option<Vec<ClaimState<'s>>>,
        knows_nodes: bool,
        ledger: Option<LedgerState>,
        has_no_leader: bool,
    ) -> Self {
        let unread = LedgerState::default();
        let counts = claims
            .as_ref()
            .map(|claims| Counts::of(claims, ledger.as_ref().unwrap_or(&unread)));
        Self {
            pool,
            is_waited_for: false,
            claims,
            ledger,
            knows_nodes,
            has_no_leader,
            counts,
        }
    }

    /// How many places of its limit are free.
    pub fn free(&self) -> Option<usize> {
        Some((self.pool.limit?.nodes as usize).saturating_sub(self.taken()?))
    }

    /// How many places of its limit are taken.
    pub fn taken(&self) -> Option<usize> {
        let mode = self.pool.limit?.mode;
        Some(self.counts_in(mode)?.claims.counted(mode) + self.outstanding()?)
    }

    /// How fast its drifted nodes are replaced; `None` if that is not known.
    pub fn pace(&self, now: Timestamp) -> Option<Pace> {
        let nodes = self.claims.as_ref()?.len();
        let budgets = self.pool.budgets.as_ref().ok()?;
        let count = u32::try_from(nodes).unwrap_or(u32::MAX);
        let empty_nodes_go =
            !self.pool.is_static && self.pool.details.consolidate_after.as_deref() != Some("Never");
        Some(Pace::of(
            budgets,
            Some(count),
            self.room(count),
            empty_nodes_go,
            now,
        ))
    }

    /// When its budgets let a drifted node go, whatever its limit; `None` if that is not known.
    pub fn window(&self, now: Timestamp) -> Option<Start> {
        let nodes = self.claims.as_ref()?.len();
        let nodes = u32::try_from(nodes).ok().filter(|nodes| *nodes > 0);
        let budgets = self.pool.budgets.as_ref().ok()?;
        Some(Pace::of(budgets, nodes, Room::Any, false, now).start)
    }

    /// How its limit restricts replacements. A ledger shows that poolgate's gate runs, or did.
    fn room(&self, nodes: u32) -> Room {
        let Some(limit) = self.pool.limit else {
            return Room::Any;
        };
        let places = limit.nodes.saturating_add(self.pool.surge).saturating_sub(nodes);
        let has_ledger = || {
            self.ledger
                .as_ref()
                .is_some_and(|ledger| ledger.identity.is_some())
        };
        let is_gated = self.pool.mode_is_written || self.pool.leaves_limit_to_poolgate || has_ledger();
        let is_hard = self.pool.is_hard();
        let counts_all = self.pool.is_static || is_hard && is_gated;
        let left = places.max(u32::from(counts_all && self.pool.makes_room()));
        Room::of(left, counts_all, is_hard, self.exceeds(limit.nodes))
    }

    /// True if more nodes stay than a limit allows: Karpenter does not count those on their way out.
    fn exceeds(&self, limit: u32) -> bool {
        let counts = self.counts.as_ref();
        counts.is_some_and(|counts| counts.claims.staying > limit as usize)
    }

    /// True if a node that poolgate holds is replaced in its turn.
    pub fn makes_room(&self) -> bool {
        self.pool.makes_room() || self.pool.surge > 0 || self.free() != Some(0)
    }

    /// How many claims are above its limit, without those that are going already. Those of a surge are not.
    pub fn excess(&self) -> Option<usize> {
        let limit = self.pool.limit_for_excess()?;
        let counts = self.counts_in(limit.mode)?;
        if counts.claims.excess(limit.nodes, limit.mode) == 0 {
            return Some(0);
        }
        // Only a pool that is Hard has a surge, and only its ledger tells how much of it is used.
        let knows_surge = self.ledger.is_some() || !self.pool.is_hard();
        knows_surge.then(|| counts.excess(limit))
    }

    /// How many claims were admitted and do not exist yet.
    pub fn outstanding(&self) -> Option<usize> {
        let ledger = self.ledger.as_ref()?;
        // The content of a lost ledger is unknown.
        let is_whole = ledger.identity.is_none() || ledger.is_open();
        self.counts
            .as_ref()
            .filter(|_| is_whole)
            .map(|counts| counts.unseen)
    }

    /// The counts, unless a limit of this mode counts by what is not known.
    fn counts_in(&self, mode: NodeLimitMode) -> Option<&Counts> {
        let counts = self.counts.as_ref();
        counts.filter(|_| mode == NodeLimitMode::Hard || self.knows_nodes)
    }
}
