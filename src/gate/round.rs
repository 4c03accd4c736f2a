//! One round: all that wait for one pool are decided together and stored with one write.

use std::mem::take;
use std::time::{Duration, Instant};

use poolgate_core::nodelimit::ledger::{Decision, Ledger, Needs, Observed, RequestVerdict, Step, Write};
use tokio::time::sleep;

use super::calls::{CallError, in_time};
use super::context::LimitedPool;
use super::error::GateError;
use super::facts::{Base, LEDGER, NOTHING, Round};
use super::waiter::{DecidedRequest, Waiter};
use crate::cluster::ledgers::Owner;

/// The pauses after calls that fail: each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long before its deadline a creation is told why it cannot be decided.
const MARGIN: Duration = Duration::from_millis(100);

/// How many steps are tried for what nobody waits for.
const UNHURRIED_STEPS: u32 = 5;

/// What comes next.
enum Next {
    Done,
    Read(Needs),
}

impl Round<'_> {
    /// Works until all are answered and all is taken back. With nothing of either it is sweeps.
    pub(super) async fn run(mut self) {
        let is_sweep = self.waiters.is_empty() && self.releases.is_empty();
        let mut needs = self.first_needs(is_sweep);
        let mut pause = FIRST_PAUSE;
        let mut unhurried = 0;
        loop {
            match self.step(needs).await {
                Ok(Next::Done) => return,
                Ok(Next::Read(more)) => needs = more,
                Err(CallError::Conflict) => needs = LEDGER,
                Err(CallError::Failure { error, is_final }) => {
                    self.give_up(&error, pause, is_final);
                    if !self.waiters.is_empty() {
                        sleep(pause).await;
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    needs = LEDGER;
                }
            }
            self.waiters.retain(|waiter| !waiter.has_gone());
            if self.waiters.is_empty() {
                unhurried += 1;
                let is_idle = self.releases.is_empty() && !is_sweep;
                if is_idle || unhurried == UNHURRIED_STEPS {
                    return;
                }
            }
        }
    }

    async fn step(&mut self, needs: Needs) -> Result<Next, CallError> {
        self.read(needs).await?;
        let Some(Observed { value, read }) = self.read.pool.clone() else {
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
        match self.decide(&Observed { value: &pool, read }, base.as_ref()) {
            Step::Read(needs) => Ok(Next::Read(needs)),
            Step::Decided(decision) => self.carry_out(&pool, base, decision).await,
        }
    }

    /// Stores what must be stored, answers, and stores what else is useful.
    async fn carry_out(
        &mut self,
        pool: &LimitedPool,
        base: Option<Base>,
        decision: Decision,
    ) -> Result<Next, CallError> {
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
        // Reservations whose answers could not be sent: the next base is what was stored just now.
        self.read.ledger = None;
        Ok(if self.releases.is_empty() {
            Next::Done
        } else {
            Next::Read(NOTHING)
        })
    }

    /// Stores a ledger, and with it that reservations were taken back and refusals told.
    async fn store(
        &mut self,
        pool: &LimitedPool,
        ledger: &Ledger,
        over: Option<u64>,
    ) -> Result<(), CallError> {
        let owner = Owner {
            name: self.pool,
            uid: &pool.uid,
        };
        let metrics = &self.context.metrics;
        match in_time(self.call_limit(), self.context.store.write(owner, ledger, over)).await {
            Ok(_) => {
                metrics.wrote("stored");
                metrics.released(take(&mut self.releases).len());
                self.context.set_untold(self.pool, 0);
                Ok(())
            }
            Err(CallError::Conflict) => {
                metrics.wrote("conflict");
                Err(CallError::Conflict)
            }
            Err(failure) => {
                metrics.wrote("failed");
                // They may be taken back already, and the next time it would be somebody else's reservations.
                self.releases.clear();
                Err(failure)
            }
        }
    }

    /// The same, where nobody waits for it: if another replica was faster, that one has written what matters.
    async fn store_if_unchanged(
        &mut self,
        pool: &LimitedPool,
        ledger: &Ledger,
        over: Option<u64>,
    ) -> Result<(), CallError> {
        match self.store(pool, ledger, over).await {
            Err(CallError::Conflict) if self.releases.is_empty() => Ok(()),
            other => other,
        }
    }

    fn answer(&mut self, pool: &LimitedPool, answers: &[RequestVerdict], is_told: bool) {
        let mut refused = 0;
        for (waiter, answer) in take(&mut self.waiters).into_iter().zip(answers) {
            if matches!(answer, RequestVerdict::Deny(_)) && !waiter.dry_run {
                refused += 1;
            }
            let verdict = DecidedRequest {
                answer: *answer,
                mode: Some(pool.limit.mode),
            };
            self.releases.extend(waiter.answer(Ok(verdict)));
        }
        if !is_told && refused > 0 {
            let untold = self.context.untold(self.pool);
            self.context.set_untold(self.pool, untold + refused);
        }
    }

    /// There is no limit.
    fn let_all_in(&mut self) {
        for waiter in take(&mut self.waiters) {
            let verdict = DecidedRequest {
                answer: RequestVerdict::Allow,
                mode: None,
            };
            waiter.answer(Ok(verdict));
        }
    }

    /// Tells those who could not be told after the next pause why they cannot be decided; all, where trying again is
    /// in vain.
    fn give_up(&mut self, error: &GateError, pause: Duration, is_final: bool) {
        let next = Instant::now() + pause + MARGIN;
        let (undecided, waiting): (Vec<Waiter>, Vec<Waiter>) = take(&mut self.waiters)
            .into_iter()
            .partition(|waiter| is_final || waiter.deadline <= next);
        self.waiters = waiting;
        if undecided.is_empty() {
            return;
        }
        let creations = undecided.len();
        tracing::warn!(pool = self.pool, %error, creations, "creations of NodeClaims not decided");
        for waiter in undecided {
            waiter.answer(Err(error.clone()));
        }
    }
}
