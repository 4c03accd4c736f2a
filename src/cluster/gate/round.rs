//! One round: all that wait for one pool are decided together and stored with one write.

use std::mem::take;
use std::time::{Duration, Instant};

use poolgate_core::nodelimit::ledger::{
    Answer, ClaimView, Decision, Facts, Ledger, Needs, ReadSpan, Reading, Sightings, Step, Uid, Write, decide,
};
use tokio::time::sleep;

use super::calls::{Setback, in_time, wanted};
use super::desk::{Desk, LimitedPool};
use super::error::GateError;
use super::waiter::{Verdict, Waiter};
use crate::cluster::clock::wall_seconds;
use crate::cluster::ledgers::{Owner, Stored};
use crate::cluster::pools;

/// How long the API server may take over one call: half of the time that is left, so that a call which goes astray can be
/// repeated, within these bounds.
const SHORTEST_CALL: Duration = Duration::from_millis(500);
const LONGEST_CALL: Duration = Duration::from_secs(10);

/// The pauses after calls that fail: each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long before its deadline a creation is told why it cannot be decided.
const MARGIN: Duration = Duration::from_millis(100);

/// How many steps are tried for what nobody waits for.
const UNHURRIED_STEPS: u32 = 5;

/// Work on one pool.
pub(super) struct Round<'a> {
    desk: &'a Desk,
    pool: &'a str,
    waiters: Vec<Waiter>,
    /// UIDs whose tickets are to be taken back.
    releases: Vec<Uid>,
    read: Read,
}

/// What was found out in this round.
#[derive(Default)]
struct Read {
    /// The pool, at first as the watch has told of it; none inside where it has no limit.
    pool: Option<Reading<Option<LimitedPool>>>,
    ledger: Option<(Option<Stored>, ReadSpan)>,
    claims: Option<ReadSpan>,
}

/// The ledger to decide on.
struct Base {
    stored: Stored,
    /// The same without the tickets that are to be taken back, if it holds any of them.
    released: Option<Ledger>,
}

/// What comes next.
enum Next {
    Done,
    Read(Needs),
}

const NOTHING: Needs = Needs {
    ledger: false,
    claims: false,
    limit: false,
};
const LEDGER: Needs = Needs {
    ledger: true,
    ..NOTHING
};
const CLAIMS: Needs = Needs {
    claims: true,
    ..NOTHING
};

impl Base {
    fn ledger(&self) -> &Ledger {
        self.released.as_ref().unwrap_or(&self.stored.ledger)
    }
}

impl<'a> Round<'a> {
    pub(super) fn new(desk: &'a Desk, pool: &'a str, waiters: Vec<Waiter>, releases: Vec<Uid>) -> Self {
        Self {
            desk,
            pool,
            waiters,
            releases,
            read: Read::default(),
        }
    }

    /// Works until all are answered and all is taken back. With nothing of either it is housekeeping.
    pub(super) async fn run(mut self) {
        let is_housekeeping = self.waiters.is_empty() && self.releases.is_empty();
        let mut needs = self.first_needs(is_housekeeping);
        let mut pause = FIRST_PAUSE;
        let mut unhurried = 0;
        loop {
            match self.step(needs).await {
                Ok(Next::Done) => return,
                Ok(Next::Read(more)) => needs = more,
                Err(Setback::Conflict) => needs = LEDGER,
                Err(Setback::Failure { error, is_final }) => {
                    self.give_up(&error, pause, is_final);
                    sleep(if self.waiters.is_empty() {
                        Duration::ZERO
                    } else {
                        pause
                    })
                    .await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    needs = LEDGER;
                }
            }
            self.waiters.retain(|waiter| !waiter.has_gone());
            if self.waiters.is_empty() {
                unhurried += 1;
                let is_idle = self.releases.is_empty() && !is_housekeeping;
                if is_idle || unhurried == UNHURRIED_STEPS {
                    return;
                }
            }
        }
    }

