//! What a round knows, and how it comes by it.

use std::time::{Duration, Instant};

use poolgate_core::nodelimit::ledger::{
    ClaimView, Facts, FirstSeen, Ledger, Needs, Observed, ReadSpan, Step, Uid, decide,
};

use super::calls::{CallError, wanted};
use super::context::{GateContext, LimitedPool};
use super::waiter::Waiter;
use crate::cluster::clock::wall_seconds;
use crate::cluster::ledgers::Stored;
use crate::cluster::pools;

/// How long the API server may take over one call: half of the time that is left, so that a call which goes astray can be
/// repeated, within these bounds.
const SHORTEST_CALL: Duration = Duration::from_millis(500);
const LONGEST_CALL: Duration = Duration::from_secs(10);

/// Work on one pool.
pub(super) struct Round<'a> {
    pub(super) context: &'a GateContext,
    pub(super) pool: &'a str,
    pub(super) waiters: Vec<Waiter>,
    /// UIDs whose reservations are to be taken back.
    pub(super) releases: Vec<Uid>,
    pub(super) read: Read,
}

/// What was found out in this round.
#[derive(Default)]
pub(super) struct Read {
    /// The pool, at first as the watch has told of it; none inside where it has no limit.
    pub(super) pool: Option<Observed<Option<LimitedPool>>>,
    pub(super) ledger: Option<(Option<Stored>, ReadSpan)>,
    pub(super) claims: Option<ReadSpan>,
}

/// The ledger to decide on.
pub(super) struct Base {
    pub(super) stored: Stored,
    /// The same without the reservations that are to be taken back, if it holds any of them.
    pub(super) released: Option<Ledger>,
}

pub(super) const NOTHING: Needs = Needs {
    ledger: false,
    claims: false,
    limit: false,
};
pub(super) const LEDGER: Needs = Needs {
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
            read: Read::default(),
        }
    }

    /// What is to be read before anything else.
    pub(super) fn first_needs(&mut self, is_sweep: bool) -> Needs {
        let pool = self.context.view.pool(self.pool);
        self.read.pool = pool.map(|pool| Observed::kept(self.context.limited(&pool)));
        let now = self.context.clock.now();
        Needs {
            ledger: false,
            claims: is_sweep && self.context.has_overdue_reservation(self.pool, now),
            // A pool that nobody has told of is looked for, not waved through.
            limit: self.read.pool.is_none(),
        }
    }

    /// Reads side by side what is needed.
    pub(super) async fn read(&mut self, needs: Needs) -> Result<(), CallError> {
        if !needs.any() {
            return Ok(());
        }
        let (context, name, limit) = (self.context, self.pool, self.call_limit());
        for (is_read, of) in [
            (needs.ledger, "ledger"),
            (needs.claims, "claims"),
            (needs.limit, "limit"),
        ] {
            if is_read {
                context.metrics.read(of);
            }
        }
        let begun = context.clock.now();
        let (ledger, claims, pool) = tokio::join!(
            wanted(needs.ledger, limit, context.store.read(name)),
            wanted(needs.claims, limit, context.list.of_pool(name)),
            wanted(needs.limit, limit, context.pools.get_opt(name)),
        );
        let span = ReadSpan {
            begun,
            done: context.clock.now(),
        };
        if let Some(pool) = pool? {
            let kept = pool.and_then(pools::kept);
            self.read.pool = Some(Observed {
                value: kept.and_then(|(_, pool)| context.limited(&pool)),
                read: Some(span),
            });
        }
        if let Some(list) = claims? {
            context.claims.borrow_mut().relist(name, list);
            self.read.claims = Some(span);
        }
        if let Some(ledger) = ledger? {
            self.read.ledger = Some((ledger, span));
        }
        Ok(())
    }

    pub(super) fn base(&self) -> Option<Base> {
        let stored = match &self.read.ledger {
            Some((stored, _)) => stored.clone(),
            None => self.context.ledgers.borrow().get(self.pool),
        }?;
        Some(Base {
            released: stored.ledger.release(&self.releases),
            stored,
        })
    }

    pub(super) fn decide(&self, pool: &Observed<&LimitedPool>, base: Option<&Base>) -> Step {
        let mut claims = self.context.claims.borrow_mut();
        let Some(view) = claims.current(self.pool, self.read.claims.is_some()) else {
            return Step::Read(CLAIMS);
        };
        let ledgers = self.context.ledgers.borrow();
        let none = FirstSeen::default();
        let facts = Facts {
            ledger: Observed {
                value: base.map(Base::ledger),
                read: self.read.ledger.as_ref().map(|(_, span)| *span),
            },
            claims: Observed::<&ClaimView> {
                value: view,
                read: self.read.claims,
            },
            limit: Observed {
                value: pool.value.limit,
                read: pool.read,
            },
            first_seen: ledgers.first_seen(self.pool).unwrap_or(&none),
            clock: wall_seconds(),
            untold: self.context.untold(self.pool),
        };
        let requests: Vec<_> = self.waiters.iter().map(Waiter::request).collect();
        decide(&facts, &requests)
    }

    /// How long the API server may take over one call.
    pub(super) fn call_limit(&self) -> Duration {
        let last = self.waiters.iter().map(|waiter| waiter.deadline).max();
        last.map_or(LONGEST_CALL, |last| {
            (last.saturating_duration_since(Instant::now()) / 2).clamp(SHORTEST_CALL, LONGEST_CALL)
        })
    }
}
