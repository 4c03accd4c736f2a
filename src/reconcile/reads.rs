//! The reads right before a deletion, and their maximum age.
//!
//! The list of the pool's claims is read first, and everything else after it, side by side: in a large pool the list takes
//! longest, and the victim must not be older because of that.

use std::sync::Arc;
use std::time::Duration;

use poolgate_core::nodelimit::plan::Pool;
use tokio::time::Instant;

use super::apply::WriteError;
use super::index::{Applied, Snapshot};
use super::pool::PoolReconciler;

/// How old a read may be when a deletion is sent that depends on it.
const FRESH: Duration = Duration::from_secs(2);

/// A list of claims that takes longer may be older by the time that it takes: otherwise a very large pool would never lose
/// a node.
const LONG_LIST: Duration = Duration::from_secs(1);

/// How often everything is read for one deletion, at most.
pub const MOST_READS: usize = 3;

/// The state of the claim to delete, and the times of the reads.
pub struct Read {
    pub claim: Applied,
    /// From when its age counts.
    since: Instant,
}

impl Read {
    /// Whether a deletion may still rest on it.
    pub fn is_fresh(&self) -> bool {
        self.since.elapsed() <= FRESH
    }
}

impl PoolReconciler {
    /// Reads the current pool, ledger and claims, and the node and pods of one claim. `None` if it is too early to
    /// decide: a watch lags, and its next change leads to a new plan.
    pub async fn read_again(
        &self,
        snapshot: &mut Snapshot,
        (uid, claim): (&str, &str),
    ) -> Result<Option<Read>, WriteError> {
        let name = Arc::clone(&snapshot.pool.name);
        let node = snapshot.node_of(uid);
        let begun = Instant::now();
        let listed = self.writer.list_claims(&name).await?;
        let since = if begun.elapsed() > LONG_LIST {
            Instant::now()
        } else {
            begun
        };
        let (pool, ledger, read) = tokio::try_join!(
            self.writer.read_pool(&name),
            self.writer.call(|by| self.ledgers.state(snapshot.owner(), by)),
            self.writer.read_claim(claim, node.as_deref()),
        )?;
        let (Some(pool), Some(read)) = (pool, read) else {
            return Ok(None);
        };
        let policy = self.seen.look(|index| Arc::clone(index.policy()));
        let pool = Pool::of(&pool.kept(), &policy);
        if pool.uid != snapshot.pool.uid || !snapshot.agree_with(&listed) {
            return Ok(None);
        }
        snapshot.pool = Arc::new(pool);
        snapshot.ledger = ledger;
        let applied = snapshot.apply(uid, read);
        Ok(applied.map(|claim| Read { claim, since }))
    }
}