    /// What is to be read before anything else.
    fn first_needs(&mut self, is_housekeeping: bool) -> Needs {
        let pool = self.desk.view.pool(self.pool);
        self.read.pool = pool.map(|pool| Reading::kept(self.desk.limited(&pool)));
        let now = self.desk.clock.now();
        Needs {
            ledger: false,
            claims: is_housekeeping && self.desk.has_overdue_ticket(self.pool, now),
            // A pool that nobody has told of is looked for, not waved through.
            limit: self.read.pool.is_none(),
        }
    }

    async fn step(&mut self, needs: Needs) -> Result<Next, Setback> {
        self.read(needs).await?;
        let Some(Reading { value, read }) = self.read.pool.clone() else {
            return Ok(Next::Read(Needs {
                limit: true,
                ..NOTHING
            }));
        };
        let Some(pool) = value else {
            self.let_all_in();
            return Ok(Next::Done);
        };
        let base = self.base();
        match self.decide(&Reading { value: &pool, read }, base.as_ref()) {
            Step::Read(needs) => Ok(Next::Read(needs)),
            Step::Decided(decision) => self.carry_out(&pool, base, decision).await,
        }
    }

    /// Reads side by side what is needed.
    async fn read(&mut self, needs: Needs) -> Result<(), Setback> {
        if !needs.any() {
            return Ok(());
        }
        let (desk, name, limit) = (self.desk, self.pool, self.call_limit());
        for (is_read, of) in [
            (needs.ledger, "ledger"),
            (needs.claims, "claims"),
            (needs.limit, "limit"),
        ] {
            if is_read {
                desk.metrics.read(of);
            }
        }
        let begun = desk.clock.now();
        let (ledger, claims, pool) = tokio::join!(
            wanted(needs.ledger, limit, desk.store.read(name)),
            wanted(needs.claims, limit, desk.list.of_pool(name)),
            wanted(needs.limit, limit, desk.pools.get_opt(name)),
        );
        let span = ReadSpan {
            begun,
            done: desk.clock.now(),
        };
        if let Some(pool) = pool? {
            let kept = pool.and_then(pools::kept);
            self.read.pool = Some(Reading {
                value: kept.and_then(|(_, pool)| desk.limited(&pool)),
                read: Some(span),
            });
        }
        if let Some(list) = claims? {
            desk.claims.borrow_mut().relist(name, list);
            self.read.claims = Some(span);
        }
        if let Some(ledger) = ledger? {
            self.read.ledger = Some((ledger, span));
        }
        Ok(())
    }

    fn base(&self) -> Option<Base> {
        let stored = match &self.read.ledger {
            Some((stored, _)) => stored.clone(),
            None => self.desk.ledgers.borrow().get(self.pool),
        }?;
        Some(Base {
            released: stored.ledger.release(&self.releases),
            stored,
        })
    }

    fn decide(&self, pool: &Reading<&LimitedPool>, base: Option<&Base>) -> Step {
        let mut claims = self.desk.claims.borrow_mut();
        let Some(view) = claims.current(self.pool, self.read.claims.is_some()) else {
            return Step::Read(CLAIMS);
        };
        let ledgers = self.desk.ledgers.borrow();
        let none = Sightings::default();
        let facts = Facts {
            ledger: Reading {
                value: base.map(Base::ledger),
                read: self.read.ledger.as_ref().map(|(_, span)| *span),
            },
            claims: Reading::<&ClaimView> {
                value: view,
                read: self.read.claims,
            },
            limit: Reading {
                value: pool.value.limit,
                read: pool.read,
            },
            sightings: ledgers.sightings(self.pool).unwrap_or(&none),
            clock: wall_seconds(),
            untold: self.desk.untold(self.pool),
        };
        let requests: Vec<_> = self.waiters.iter().map(Waiter::request).collect();
        decide(&facts, &requests)
    }

