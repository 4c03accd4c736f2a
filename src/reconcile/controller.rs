//! When each pool is reconciled: many pools simultaneously, but each pool by one task.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::Guard;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use parking_lot::Mutex;
use poolgate_core::api::OverLimit;
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::policy::Policy;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::apply::{WriteError, Writer};
use super::args::ReconcileArgs;
use super::index::Index;
use super::pace::Pace;
use super::pool::{PoolMemory, PoolReconciler};
use super::queue::Queue;
use super::rights::GrantedRights;
use super::watched_state::WatchedState;
use crate::cluster::LedgerStore;
use crate::runtime::policy_watch::PolicyInForce;
use crate::runtime::telemetry::LogOnce;

/// How often to check for changes that only time brings, such as the end of a term.
const TICK: Duration = Duration::from_secs(1);

/// How many pools are reconciled at the same time. A webhook that hangs takes the place of its pool for some seconds.
const MOST_AT_ONCE: usize = 16;

/// Chooses which pools are reconciled.
pub struct Controller {
    pub pools: Arc<PoolReconciler>,
    in_force: Option<Arc<Policy>>,
    /// What to do with nodes above a limit; `None` to follow the policy.
    over_limit: Option<OverLimit>,
    queue: Queue,
    /// Of the pools that are not being reconciled now.
    memories: BTreeMap<Arc<str>, PoolMemory>,
    /// Since when no watch has missed anything, as last seen.
    steady: Option<Moment>,
    /// Whether every watch has been complete at least once.
    knows: bool,
    failures: LogOnce<Arc<str>>,
}

/// A reconciliation that has ended.
struct Ended {
    pool: Arc<str>,
    memory: PoolMemory,
    took: Duration,
    /// When to reconcile the pool again, if anything is left of it.
    result: Result<Option<Instant>, WriteError>,
}

impl Controller {
    pub fn new(
        seen: WatchedState,
        writer: Writer,
        ledgers: LedgerStore,
        policy: PolicyInForce,
        args: &ReconcileArgs,
    ) -> Self {
        let pools = Arc::new(PoolReconciler {
            seen,
            writer,
            ledgers,
            policy,
            rights: GrantedRights::default(),
            pace: Mutex::new(Pace::new(args.max_terminations_per_minute)),
            settle: args.settle,
            leading: Mutex::default(),
            lists_drifted: tokio::sync::Mutex::default(),
        });
        Self {
            pools,
            in_force: None,
            over_limit: args.over_limit(),
            queue: Queue::new(Instant::now()),
            memories: BTreeMap::new(),
            steady: None,
            knows: false,
            failures: LogOnce::default(),
        }
    }

    /// Reconciles pools until `end`. Those in progress are finished first.
    pub async fn run(self, end: CancellationToken, known: impl Fn()) {
        let pools = Arc::clone(&self.pools);
        tokio::select! {
            () = self.take_turns(end, known) => {}
            () = pools.rights.follow(&pools.writer) => {}
            () = pools.follow_blocked() => {}
        }
    }

    async fn take_turns(mut self, end: CancellationToken, known: impl Fn()) {
        let pools = Arc::clone(&self.pools);
        let mut leadership = pools.writer.leadership.clone();
        let (mut policies, mut rights) = (pools.policy.changes(), pools.rights.changes());
        let mut running = FuturesUnordered::new();
        loop {
            self.follow_policy();
            self.follow_leadership();
            self.follow_steadiness();
            if !self.knows && pools.seen.is_complete() {
                self.knows = true;
                known();
            }
            let takes_more = |count| count < MOST_AT_ONCE && !end.is_cancelled();
            while takes_more(running.len())
                && let Some(pool) = self.next()
            {
                running.push(self.begin(pool));
            }
            if end.is_cancelled() && running.is_empty() {
                return;
            }
            let tick = Instant::now() + TICK;
            let due = self.queue.next_at();
            let due = due.filter(|_| self.may_act() && takes_more(running.len()));
            let next = due.map_or(tick, |at| at.min(tick));
            tokio::select! {
                () = end.cancelled(), if !end.is_cancelled() => {}
                Some(ended) = running.next() => self.ended(ended),
                () = pools.seen.changed() => {}
                () = leadership.changed() => {}
                _ = policies.changed() => {}
                Ok(()) = rights.changed() => self.look_at_all(),
                () = sleep_until(next) => {}
            }
        }
    }

