//! The creations that wait, by pool.
//!
//! A pool for which something waits has one task. It works in rounds until nothing waits any more, and the end of a
//! request does not end it: all creations that come during a round are decided together in the next one, and stored
//! with one write. A round that waits for a LIST takes in who comes. Sweeps run in the background, so no creation waits for one. Simultaneous writes of one ledger are
//! as safe as those of two replicas.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use poolgate_core::nodelimit::ledger::{RequestVerdict, Uid};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::context::GateContext;
use super::decision::GateDecision;
use super::error::{GateError, OnError};
use super::review::NodeClaimReview;
use super::round::Round;
use super::waiter::{Arrivals, DecidedRequest, Queue, Release, Reply, Waiter};
use crate::runtime::lifecycle::spawn;

/// How many creations may wait in all, and how many reservations of one pool to be cancelled.
const MOST_WAITING: usize = 4_096;

/// How often reservations are checked that no request waits for: a sweep.
const SWEEP_PERIOD: Duration = Duration::from_secs(5);

/// The gate.
pub struct Gate {
    /// Whether what would be denied is admitted, and only counted. A change of the pool label is denied nevertheless.
    observe: bool,
    context: Arc<GateContext>,
    /// The places of those that wait, including those in running rounds.
    places: Arc<Semaphore>,
    /// What waits for the next rounds of the pools that have a task.
    pools: Mutex<BTreeMap<Box<str>, Arc<Arrivals>>>,
}

impl Gate {
    pub fn new(observe: bool, context: Arc<GateContext>) -> Arc<Self> {
        Arc::new(Self {
            observe,
            context,
            places: Arc::new(Semaphore::new(MOST_WAITING)),
            pools: Mutex::default(),
        })
    }

    /// Decides on a creation within `limit`. If it cannot, `on_error` happens.
    pub async fn ask(
        self: &Arc<Self>,
        review: &NodeClaimReview,
        on_error: OnError,
        limit: Duration,
    ) -> GateDecision {
        match self.wait(review, on_error, limit).await {
            Ok(decided) => self.decided(&decided, review.is_dry_run()),
            Err(error) => self.undecided(error, review.is_dry_run(), on_error),
        }
    }

    async fn wait(self: &Arc<Self>, review: &NodeClaimReview, on_error: OnError, limit: Duration) -> Reply {
        let uid = Uid::new(&review.uid)?;
        let place = Arc::clone(&self.places).try_acquire_owned();
        let deadline = Instant::now() + limit;
        let (sender, mut reply) = oneshot::channel();
        let waiter = Waiter {
            uid: uid.clone(),
            name: review.name.clone(),
            arrived: self.context.shared.clock.now(),
            deadline,
            on_error,
            dry_run: review.is_dry_run(),
            observed: self.observe,
            reply: sender,
            release: self.release(&review.pool, uid),
            place: place.map_err(|_| GateError::Busy)?,
        };
        self.add(&review.pool, |queue| queue.waiters.push(waiter));
        match timeout(limit, &mut reply).await {
            Ok(Ok(replied)) => {
                let mut decided = replied?;
                decided.received();
                Ok(decided)
            }
            Ok(Err(_)) if Instant::now() < deadline => Err(GateError::Ended),
            // Its round has dropped it, because its time is over.
            Ok(Err(_)) => Err(GateError::Late(limit)),
            Err(_) => {
                if self.admits_undecided(on_error) {
                    spawn(receive(reply));
                }
                Err(GateError::Late(limit))
            }
        }
    }

    /// Takes the reservation of this UID back when it is called.
    fn release(self: &Arc<Self>, pool: &str, uid: Uid) -> Release {
        let (gate, pool) = (Arc::clone(self), Box::<str>::from(pool));
        Box::new(move || {
            gate.add(&pool, |queue| {
                // Further reservations expire on their own.
                if queue.releases.len() < MOST_WAITING {
                    queue.releases.push(uid);
                }
            });
        })
    }

    /// Adds to what waits for a pool, and starts its task if it has none.
    fn add(self: &Arc<Self>, pool: &str, add: impl FnOnce(&mut Queue)) {
        let mut pools = self.pools.lock();
        if let Some(arrivals) = pools.get(pool) {
            return arrivals.add(add);
        }
        pools.entry(pool.into()).or_default().add(add);
        drop(pools);
        spawn(Arc::clone(self).work(pool.into()));
    }

    /// Works on a pool until nothing waits for it.
    async fn work(self: Arc<Self>, pool: Arc<str>) {
        while let Some((queue, arrivals)) = self.next(&pool) {
            let (context, pool) = (Arc::clone(&self.context), Arc::clone(&pool));
            // A round that panics has dropped its creations, which then fail. The next round is another task.
            let _ = spawn(async move { Round::new(&context, &pool, queue, &arrivals).run().await }).await;
        }
    }

    /// What waits for the next round of a pool; if that is nothing, the pool has no task from now on.
    fn next(&self, pool: &str) -> Option<(Queue, Arc<Arrivals>)> {
        let mut pools = self.pools.lock();
        let arrivals = pools.get(pool).map(Arc::clone)?;
        let queue = arrivals.take();
        if queue.waiters.is_empty() && queue.releases.is_empty() {
            pools.remove(pool);
            return None;
        }
        Some((queue, arrivals))
    }

    /// Removes reservations that are not needed any more, for ever. Creations do this too; a sweep is for pools without
    /// creations.
    pub async fn sweep(self: Arc<Self>) {
        let mut ticks = interval(SWEEP_PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for ledger in self.context.unsettled() {
                if self.pools.lock().contains_key(&ledger.pool) {
                    continue;
                }
                let Some(beside) = self.context.begin_beside(ledger.owner()) else {
                    continue;
                };
                let context = Arc::clone(&self.context);
                spawn(async move {
                    Round::new(&context, &ledger.pool, Queue::default(), &Arrivals::default())
                        .run()
                        .await;
                    drop(beside);
                });
            }
        }
    }

    fn decided(&self, decided: &DecidedRequest, dry_run: bool) -> GateDecision {
        let (word, decision) = match decided.answer {
            RequestVerdict::Reserved | RequestVerdict::Allow => ("allowed", GateDecision::Allowed),
            RequestVerdict::Deny(denied) if self.observe => ("would_deny", GateDecision::WouldDeny(denied)),
            RequestVerdict::Deny(denied) => ("denied", GateDecision::Denied(denied)),
        };
        let metrics = &self.context.shared.metrics;
        metrics.decided(word, decided.mode, dry_run);
        decision
    }

    fn undecided(&self, error: GateError, dry_run: bool, on_error: OnError) -> GateDecision {
        let metrics = &self.context.shared.metrics;
        metrics.errors.inc(error.reason());
        metrics.decided("error", None, dry_run);
        if self.admits_undecided(on_error) {
            GateDecision::AllowedUndecided(error)
        } else {
            GateDecision::DeniedUndecided(error)
        }
    }

    fn admits_undecided(&self, on_error: OnError) -> bool {
        self.observe || on_error == OnError::Allow
    }
}

/// Receives a decision that comes too late. The NodeClaim was admitted without it and needs its reservation.
async fn receive(reply: oneshot::Receiver<Reply>) {
    if let Ok(Ok(mut decided)) = reply.await {
        decided.received();
    }
}

#[cfg(test)]
mod tests;
