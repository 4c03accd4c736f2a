//! One round: all creations that wait for one pool are decided together and stored with one write.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use poolgate_core::nodelimit::ledger::{
    ClaimView, Decision, Denial, Facts, FirstSeen, Ledger, LimitInForce, Needs, Observed, RequestVerdict,
    Step, Uid, Write, decide,
};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

use super::context::{GateContext, PoolLimit};
use super::error::{CallError, GateError, OnError};
use super::ledger_write::LedgerWrite;
use super::reads::{FIRST_PAUSE, LONGEST_PAUSE, Reads, write_limit};
use super::waiter::{Arrivals, MARGIN, Queue, Undecided, Waiter};
use crate::cluster::ledgers::StoredLedger;

/// The maximum age of a view that a denial rests on.
const OLDEST_VIEW: Duration = Duration::from_mins(5);

/// How many steps are tried for work that no request waits for.
const UNHURRIED_STEPS: u32 = 5;

/// Work on one pool.
pub struct Round<'a> {
    context: &'a Arc<GateContext>,
    pool: &'a str,
    waiters: Vec<Waiter>,
    /// Creations that were admitted without a decision. They are reserved with the next one.
    undecided: Vec<Undecided>,
    /// UIDs whose reservations must be cancelled.
    releases: Vec<Uid>,
    arrivals: &'a Arrivals,
    read: Reads<'a>,
}

/// The ledger to decide on.
struct LedgerToDecideOn {
    stored: StoredLedger,
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

impl LedgerToDecideOn {
    fn ledger(&self) -> &Ledger {
        self.released.as_ref().unwrap_or(&self.stored.ledger)
    }
}

impl<'a> Round<'a> {
    pub fn new(
        context: &'a Arc<GateContext>,
        pool: &'a str,
        Queue { waiters, releases }: Queue,
        arrivals: &'a Arrivals,
    ) -> Self {
        Self {
            context,
            pool,
            waiters,
            undecided: Vec::new(),
            releases,
            arrivals,
            read: Reads::new(context, pool),
        }
    }