    fn may_act(&self) -> bool {
        self.knows && self.pools.rights.are_known() && self.pools.writer.leadership.holds()
    }

    /// The next pool to reconcile now.
    fn next(&mut self) -> Option<Arc<str>> {
        if !self.may_act() {
            return None;
        }
        let (now, seen) = (Instant::now(), &self.pools.seen);
        for pool in seen.change(Index::take_changed) {
            self.queue.push(pool, now);
        }
        let pool = self.queue.pop(now);
        let marked = seen.look(Index::marked_nodes);
        self.pools.writer.metrics.waiting(self.queue.due(now), marked);
        pool
    }

    /// Begins to reconcile a pool.
    fn begin(&mut self, pool: Arc<str>) -> BoxFuture<'static, Ended> {
        let pools = Arc::clone(&self.pools);
        let mut memory = self.memories.remove(&pool).unwrap_or_default();
        Box::pin(async move {
            let begun = Instant::now();
            let result = pools.reconcile(&pool, &mut memory).await;
            Ended {
                pool,
                memory,
                took: begun.elapsed(),
                result,
            }
        })
    }

    fn ended(&mut self, ended: Ended) {
        let (Ended { pool, took, .. }, now) = (&ended, Instant::now());
        let metrics = &self.pools.writer.metrics;
        match &ended.result {
            Ok(again_at) => {
                metrics.reconciled(*took, true);
                self.failures.is_over(pool);
                self.queue.succeeded(pool);
                if let Some(again_at) = again_at {
                    self.queue.push_at(Arc::clone(pool), *again_at);
                } else {
                    metrics.pools.forget(pool);
                    self.queue.forget(pool);
                    return;
                }
            }
            // The replica that leads now does it.
            Err(WriteError::NotLeading) => self.queue.ended(pool),
            Err(error) => {
                metrics.reconciled(*took, false);
                self.queue.failed(pool, now);
                if self.failures.is_news(Arc::clone(pool), error.to_string()) {
                    tracing::warn!(nodepool = &**pool, %error, "reconciling failed, retrying");
                }
            }
        }
        self.memories.insert(ended.pool, ended.memory);
    }

    fn follow_policy(&mut self) {
        let loaded = Guard::into_inner(self.pools.policy.load());
        let policy = Arc::clone(&loaded.policy);
        let known = self.in_force.as_ref();
        if known.is_some_and(|known| Arc::ptr_eq(known, &policy)) {
            return;
        }
        self.in_force = Some(Arc::clone(&policy));
        let policy = match self.over_limit {
            Some(over_limit) if over_limit != policy.over_limit => Arc::new(Policy {
                over_limit,
                ..(*policy).clone()
            }),
            _ => policy,
        };
        if loaded.is_stand_in {
            tracing::warn!("the policy file is unusable, so no node is terminated");
        }
        self.pools.seen.change(|index| index.set_policy(policy));
    }

    fn follow_leadership(&mut self) {
        let pools = Arc::clone(&self.pools);
        let term = pools.writer.leadership.term();
        if term == pools.leading.lock().map(|(number, _)| number) {
            return;
        }
        let metrics = &pools.writer.metrics;
        metrics.leading(term.is_some());
        *pools.leading.lock() = term.map(|number| (number, pools.seen.now()));
        if term.is_none() {
            metrics.pools.forget_all();
            metrics.waiting(0, 0);
            return;
        }
        self.look_at_all();
    }

    /// Queues all pools when a watch has failed or is complete again. A pool reconciled while a watch was down does
    /// not know when to continue, and perhaps nothing of the pool changes when the watch is back.
    fn follow_steadiness(&mut self) {
        let steady = self.pools.seen.steady_since();
        if steady != self.steady {
            self.steady = steady;
            self.look_at_all();
        }
    }

    fn look_at_all(&mut self) {
        let now = Instant::now();
        for pool in self.pools.seen.look(Index::all_pools) {
            self.queue.push(pool, now);
        }
    }
}
