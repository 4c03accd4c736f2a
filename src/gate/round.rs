//! One round: all creations that wait for one pool are decided together and stored with one write.

use std::mem::take;
use std::time::{Duration, Instant};

use poolgate_core::nodelimit::ledger::{
    Decision, Denial, Facts, FirstSeen, Ledger, LimitInForce, Needs, Observed, RequestVerdict, Step, Uid,
    Write, decide,
};
use tokio::time::sleep;

use super::context::{GateContext, LimitedPool};
use super::error::{CallError, GateError, in_time};
use super::reads::{FIRST_PAUSE, LONGEST_PAUSE, MARGIN, Reads, write_limit};
use super::waiter::{DecidedRequest, Waiter};
use crate::cluster::clock::wall_seconds;
use crate::cluster::ledgers::{Owner, Stored};

/// How old a view may be that a creation is denied by.
const OLDEST_VIEW: Duration = Duration::from_mins(5);

/// How many steps are tried for work that no request waits for.
const UNHURRIED_STEPS: u32 = 5;

/// Work on one pool.
pub(super) struct Round<'a> {
    context: &'a GateContext,
    pool: &'a str,
    waiters: Vec<Waiter>,
    /// UIDs whose reservations must be cancelled.
    releases: Vec<Uid>,
    read: Reads<'a>,
}

/// The ledger to decide on.
struct Base {
    stored: Stored,
    /// The same without the reservations that must be cancelled, if it has any of them.
    released: Option<Ledger>,
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
const LIMIT: Needs = Needs {
    limit: true,
    ..NOTHING
};

impl Base {
    fn ledger(&self) -> &Ledger {
        self.released.as_ref().unwrap_or(&self.stored.ledger)
    }
}

impl<'a> Round<'a> {
    pub(super) fn new(
        context: &'a GateContext,
        pool: &'a str,
        waiters: Vec<Waiter>,
        releases: Vec<Uid>,
    ) -> Self {
        Self {
            context,
            pool,
            waiters,
            releases,
            read: Reads::new(context, pool),
        }
    }

