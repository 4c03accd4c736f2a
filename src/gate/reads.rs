//! What a round has read from the API server itself, and how it reads it in time.

use std::time::{Duration, Instant};

use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::nodelimit::ledger::{Needs, Observed, ReadSpan};
use tokio::time::{sleep, timeout};

use super::context::{GateContext, LimitedPool};
use super::error::{CallError, wanted};
use super::waiter::Waiter;
use crate::cluster::ledgers::Stored;
use crate::cluster::pools;

/// The bounds of the time that the API server gets for one call.
const SHORTEST_CALL: Duration = Duration::from_millis(500);
const LONGEST_CALL: Duration = Duration::from_secs(10);

/// A write gets half of it, so that one which goes astray can be repeated, but no less than a slow API server needs.
const SHORTEST_WRITE: Duration = Duration::from_millis(1_200);

/// The pauses after calls that fail: each is twice as long as the one before.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long before its deadline a creation is answered with what is known, or with why it cannot be decided.
pub(super) const MARGIN: Duration = Duration::from_millis(100);

/// What was found out in this round.
pub(super) struct Reads<'a> {
    context: &'a GateContext,
    /// The pool's name.
    name: &'a str,
    /// The pool, for a sweep at first as the watch has seen it; none inside where it has no limit.
    pub(super) pool: Option<Observed<Option<LimitedPool>>>,
    pub(super) ledger: Option<(Option<Stored>, ReadSpan)>,
    /// Whether the claims were asked for and did not come in time.
    pub(super) claims_late: bool,
}

impl<'a> Reads<'a> {
    pub(super) fn new(context: &'a GateContext, name: &'a str) -> Self {
        Self {
            context,
            name,
            pool: None,
            ledger: None,
            claims_late: false,
        }
    }

    /// Reads side by side what is needed, before the first of these creations must be answered.
    pub(super) async fn read(&mut self, needs: Needs, waiters: &[Waiter]) -> Result<(), CallError> {
        if !needs.any() {
            return Ok(());
        }
        let (context, name, limit) = (self.context, self.name, read_limit(waiters));
        for (is_read, of) in [(needs.ledger, "ledger"), (needs.limit, "limit")] {
            if is_read {
                context.metrics.read(of);
            }
        }
        let begun = context.clock.now();
        let (ledger, pool, claims_late) = tokio::try_join!(
            wanted(needs.ledger, limit, || context.store.read(name)),
            wanted(needs.limit, limit, || context.pools.get_opt(name)),
            self.claims_are_late(needs.claims, waiters),
        )?;
        let span = ReadSpan {
            begun,
            done: context.clock.now(),
        };
        self.claims_late |= claims_late;
        if let Some(pool) = pool {
            let kept = pool.and_then(pools::kept);
            self.pool = Some(Observed {
                value: kept.and_then(|(_, pool)| context.limited(name, &pool)),
                read: Some(span),
            });
        }
        if let Some(ledger) = ledger {
            self.ledger = Some((ledger, span));
        }
        Ok(())
    }

    /// Waits for a list of the claims, where it is wanted, and as long as the first creation can wait. Whether it is late;
    /// one that fails is made again until then.
    async fn claims_are_late(&self, is_wanted: bool, waiters: &[Waiter]) -> Result<bool, CallError> {
        if !is_wanted {
            return Ok(false);
        }
        let context = self.context;
        let pool = self.pool.as_ref().and_then(|pool| pool.value.as_ref());
        let whole = pool.is_none_or(|pool| pool.limit.mode == NodeLimitMode::Soft);
        let listed = async |moment| {
            let mut pause = FIRST_PAUSE;
            while let Err(error) = context.lists.as_of(self.name, moment, whole).await {
                if matches!(error, CallError::Failure { is_final: true, .. }) {
                    return Err(error);
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Ok(())
        };
        let newest = waiters.iter().map(|waiter| waiter.arrived).max();
        let ledger_read = self.ledger.as_ref().map(|(_, span)| span.done);
        let Some(newest) = newest else {
            context.lists.as_of(self.name, context.clock.now(), whole).await?;
            return Ok(false);
        };
        let first = waiters.iter().map(|waiter| waiter.deadline).min();
        let left = first.map_or(Duration::ZERO, |first| {
            first.saturating_duration_since(Instant::now() + MARGIN)
        });
        match timeout(left, listed(ledger_read.map_or(newest, |read| newest.max(read)))).await {
            Ok(listed) => listed.map(|()| false),
            Err(_) => Ok(true),
        }
    }
}

/// How long the API server may take over one read: until the last creation must be answered.
fn read_limit(waiters: &[Waiter]) -> Duration {
    let last = waiters.iter().map(|waiter| waiter.deadline).max();
    last.map_or(LONGEST_CALL, |last| {
        last.saturating_duration_since(Instant::now() + MARGIN)
            .clamp(SHORTEST_CALL, LONGEST_CALL)
    })
}

/// How long it may take over one write.
pub(super) fn write_limit(waiters: &[Waiter]) -> Duration {
    (read_limit(waiters) / 2).max(SHORTEST_WRITE)
}
