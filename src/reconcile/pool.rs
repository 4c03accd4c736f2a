//! Reconciles one pool: plans for its known state, and carries out the plan. The order keeps each step safe if the
//! next one fails.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::{Memory, Now, Plan, PoolState, Settings, Unhold, plan};
use tokio::time::Instant;

use super::apply::{PublishedEvents, WriteError, Writer};
use super::index::Snapshot;
use super::pace::Pace;
use super::rights::GrantedRights;
use super::watched_state::WatchedState;
use crate::cluster::LedgerStore;
use crate::runtime::policy_watch::PolicyInForce;

/// Requeue delay after a replacement step that could not proceed.
const NEXT_STEP: Duration = Duration::from_secs(1);

/// How often a pool is reconciled that has not changed.
const RESYNC: Duration = Duration::from_mins(10);

/// The state that the reconciliations of all pools share.
pub struct PoolReconciler {
    pub seen: WatchedState,
    pub writer: Writer,
    pub ledgers: LedgerStore,
    pub policy: PolicyInForce,
    pub rights: GrantedRights,
    pub pace: Mutex<Pace>,
    /// How long everything must have been steady before anything is terminated.
    pub settle: Duration,
    /// The term in which this replica leads, and since when.
    pub leading: Mutex<Option<(u64, Moment)>>,
    /// Locked while a drifted node is written into a ledger.
    pub lists_drifted: tokio::sync::Mutex<()>,
}

/// The memory of a pool from one reconciliation to the next.
#[derive(Debug, Default)]
pub struct PoolMemory {
    plan: Memory,
    events: PublishedEvents,
}

impl PoolReconciler {
    /// Carries out the plan for a pool. Returns when to reconcile it again, if anything is left of it.
    pub async fn reconcile(
        &self,
        pool: &Arc<str>,
        known: &mut PoolMemory,
    ) -> Result<Option<Instant>, WriteError> {
        let snapshot = self.seen.look(|index| index.snapshot(pool));
        let now = self.now();
        let plan = plan(&self.state(&snapshot), &known.plan, now);
        if snapshot.exists {
            self.writer.metrics.pools.show(pool, &plan.numbers);
        } else {
            self.writer.metrics.pools.forget(pool);
        }
        let ahead = self.writer.clock.ahead();
        self.writer.metrics.timed(ahead, plan.numbers.is_rise_withheld);
        // First: until it is written, Karpenter requests nodes that must be denied.
        let limited = match plan.limit {
            Some(limit) => self.writer.limit_nodes(&snapshot.pool, limit).await,
            None => Ok(()),
        };
        self.mark(&snapshot, &plan).await?;
        limited?;
        if plan.store_ledger {
            self.store_ledger(&snapshot).await?;
        }
        if let Some(victims) = &plan.victims {
            self.list_victims(&snapshot, victims).await?;
        }
        if !self.replace(&snapshot, &plan, &mut known.plan).await? {
            return Ok(Some(Instant::now() + NEXT_STEP));
        }
        let terminated = if plan.terminate.is_empty() {
            Ok(())
        } else {
            self.terminate_victims(snapshot.clone(), known.plan.clone()).await
        };
        known
            .events
            .publish(&self.writer, &snapshot.pool, &plan.events)
            .await?;
        if snapshot.is_over() {
            return Ok(None);
        }
        let again_at = self.again_at(&plan, now.clock);
        known.plan = plan.memory;
        terminated.map(|()| Some(again_at))
    }

    async fn mark(&self, snapshot: &Snapshot, plan: &Plan) -> Result<(), WriteError> {
        let held = self.writer.hold(&plan.hold).await;
        let strays = snapshot.strays.iter().map(|node| Unhold {
            node: node.clone(),
            hand_over: false,
        });
        // A node that could not be held is still open, so no other node is opened.
        let turns: &[Unhold] = if held.is_ok() { &plan.unhold } else { &[] };
        let unhold: Vec<_> = turns.iter().cloned().chain(strays).collect();
        held.and(self.writer.unhold(&unhold).await)
    }

    pub fn now(&self) -> Now {
        Now {
            wall: self.writer.clock.wall(),
            clock: self.seen.now(),
        }
    }

    /// The input of a plan for the pool.
    pub fn state<'s>(&self, snapshot: &'s Snapshot) -> PoolState<'s> {
        // An unreadable policy might forbid terminations that the built-in one allows.
        let is_known = !self.policy.load().is_stand_in;
        let steady = self.seen.steady_since().filter(|_| is_known);
        let since = steady
            .zip(*self.leading.lock())
            .map(|(steady, (_, leading))| steady.max(leading));
        PoolState {
            steady_since: since
                .map(|since| since.max(snapshot.grown_at()))
                .max(since.and(snapshot.ledger_identified_at)),
            terminations_left: self.pace.lock().left(Instant::now()),
            settings: Settings {
                settle: self.settle,
                rights: self.rights.granted(),
                is_clock_right: self.writer.clock.is_right(),
                ..Settings::default()
            },
            ..snapshot.state()
        }
    }

    fn again_at(&self, plan: &Plan, now: Moment) -> Instant {
        let clock = Instant::now();
        let planned = plan.again_at.map(|at| clock + at.since(now));
        let paced = self
            .pace
            .lock()
            .next_at(clock)
            .filter(|_| plan.numbers.excess > 0);
        let resync = clock + RESYNC;
        [planned, paced].into_iter().flatten().fold(resync, Instant::min)
    }
}

#[cfg(test)]
mod tests;