    /// Works until all creations are answered and all reservations cancelled that must be. With neither to do, it sweeps.
    pub async fn run(mut self) {
        let is_sweep = self.waiters.is_empty() && self.releases.is_empty();
        let mut needs = self.first_needs(is_sweep);
        let mut pause = FIRST_PAUSE;
        let mut unhurried = 0;
        loop {
            match self.step(needs).await {
                Ok(None) => return,
                Ok(Some(more)) => {
                    needs = more;
                    // The needed state may be there already. Watches and other rounds get their turn between two
                    // steps.
                    yield_now().await;
                }
                Err(CallError::Conflict) => needs = LEDGER,
                Err(CallError::Failure { error, is_final }) => {
                    self.give_up(&error, pause, is_final);
                    if !self.waiters.is_empty() || !self.undecided.is_empty() {
                        sleep(pause).await;
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    needs = LEDGER;
                }
            }
            self.drop_gone();
            if self.waiters.is_empty() {
                unhurried += 1;
                let is_idle = self.releases.is_empty() && self.undecided.is_empty() && !is_sweep;
                if is_idle || unhurried == UNHURRIED_STEPS {
                    return;
                }
            }
        }
    }

    /// Reads what is needed, and decides. Returns what the next step needs, if there is one.
    async fn step(&mut self, needs: Needs) -> Result<Option<Needs>, CallError> {
        self.read.read(needs, &self.waiters).await?;
        if needs.claims {
            self.wait_for_claims().await?;
        }
        self.decide_by_what_is_read().await
    }

    /// Decides if that is enough. Returns what the next step needs, if there is one.
    async fn decide_by_what_is_read(&mut self) -> Result<Option<Needs>, CallError> {
        let Some(Observed { value: pool, read }) = self.read.pool.clone() else {
            return Ok(Some(LIMIT));
        };
        let base = self.base();
        // A deleted ledger is recreated only for the pool that exists now.
        if read.is_none() && (base.is_none() || !self.waiters.is_empty()) {
            return Ok(Some(LIMIT));
        }
        if let Some(why) = &pool.unknown {
            self.deny_where_strict(why);
        }
        let limit = Observed {
            value: pool.limit,
            read,
        };
        match self.decide(limit, base.as_ref(), &self.waiters) {
            Step::Read(needs) if needs.claims && self.read.claims_late => Err(CallError::Failure {
                error: GateError::ListLate,
                is_final: true,
            }),
            Step::Read(needs) => self.decide_first(&pool, base, limit, needs).await,
            Step::Decided(decision) => self.carry_out(&pool, base, decision).await.map(|()| None),
        }
    }

    /// Stores what must be stored first, answers, and stores the rest.
    async fn carry_out(
        &mut self,
        pool: &PoolLimit,
        base: Option<LedgerToDecideOn>,
        decision: Decision,
    ) -> Result<(), CallError> {
        let Decision { write, answers } = decision;
        let answers: Vec<_> = answers.into_iter().skip(self.undecided.len()).collect();
        match write {
            Write::Required(ledger) => {
                let write = self.write(pool, base.as_ref(), ledger);
                self.store(&write).await?;
                self.undecided.clear();
                self.answer(pool, &answers, true);
            }
            Write::Useful(ledger) => {
                let write = self.write(pool, base.as_ref(), ledger);
                self.undecided.clear();
                self.answer(pool, &answers, false);
                if answers.is_empty() || !self.releases.is_empty() {
                    self.store_if_unchanged(&write).await?;
                } else {
                    write.store_meanwhile(self.context);
                }
            }
            Write::Nothing => {
                self.undecided.clear();
                self.answer(pool, &answers, false);
                if let Some(ledger) = base.as_ref().and_then(|base| base.released.clone()) {
                    let write = self.write(pool, base.as_ref(), ledger);
                    self.store_if_unchanged(&write).await?;
                }
            }
        }
        Ok(())
    }

    /// The write of the ledger that follows this one, with what it adds to that, and removes from it.
    fn write(&self, pool: &PoolLimit, base: Option<&LedgerToDecideOn>, ledger: Ledger) -> LedgerWrite {
        let total = |ledger: &Ledger| ledger.denied().map_or(0, |denied| denied.total);
        let before = base.map(LedgerToDecideOn::ledger);
        LedgerWrite {
            pool: self.pool.into(),
            uid: pool.uid.clone().unwrap_or_default(),
            over: base.map(|base| base.stored.version),
            denials: total(&ledger).saturating_sub(before.map_or(0, total)),
            expired: before.map_or_else(Vec::new, |before| self.expired(before, &ledger)),
            surged: before.map_or(0, |before| surged(before, &ledger)),
            closes: ledger.is_closed() && before.is_none_or(|before| !before.is_closed()),
            ledger,
        }
    }

    /// Stores a ledger without the reservations to be cancelled.
    async fn store(&mut self, write: &LedgerWrite) -> Result<(), CallError> {
        let stored = write.store(self.context, write_limit(&self.waiters)).await;
        match &stored {
            Ok(()) => self
                .context
                .shared
                .metrics
                .released(take(&mut self.releases).len()),
            Err(CallError::Conflict) => {}
            // They may be cancelled already; another try could cancel reservations of other calls.
            Err(CallError::Failure { .. }) => self.releases.clear(),
        }
        stored
    }

    /// The same, if no request waits for it.
    async fn store_if_unchanged(&mut self, write: &LedgerWrite) -> Result<(), CallError> {
        if self.releases.is_empty() {
            let limit = write_limit(&self.waiters);
            return write.store_if_unchanged(self.context, limit).await;
        }
        self.store(write).await
    }

    /// The reservations of a ledger that are missing in the next one although their claims were never seen.
    fn expired(&self, before: &Ledger, after: &Ledger) -> Vec<Uid> {
        let mut claims = self.context.claims.lock();
        let Some((view, _)) = claims.current(self.pool) else {
            return Vec::new();
        };
        let gone = before.reservations().filter(|uid| !after.has_reservation(uid));
        let unseen = gone.filter(|uid| view.get(uid).is_none() && !view.has_departed(uid));
        unseen.cloned().collect()
    }

    fn answer(&mut self, pool: &PoolLimit, answers: &[RequestVerdict], is_recorded: bool) {
        let mut denied = 0;
        let metrics = &self.context.shared.metrics;
        for (waiter, answer) in take(&mut self.waiters).into_iter().zip(answers) {
            if *answer == RequestVerdict::Reserved && !is_recorded {
                let claim = waiter.uid.as_str();
                metrics
                    .invariants
                    .violated("allowed_without_reservation", self.pool, claim);
            }
            if matches!(answer, RequestVerdict::Deny(_)) && !waiter.dry_run {
                denied += 1;
            }
            if matches!(answer, RequestVerdict::Deny(Denial::Full(full)) if full.stale) {
                metrics.stale();
            }
            waiter.decide(*answer, pool.limit.map(|limit| limit.mode));
        }
        if !is_recorded
            && denied > 0
            && let Some(owner) = self.read.owner()
        {
            self.context.answered(owner, denied);
        }
    }

    /// The limit is not known, and why: `/gate/strict` denies, `/gate` decides by what is known.
    fn deny_where_strict(&mut self, why: &str) {
        let (denied, waiting): (Vec<Waiter>, Vec<Waiter>) = take(&mut self.waiters)
            .into_iter()
            .partition(|waiter| waiter.on_error == OnError::Deny && !waiter.observed);
        self.waiters = waiting;
        for waiter in denied {
            waiter.fail(GateError::Limit(why.into()));
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
        tracing::warn!(pool = self.pool, %error, creations, "could not decide on NodeClaim creations");
        for waiter in undecided {
            let undecided = waiter.fail(error.clone());
            self.reserve_undecided(undecided);
        }
    }

    /// The reads that come before all others.
    fn first_needs(&mut self, is_sweep: bool) -> Needs {
        let pool = self.context.shared.view.pool(self.pool);
        self.read.pool = pool.map(|pool| Observed::kept(PoolLimit::of(&pool)));
        if !is_sweep {
            return self.needs_by_what_is_known();
        }
        let now = self.context.shared.clock.now();
        Needs {
            ledger: false,
            claims: self
                .read
                .owner()
                .is_some_and(|owner| self.context.has_overdue_reservation(owner, now)),
            limit: self.read.pool.is_none(),
        }
    }

    /// The reads that a decision needs beyond the watches, to be made simultaneously. The limit is always read,
    /// because a silent watch may have an old one, or none.
    fn needs_by_what_is_known(&self) -> Needs {
        let known = match &self.read.pool {
            Some(Observed { value, read }) => {
                let limit = Observed {
                    value: value.limit,
                    read: *read,
                };
                self.decide(limit, self.base().as_ref(), &self.waiters)
            }
            None => Step::Read(LIMIT),
        };
        match known {
            Step::Read(needs) => Needs { limit: true, ..needs },
            Step::Decided(_) => LIMIT,
        }
    }

    fn base(&self) -> Option<LedgerToDecideOn> {
        let stored = match &self.read.ledger {
            Some((stored, _)) => stored.clone(),
            None => self.context.ledgers.known().get(self.read.owner()?),
        }?;
        Some(LedgerToDecideOn {
            released: stored.ledger.release(&self.releases),
            stored,
        })
    }

    fn decide(
        &self,
        limit: Observed<Option<LimitInForce>>,
        base: Option<&LedgerToDecideOn>,
        waiters: &[Waiter],
    ) -> Step {
        let context = self.context;
        let mut claims = context.claims.lock();
        let oldest = context.shared.clock.now().minus(OLDEST_VIEW);
        let claims_late = self.read.claims_late && claims.is_known_since(self.pool, oldest);
        // Without a limit nothing is counted.
        let is_counted = limit.value.is_some();
        let is_suspect = is_counted && claims.is_suspect(self.pool);
        if is_suspect && (!claims_late || waiters.is_empty()) {
            return Step::Read(CLAIMS);
        }
        let uncounted = ClaimView::default();
        let (view, listed) = if is_counted {
            let Some(known) = claims.current(self.pool) else {
                return Step::Read(CLAIMS);
            };
            known
        } else {
            (&uncounted, None)
        };
        // A list without disruptions proves nothing about them.
        let depends = limit.value.is_some_and(|limit| limit.depends_on_disruption());
        let listed = listed.filter(|listed| listed.whole || !depends);
        let owner = self.read.owner();
        // A pool that does not exist has no ledger.
        let ledger_read = match owner {
            Some(_) => self.read.ledger.as_ref().map(|(_, span)| *span),
            None => limit.read,
        };
        let ledgers = context.ledgers.known();
        let none = FirstSeen::new(context.shared.reservation_lifetime);
        let facts = Facts {
            ledger: Observed {
                value: base.map(LedgerToDecideOn::ledger),
                read: ledger_read,
            },
            version: base.map_or(0, |base| base.stored.version),
            claims: Observed {
                value: view,
                read: listed.map(|listed| listed.span),
            },
            claims_late,
            limit,
            first_seen: owner.and_then(|owner| ledgers.first_seen(owner)).unwrap_or(&none),
            clock: context.shared.clock.wall_seconds(),
            untold: owner.map_or(0, |owner| context.unrecorded(owner)),
        };
        let undecided = self.undecided.iter().map(Undecided::request);
        let requests: Vec<_> = undecided.chain(waiters.iter().map(Waiter::request)).collect();
        let step = decide(&facts, &requests);
        // Too high a count denies one claim too many, too low a count admits one.
        let admits = |decision: &Decision| {
            let mut answers = decision.answers.iter().skip(self.undecided.len());
            answers.any(|answer| !matches!(answer, RequestVerdict::Deny(_)))
        };
        match step {
            Step::Decided(decision) if is_suspect && admits(&decision) => Step::Read(CLAIMS),
            step => step,
        }
    }
}

/// How many claims the next ledger admits above the limit that this one does not.
fn surged(before: &Ledger, after: &Ledger) -> usize {
    let new = after.surged().iter().filter(|uid| !before.surged().contains(uid));
    new.count()
}

mod waiting;

#[cfg(test)]
mod tests;
