//! The write of a decision: a ledger is stored, and what that means is counted.

use std::sync::Arc;
use std::time::Duration;

use poolgate_core::nodelimit::ledger::{Ledger, Uid};

use super::context::GateContext;
use super::error::CallError;
use super::reads::write_limit;
use crate::cluster::Deadline;
use crate::cluster::ledgers::Owner;
use crate::runtime::lifecycle::spawn;

/// A ledger to be stored.
pub struct LedgerWrite {
    pub pool: Box<str>,
    /// The pool's uid.
    pub uid: Box<str>,
    pub ledger: Ledger,
    /// The resourceVersion that it replaces; `None` if it is the pool's first one.
    pub over: Option<u64>,
    /// How many denials it records in addition.
    pub denials: u64,
    /// The reservations that it removes although their claims were never seen.
    pub expired: Vec<Uid>,
    /// How many claims it admits above the limit.
    pub surged: usize,
    /// Whether the ledger before was open, or missing.
    pub closes: bool,
}

impl LedgerWrite {
    fn owner(&self) -> Owner<'_> {
        Owner {
            name: &self.pool,
            uid: &self.uid,
        }
    }

    /// Stores it within `limit`.
    pub async fn store(&self, context: &GateContext, limit: Duration) -> Result<(), CallError> {
        let owner = self.owner();
        let metrics = &context.shared.metrics;
        let by = Deadline::within(limit);
        let written = context.ledgers.write(owner, &self.ledger, self.over, by).await;
        let written = written.map_err(CallError::from);
        match &written {
            Ok(_) => {
                metrics.ledgers.writes.inc("stored");
                metrics.ledgers.expired(&self.pool, self.expired.len());
                context.claims.lock().ended(&self.expired);
                metrics.ledgers.surged(&self.pool, self.surged);
                context.recorded(owner, self.denials);
                if self.closes {
                    self.log_closed(context.shared.reservation_lifetime);
                }
            }
            Err(CallError::Conflict) => metrics.ledgers.writes.inc("conflict"),
            Err(CallError::Failure { .. }) => metrics.ledgers.writes.inc("failed"),
        }
        written.map(|_| ())
    }

    fn log_closed(&self, lifetime: Duration) {
        let (pool, seconds) = (&*self.pool, lifetime.as_secs());
        if self.ledger.limit().is_some() {
            tracing::warn!(
                pool,
                seconds,
                "stored a closed ledger, because the pool has NodeClaims and its limit is new or its ledger was \
                 deleted. /gate/strict denies until this time has passed and all earlier admissions are known"
            );
        } else {
            tracing::info!(
                pool,
                seconds,
                "closed the ledger of a pool that no longer has a limit. If the pool gets a limit again, \
                 /gate/strict denies until this time has passed"
            );
        }
    }

    /// Stores a ledger that no request waits for. If another replica was faster, its write is enough.
    pub async fn store_if_unchanged(&self, context: &GateContext, limit: Duration) -> Result<(), CallError> {
        match self.store(context, limit).await {
            Err(CallError::Conflict) => {
                // The cache holds an older ledger, and the watch does not report the newer one a second time.
                context
                    .ledgers
                    .read(self.owner(), Deadline::within(limit))
                    .await?;
                Ok(())
            }
            other => other,
        }
    }

    /// The same, while the pool's next round runs already: a slow write of a denial must not delay the next decision. One
    /// at a time for each pool; what is not stored now is recorded with the next write.
    pub fn store_meanwhile(self, context: &Arc<GateContext>) {
        let Some(beside) = context.begin_beside(self.owner()) else {
            return;
        };
        let context = Arc::clone(context);
        spawn(async move {
            // A failure is already counted, and no request waits for it.
            let _ = self.store_if_unchanged(&context, write_limit(&[])).await;
            drop(beside);
        });
    }
}
