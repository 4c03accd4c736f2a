//! When each pool is reconciled, and in which order its plan is carried out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::Guard;
use poolgate_core::api::OverLimit;
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::{Memory, Now, Plan, Settings, Unhold, plan};
use poolgate_core::policy::Policy;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::apply::{Marker, PublishedEvents, WriteError, Writer};
use super::args::ReconcileArgs;
use super::index::{Index, PlanInputs, Snapshot};
use super::pace::Pace;
use super::queue::Queue;
use super::rights::GrantedRights;
use super::step::Step;
use super::watched_state::WatchedState;
use crate::cluster::LedgerStore;
use crate::policy_watch::PolicyInForce;

/// How often to look at what time alone changes: the end of a term, and whether to ask for rights again.
const TICK: Duration = Duration::from_secs(1);

/// How soon a pool is reconciled again of which a replacement was not carried on.
const NEXT_STEP: Duration = Duration::from_secs(1);

/// How often a pool is reconciled that has not changed.
const RESYNC: Duration = Duration::from_mins(10);

/// Reconciles pools one by one.
pub struct Controller {
    pub seen: WatchedState,
    pub writer: Writer,
    pub ledgers: LedgerStore,
    rights: GrantedRights,
    policy: PolicyInForce,
    in_force: Option<Arc<Policy>>,
    /// What to do with nodes above a limit; `None` to follow the policy.
    over_limit: Option<OverLimit>,
    /// How long everything must have been steady before anything is terminated.
    settle: Duration,
    queue: Queue,
    pub pace: Pace,
    marker: Marker,
    events: PublishedEvents,
    memories: BTreeMap<Arc<str>, Memory>,
    /// The term in which this replica leads, and since when.
    leading: Option<(u64, Moment)>,
    /// Since when no watch has missed anything, as last seen.
    steady: Option<Moment>,
    /// Whether every watch has been complete at least once.
    knows: bool,
    /// The last failure of each pool, so that each is logged once.
    failures: BTreeMap<Arc<str>, String>,
}

impl Controller {
    pub fn new(
        seen: WatchedState,
        writer: Writer,
        ledgers: LedgerStore,
        policy: PolicyInForce,
        args: &ReconcileArgs,
    ) -> Self {
        let rights = GrantedRights::of(&writer);
        Self {
            seen,
            writer,
            ledgers,
            rights,
            policy,
            in_force: None,
            over_limit: args.over_limit(),
            settle: args.settle,
            queue: Queue::new(Instant::now()),
            pace: Pace::new(args.max_terminations_per_minute),
            marker: Marker::default(),
            events: PublishedEvents::default(),
            memories: BTreeMap::new(),
            leading: None,
            steady: None,
            knows: false,
            failures: BTreeMap::new(),
        }
    }