    /// Works until all creations are answered and all reservations cancelled that must be. With neither to do, it sweeps.
    pub(super) async fn run(mut self) {
        let is_sweep = self.waiters.is_empty() && self.releases.is_empty();
        let mut needs = self.first_needs(is_sweep);
        let mut pause = FIRST_PAUSE;
        let mut unhurried = 0;
        loop {
            match self.step(needs).await {
                Ok(None) => return,
                Ok(Some(more)) => needs = more,
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

    /// Reads what is needed, and decides if that is enough. Returns what the next step needs, if there is one.
    async fn step(&mut self, needs: Needs) -> Result<Option<Needs>, CallError> {
        self.read.read(needs, &self.waiters).await?;
        let Some(Observed { value, read }) = self.read.pool.clone() else {
            return Ok(Some(LIMIT));
        };
        let Some(pool) = value else {
            if read.is_none() && !self.waiters.is_empty() {
                return Ok(Some(LIMIT));
            }
            self.admit_all();
            return Ok(None);
        };
        let base = self.base();
        let limit = Observed {
            value: pool.limit,
            read,
        };
        match self.decide(limit, base.as_ref()) {
            Step::Read(needs) if needs.claims && self.read.claims_late => Err(CallError::Failure {
                error: GateError::ListLate,
                is_final: true,
            }),
            Step::Read(needs) => Ok(Some(needs)),
            Step::Decided(decision) => self.carry_out(&pool, base, decision).await,
        }
    }

    /// Stores what must be stored first, answers, and stores the rest. Returns what the next step needs, if there is one.
    async fn carry_out(
        &mut self,
        pool: &LimitedPool,
        base: Option<Base>,
        decision: Decision,
    ) -> Result<Option<Needs>, CallError> {
        let Decision { write, answers } = decision;
        let over = base.as_ref().map(|base| base.stored.version);
        let expired = match (&base, &write) {
            (Some(base), Write::Required(ledger) | Write::Useful(ledger)) => {
                self.expired(base.ledger(), ledger)
            }
            _ => 0,
        };
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
        self.context.shared.metrics.expired(self.pool, expired);
        // Reservations whose answers could not be sent: the next step is based on what was stored just now.
        self.read.ledger = None;
        Ok((!self.releases.is_empty()).then_some(NOTHING))
    }

    /// Stores a ledger. Then counts which reservations were cancelled and how many creations were denied.
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
        let metrics = &self.context.shared.metrics;
        let written = self.read.way().store.write(owner, ledger, over);
        match in_time(write_limit(&self.waiters), written).await {
            Ok(_) => {
                metrics.writes.inc("stored");
                metrics.released(take(&mut self.releases).len());
                self.context.set_unrecorded(self.pool, 0);
                Ok(())
            }
            Err(CallError::Conflict) => {
                metrics.writes.inc("conflict");
                Err(CallError::Conflict)
            }
            Err(failure) => {
                metrics.writes.inc("failed");
                // They may be cancelled already; another try could cancel reservations of other calls.
                self.releases.clear();
                Err(failure)
            }
        }
    }

    /// The same, if no request waits for it: if another replica was faster, that one has written what matters.
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

    /// How many reservations of a ledger are missing in the next one although their claims were never seen.
    fn expired(&self, before: &Ledger, after: &Ledger) -> usize {
        let mut claims = self.context.claims.borrow_mut();
        let Some((view, _)) = claims.current(self.pool) else {
            return 0;
        };
        let gone = before.reservations().filter(|uid| !after.has_reservation(uid));
        let unseen = gone.filter(|uid| view.get(uid).is_none() && !view.has_departed(uid));
        unseen.count()
    }

    fn answer(&mut self, pool: &LimitedPool, answers: &[RequestVerdict], is_recorded: bool) {
        let mut denied = 0;
        for (waiter, answer) in take(&mut self.waiters).into_iter().zip(answers) {
            if matches!(answer, RequestVerdict::Deny(_)) && !waiter.dry_run {
                denied += 1;
            }
            if matches!(answer, RequestVerdict::Deny(Denial::Full(full)) if full.stale) {
                self.context.shared.metrics.stale();
            }
            let verdict = DecidedRequest {
                answer: *answer,
                mode: Some(pool.limit.mode),
            };
            self.releases.extend(waiter.answer(Ok(verdict)));
        }
        if !is_recorded && denied > 0 {
            let before = self.context.unrecorded(self.pool);
            self.context.set_unrecorded(self.pool, before + denied);
        }
    }

    /// There is no limit.
    fn admit_all(&mut self) {
        for waiter in take(&mut self.waiters) {
            let verdict = DecidedRequest {
                answer: RequestVerdict::Allow,
                mode: None,
            };
            waiter.answer(Ok(verdict));
        }
    }

    /// Answers the creations that would be too late after the next pause: they cannot be decided, and why. Answers all of them
    /// if trying again does not help.
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
        tracing::warn!(pool = self.pool, %error, creations, "creations of NodeClaims could not be decided");
        for waiter in undecided {
            waiter.answer(Err(error.clone()));
        }
    }

    /// What must be read before anything else.
    fn first_needs(&mut self, is_sweep: bool) -> Needs {
        let pool = self.context.shared.view.pool(self.pool);
        self.read.pool = pool.map(|pool| Observed::kept(self.context.limited(self.pool, &pool)));
        if !is_sweep {
            return self.needs_by_what_is_known();
        }
        let now = self.context.shared.clock.now();
        Needs {
            ledger: false,
            claims: self.context.has_overdue_reservation(self.pool, now),
            limit: self.read.pool.is_none(),
        }
    }

    /// What a decision needs beyond what the watches know, to be read all at once. The limit is always read: a silent watch may
    /// have an old one, or none.
    fn needs_by_what_is_known(&self) -> Needs {
        let known = match &self.read.pool {
            Some(Observed {
                value: Some(pool),
                read,
            }) => {
                let limit = Observed {
                    value: pool.limit,
                    read: *read,
                };
                self.decide(limit, self.base().as_ref())
            }
            _ => Step::Read(LIMIT),
        };
        match known {
            Step::Read(needs) => Needs { limit: true, ..needs },
            Step::Decided(_) => LIMIT,
        }
    }

    fn base(&self) -> Option<Base> {
        let stored = match &self.read.ledger {
            Some((stored, _)) => stored.clone(),
            None => self.context.ledgers.borrow().get(self.pool),
        }?;
        Some(Base {
            released: stored.ledger.release(&self.releases),
            stored,
        })
    }

    fn decide(&self, limit: Observed<LimitInForce>, base: Option<&Base>) -> Step {
        let context = self.context;
        let mut claims = context.claims.borrow_mut();
        let oldest = context.shared.clock.now().minus(OLDEST_VIEW);
        let claims_late = self.read.claims_late && claims.is_known_since(self.pool, oldest);
        let is_suspect = claims.is_suspect(self.pool);
        if is_suspect && (!claims_late || self.waiters.is_empty()) {
            return Step::Read(CLAIMS);
        }
        let Some((view, listed)) = claims.current(self.pool) else {
            return Step::Read(CLAIMS);
        };
        let ledgers = context.ledgers.borrow();
        let none = FirstSeen::default();
        let facts = Facts {
            ledger: Observed {
                value: base.map(Base::ledger),
                read: self.read.ledger.as_ref().map(|(_, span)| *span),
            },
            claims: Observed {
                value: view,
                read: listed,
            },
            claims_late,
            limit,
            first_seen: ledgers.first_seen(self.pool).unwrap_or(&none),
            clock: wall_seconds(),
            untold: context.unrecorded(self.pool),
        };
        let requests: Vec<_> = self.waiters.iter().map(Waiter::request).collect();
        let step = decide(&facts, &requests);
        // Too high a count denies one claim too many, too low a count admits one.
        let admits = |decision: &Decision| {
            let mut answers = decision.answers.iter();
            answers.any(|answer| !matches!(answer, RequestVerdict::Deny(_)))
        };
        match step {
            Step::Decided(decision) if is_suspect && admits(&decision) => Step::Read(CLAIMS),
            step => step,
        }
    }
}
