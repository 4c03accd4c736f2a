//! Starts the rounds: one at a time for each pool, with all creations that came during the last one. Sweeps run beside
//! them: no creation waits for one. Two writes of one ledger are as safe as those of two replicas.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::rc::Rc;
use std::time::Duration;

use poolgate_core::nodelimit::ledger::Uid;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

use super::context::GateContext;
use super::error::GateError;
use super::round::Round;
use super::waiter::{Message, Waiter};

/// How many messages are taken from the inbox at once.
const BATCH: usize = 256;

/// How many creations may wait in all.
const MOST_WAITING: usize = 4_096;

/// How often reservations are checked that no request waits for: a sweep.
const SWEEP_PERIOD: Duration = Duration::from_secs(5);

/// Starts the rounds of all pools.
pub struct Dispatcher {
    inbox: mpsc::Receiver<Message>,
    /// The pools with a running round, and what waits for their next rounds.
    pools: BTreeMap<Box<str>, Queue>,
    /// The pools with a running sweep.
    swept: BTreeSet<Box<str>>,
    rounds: JoinSet<()>,
    /// What each task works on.
    running: Running,
    /// How many creations wait, including those in running rounds.
    waiting: usize,
}

#[expect(
    clippy::disallowed_types,
    reason = "its order does not matter: what is looked up is known"
)]
type Running = std::collections::HashMap<Id, Work>;

/// What waits for one pool.
#[derive(Default)]
struct Queue {
    waiters: Vec<Waiter>,
    releases: Vec<Uid>,
    is_running: bool,
}

/// What a task works on.
enum Work {
    Round { pool: Box<str>, creations: usize },
    Sweep { pool: Box<str> },
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.waiters.is_empty() && self.releases.is_empty()
    }
}

impl Dispatcher {
    pub fn new(inbox: mpsc::Receiver<Message>) -> Self {
        Self {
            inbox,
            pools: BTreeMap::new(),
            swept: BTreeSet::new(),
            rounds: JoinSet::new(),
            running: Running::default(),
            waiting: 0,
        }
    }

    /// Works until every sender of requests is gone. Within a [`LocalSet`](tokio::task::LocalSet).
    pub async fn run(mut self, context: Rc<GateContext>) {
        let mut sweeps = interval(SWEEP_PERIOD);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut messages = Vec::new();
        loop {
            tokio::select! {
                count = self.inbox.recv_many(&mut messages, BATCH) => {
                    if count == 0 {
                        return;
                    }
                    for message in messages.drain(..) {
                        self.take(message);
                    }
                    self.start_idle(&context);
                }
                Some(ended) = self.rounds.join_next_with_id() => self.ended(&ended, &context),
                _ = sweeps.tick() => self.sweep(&context),
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ask(_, waiter) if self.waiting >= MOST_WAITING => {
                waiter.answer(Err(GateError::Busy));
            }
            Message::Ask(pool, waiter) => {
                self.waiting += 1;
                self.pools.entry(pool).or_default().waiters.push(waiter);
            }
            Message::Release(pool, uid) => {
                let releases = &mut self.pools.entry(pool).or_default().releases;
                // If there are more, their reservations expire by themselves.
                if releases.len() < MOST_WAITING {
                    releases.push(uid);
                }
            }
        }
    }

    fn start_idle(&mut self, context: &Rc<GateContext>) {
        let idle = self.pools.iter().filter(|(_, queue)| !queue.is_running);
        let idle: Vec<Box<str>> = idle.map(|(pool, _)| pool.clone()).collect();
        for pool in idle {
            self.start(pool, context);
        }
    }

    fn start(&mut self, pool: Box<str>, context: &Rc<GateContext>) {
        let queue = self.pools.entry(pool.clone()).or_default();
        queue.is_running = true;
        let (waiters, releases) = (take(&mut queue.waiters), take(&mut queue.releases));
        let work = Work::Round {
            pool: pool.clone(),
            creations: waiters.len(),
        };
        self.spawn(work, context, pool, waiters, releases);
    }

    fn spawn(
        &mut self,
        work: Work,
        context: &Rc<GateContext>,
        pool: Box<str>,
        waiters: Vec<Waiter>,
        releases: Vec<Uid>,
    ) {
        let context = Rc::clone(context);
        let round = async move { Round::new(&context, &pool, waiters, releases).run().await };
        let started = self.rounds.spawn_local(round);
        self.running.insert(started.id(), work);
    }

    /// A round that panicked has dropped its creations, which then fail.
    fn ended(&mut self, ended: &Result<(Id, ()), JoinError>, context: &Rc<GateContext>) {
        let id = match ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        match self.running.remove(&id) {
            Some(Work::Round { pool, creations }) => {
                self.waiting -= creations;
                if self.pools.get(&pool).is_some_and(|queue| !queue.is_empty()) {
                    self.start(pool, context);
                } else {
                    self.pools.remove(&pool);
                }
            }
            Some(Work::Sweep { pool }) => drop(self.swept.remove(&pool)),
            None => {}
        }
    }

    /// Removes reservations that are not needed any more. Creations do this too; the sweep is for pools without creations.
    fn sweep(&mut self, context: &Rc<GateContext>) {
        for pool in context.unsettled() {
            if !self.pools.contains_key(&pool) && self.swept.insert(pool.clone()) {
                let work = Work::Sweep { pool: pool.clone() };
                self.spawn(work, context, pool, Vec::new(), Vec::new());
            }
        }
    }
}

#[cfg(test)]
mod tests;