    /// Reconciles pools until `end`. A pool in progress is finished first.
    pub async fn run(mut self, end: CancellationToken, known: impl Fn()) {
        let mut policies = self.policy.changes();
        while !end.is_cancelled() {
            self.follow_policy();
            self.follow_leadership();
            self.follow_steadiness();
            if !self.knows && self.seen.is_complete() {
                self.knows = true;
                known();
            }
            if self.may_act() && self.rights.follow().await {
                self.look_at_all();
            }
            if let Some(pool) = self.next() {
                self.look_at(pool).await;
                continue;
            }
            let tick = Instant::now() + TICK;
            let due = self.queue.next_at().filter(|_| self.may_act());
            let next = due.map_or(tick, |at| at.min(tick));
            tokio::select! {
                () = end.cancelled() => {}
                () = self.seen.changed() => {}
                () = self.writer.leadership.changed() => {}
                _ = policies.changed() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    fn may_act(&self) -> bool {
        self.knows && self.writer.leadership.holds()
    }

    /// The next pool to look at now.
    fn next(&mut self) -> Option<Arc<str>> {
        if !self.may_act() {
            return None;
        }
        let now = Instant::now();
        for pool in self.seen.change(Index::take_changed) {
            self.queue.push(pool, now);
        }
        let pool = self.queue.pop(now);
        self.writer
            .metrics
            .waiting(self.queue.due(now), self.seen.look(Index::marked_nodes));
        pool
    }

    fn follow_policy(&mut self) {
        let loaded = Guard::into_inner(self.policy.load());
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
            tracing::warn!("the policy file cannot be used: no node is terminated until it can");
        }
        self.seen.change(|index| index.set_policy(policy));
    }

    fn follow_leadership(&mut self) {
        let term = self.writer.leadership.term();
        if term == self.leading.map(|(number, _)| number) {
            return;
        }
        self.writer.metrics.leading(term.is_some());
        self.leading = term.map(|number| (number, self.seen.now()));
        if term.is_none() {
            self.writer.metrics.pools.forget_all();
            self.writer.metrics.waiting(0, 0);
            return;
        }
        self.look_at_all();
    }

    /// Queues all pools when a watch has failed or is complete again. A pool reconciled while a watch was down does
    /// not know when to continue, and perhaps nothing of the pool changes when the watch is back.
    fn follow_steadiness(&mut self) {
        let steady = self.seen.steady_since();
        if steady != self.steady {
            self.steady = steady;
            self.look_at_all();
        }
    }

    fn look_at_all(&mut self) {
        let now = Instant::now();
        for pool in self.seen.look(Index::concerned) {
            self.queue.push(pool, now);
        }
    }

    async fn look_at(&mut self, pool: Arc<str>) {
        let begun = Instant::now();
        let result = self.reconcile(&pool).await;
        let now = Instant::now();
        match result {
            Ok(again_at) => {
                self.writer.metrics.reconciled(now - begun, true);
                self.queue.succeeded(&pool);
                self.failures.remove(&pool);
                if let Some(again_at) = again_at {
                    self.queue.push_at(pool, again_at);
                }
            }
            // The replica that leads now does it.
            Err(WriteError::NotLeading) => {}
            Err(error) => {
                self.writer.metrics.reconciled(now - begun, false);
                self.queue.failed(&pool, now);
                let text = error.to_string();
                if self.failures.get(&pool) != Some(&text) {
                    tracing::warn!(nodepool = &*pool, %error, "reconciling failed; it is tried again");
                    self.failures.insert(pool, text);
                }
            }
        }
    }

    /// Carries out the plan for a pool. Returns when to reconcile it again, if anything is left of it.
    async fn reconcile(&mut self, pool: &Arc<str>) -> Result<Option<Instant>, WriteError> {
        let snapshot = self.seen.look(|index| index.snapshot(pool));
        let memory = self.memories.get(pool).cloned().unwrap_or_default();
        let now = self.now();
        let plan = plan(&snapshot.state(self.inputs(&snapshot)), &memory, now);
        self.writer.metrics.pools.show(pool, &plan.numbers);
        // First: until it is written, Karpenter requests nodes that must be denied.
        let limited = match plan.spec_limit {
            Some(nodes) => self.writer.limit_nodes(&snapshot.pool, nodes).await,
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
        let step = Box::pin(self.replace(&snapshot, &plan)).await?;
        if let Some(again_at) = self.retry_step(pool, step, memory.clone()) {
            return Ok(Some(again_at));
        }
        let terminated = if plan.terminate.is_empty() {
            Ok(())
        } else {
            self.terminate_victims(snapshot.clone(), memory).await
        };
        self.events
            .publish(&self.writer, &snapshot.pool, &plan.events)
            .await?;
        if snapshot.is_over() {
            self.forget(pool);
            return Ok(None);
        }
        let again_at = self.again_at(&plan, now.clock);
        self.memories.insert(Arc::clone(pool), plan.memory);
        terminated.map(|()| Some(again_at))
    }

    /// When to reconcile a pool again of which a replacement was not carried on, if it was not. `memory` is that from before
    /// the plan.
    fn retry_step(&mut self, pool: &Arc<str>, step: Step, mut memory: Memory) -> Option<Instant> {
        match step {
            Step::Done => return None,
            Step::Stale => {}
            Step::Refused(uid, obstacle) => {
                memory.refuse(&uid, obstacle.to_string(), self.seen.now());
                self.memories.insert(Arc::clone(pool), memory);
            }
        }
        Some(Instant::now() + NEXT_STEP)
    }

    async fn mark(&mut self, snapshot: &Snapshot, plan: &Plan) -> Result<(), WriteError> {
        let held = self.marker.hold(&self.writer, &plan.hold).await;
        let strays = snapshot.strays.iter().map(|node| Unhold {
            node: node.clone(),
            hand_over: false,
        });
        // A node that could not be held is still open: no other one is opened beside it.
        let turns: &[Unhold] = if held.is_ok() { &plan.unhold } else { &[] };
        let unhold: Vec<_> = turns.iter().cloned().chain(strays).collect();
        held.and(self.marker.unhold(&self.writer, &unhold).await)
    }

    pub fn now(&self) -> Now {
        Now {
            wall: self.writer.clock.wall(),
            clock: self.seen.now(),
        }
    }

    pub fn inputs(&mut self, snapshot: &Snapshot) -> PlanInputs {
        // A policy that cannot be read might not allow to terminate what the built-in one would.
        let is_known = !self.policy.load().is_stand_in;
        let steady = self.seen.steady_since().filter(|_| is_known);
        let since = steady
            .zip(self.leading)
            .map(|(steady, (_, leading))| steady.max(leading));
        PlanInputs {
            steady_since: since
                .map(|since| since.max(snapshot.grown_at()))
                .max(since.and(snapshot.ledger_identified_at)),
            terminations_left: self.pace.left(Instant::now()),
            settings: Settings {
                settle: self.settle,
                rights: self.rights.granted(),
                ..Settings::default()
            },
        }
    }

    fn again_at(&mut self, plan: &Plan, now: Moment) -> Instant {
        let clock = Instant::now();
        let planned = plan.again_at.map(|at| clock + at.since(now));
        let paced = self.pace.next_at(clock).filter(|_| plan.numbers.excess > 0);
        let resync = clock + RESYNC;
        [planned, paced].into_iter().flatten().fold(resync, Instant::min)
    }

    fn forget(&mut self, pool: &str) {
        self.memories.remove(pool);
        self.writer.metrics.pools.forget(pool);
        self.events.forget(pool);
        self.queue.forget(pool);
    }
}

#[cfg(test)]
mod tests;