    /// Stores what must be stored, answers, and stores what else is useful.
    async fn carry_out(
        &mut self,
        pool: &LimitedPool,
        base: Option<Base>,
        decision: Decision,
    ) -> Result<Next, Setback> {
        let Decision { write, answers } = decision;
        let over = base.as_ref().map(|base| base.stored.version);
        match write {
            Write::Required(ledger) => {
                self.store(pool, &ledger, over).await?;
                self.answer(pool, &answers, true);
            }
            Write::Useful(ledger) => {
                self.answer(pool, &answers, false);
                self.store_if_unchanged(pool, &ledger, over).await?;
            }
            Write::Nothing => {
                self.answer(pool, &answers, false);
                if let Some(ledger) = base.and_then(|base| base.released) {
                    self.store_if_unchanged(pool, &ledger, over).await?;
                }
                self.releases.clear();
            }
        }
        // Tickets whose answers could not be sent: the next base is what was stored just now.
        self.read.ledger = None;
        Ok(if self.releases.is_empty() {
            Next::Done
        } else {
            Next::Read(NOTHING)
        })
    }

    /// Stores a ledger, and with it that tickets were taken back and refusals told.
    async fn store(&mut self, pool: &LimitedPool, ledger: &Ledger, over: Option<u64>) -> Result<(), Setback> {
        let owner = Owner {
            name: self.pool,
            uid: &pool.uid,
        };
        let metrics = &self.desk.metrics;
        let stored = in_time(self.call_limit(), self.desk.store.write(owner, ledger, over)).await;
        metrics.wrote(match &stored {
            Ok(_) => "stored",
            Err(Setback::Conflict) => "conflict",
            Err(Setback::Failure { .. }) => "failed",
        });
        stored?;
        metrics.released(take(&mut self.releases).len());
        self.desk.set_untold(self.pool, 0);
        Ok(())
    }

    /// The same, where nobody waits for it: if another replica was faster, that one has written what matters.
    async fn store_if_unchanged(
        &mut self,
        pool: &LimitedPool,
        ledger: &Ledger,
        over: Option<u64>,
    ) -> Result<(), Setback> {
        match self.store(pool, ledger, over).await {
            Err(Setback::Conflict) if self.releases.is_empty() => Ok(()),
            other => other,
        }
    }

    fn answer(&mut self, pool: &LimitedPool, answers: &[Answer], reserved: bool) {
        let mut refused = 0;
        for (waiter, answer) in take(&mut self.waiters).into_iter().zip(answers) {
            let is_allowed = matches!(answer, Answer::Allow);
            refused += u64::from(!is_allowed && !waiter.dry_run);
            let verdict = Verdict {
                answer: *answer,
                mode: Some(pool.limit.mode),
                reserved: reserved && is_allowed && !waiter.dry_run,
            };
            self.releases.extend(waiter.answer(Ok(verdict)));
        }
        // A ledger that was stored for these answers tells of the refusals among them.
        if !reserved && refused > 0 {
            self.desk
                .set_untold(self.pool, self.desk.untold(self.pool) + refused);
        }
    }

    /// There is no limit.
    fn let_all_in(&mut self) {
        for waiter in take(&mut self.waiters) {
            let verdict = Verdict {
                answer: Answer::Allow,
                mode: None,
                reserved: false,
            };
            waiter.answer(Ok(verdict));
        }
    }

    /// Tells those who could not be told after the next pause why they cannot be decided; all, where trying again is
    /// in vain.
    fn give_up(&mut self, error: &GateError, pause: Duration, is_final: bool) {
        let last = Instant::now() + pause + MARGIN;
        let (lost, waiting) = take(&mut self.waiters)
            .into_iter()
            .partition(|waiter| is_final || waiter.deadline <= last);
        self.waiters = waiting;
        let lost: Vec<Waiter> = lost;
        if lost.is_empty() {
            return;
        }
        tracing::warn!(pool = self.pool, %error, creations = lost.len(), "creations of NodeClaims not decided");
        for waiter in lost {
            waiter.answer(Err(error.clone()));
        }
    }

    /// How long the API server may take over one call.
    fn call_limit(&self) -> Duration {
        let last = self.waiters.iter().map(|waiter| waiter.deadline).max();
        last.map_or(LONGEST_CALL, |last| {
            (last.saturating_duration_since(Instant::now()) / 2).clamp(SHORTEST_CALL, LONGEST_CALL)
        })
    }
}
