//! Deletes claims above a limit. The ledger lists them before any is deleted. Right before each deletion, pool, ledger,
//! claims and the victim with its node and pods are read again, so that a watch that lags, or another replica that decided
//! otherwise, does not lead to a wrong deletion. See [`super::reads`].

use std::collections::BTreeSet;
use std::sync::Arc;

use poolgate_core::nodelimit::plan::{Memory, ObjectRef, plan};
use tokio::time::Instant;

use super::apply::WriteError;
use super::index::Snapshot;
use super::pool::PoolReconciler;
use super::reads::MOST_READS;

/// After this many refusals the other pools come first, because a refusal may take as long as a webhook.
const MOST_REFUSALS: usize = 10;

/// The victims that the API server refused to delete.
#[derive(Debug, Default)]
struct Undeleted {
    uids: BTreeSet<Arc<str>>,
    /// Why the first of them was refused.
    first: Option<WriteError>,
}

impl PoolReconciler {
    /// Stores a ledger in place of a missing one: a closed one, if there are claims. The gate opens it when no claim can
    /// appear any more that it lacks.
    pub async fn store_ledger(&self, snapshot: &Snapshot) -> Result<(), WriteError> {
        let pool = &snapshot.pool;
        if self.writer.observe || !snapshot.exists {
            return Ok(());
        }
        let stored = self
            .writer
            .call(|by| self.ledgers.state(snapshot.owner(), by))
            .await?;
        if stored.identity.is_some() {
            // The watch lags. Its next change leads to a new plan.
            return Ok(());
        }
        let has_claims = !self.writer.list_claims(&pool.name).await?.is_empty();
        let written = |by| self.ledgers.store_missing(snapshot.owner(), has_claims, by);
        if self.writer.write_unless_stale("ledger", written).await?.is_some() {
            tracing::warn!(
                nodepool = &*pool.name,
                "stored a ledger in place of a missing one, nothing is terminated until the gate opens it"
            );
        }
        Ok(())
    }

    /// Writes the victims into the pool's ledger.
    pub async fn list_victims(&self, snapshot: &Snapshot, victims: &[Arc<str>]) -> Result<(), WriteError> {
        let pool = &snapshot.pool;
        if self.writer.observe {
            tracing::info!(
                nodepool = &*pool.name,
                ?victims,
                "would list victims for termination"
            );
            return Ok(());
        }
        if !snapshot.exists {
            // The ledger is deleted with its pool.
            return Ok(());
        }
        let known = &snapshot.ledger;
        let written = |by| self.ledgers.set_victims(snapshot.owner(), victims, known, by);
        // If another replica was faster, the watch shows soon what it wrote, and then a new plan is made.
        let written = self.writer.write_unless_stale("victims", written);
        if written.await?.is_some() {
            tracing::info!(nodepool = &*pool.name, ?victims, "listed victims for termination");
        }
        Ok(())
    }

    /// Deletes victims one by one. One that the API server refuses to delete does not save the others; the first error is
    /// returned.
    pub async fn terminate_victims(
        &self,
        mut snapshot: Snapshot,
        mut memory: Memory,
    ) -> Result<(), WriteError> {
        let mut undeleted = Undeleted::default();
        while undeleted.uids.len() < MOST_REFUSALS
            && self.terminate(&mut snapshot, &mut memory, &mut undeleted).await?
        {}
        undeleted.first.map_or(Ok(()), Err)
    }

    /// Deletes the next victim, if there still is one: the state is read again and a new plan must still want it.
    /// Returns whether there may be another one.
    async fn terminate(
        &self,
        snapshot: &mut Snapshot,
        memory: &mut Memory,
        undeleted: &mut Undeleted,
    ) -> Result<bool, WriteError> {
        for _ in 0..MOST_READS {
            let wanted = self.wanted(snapshot, memory, undeleted);
            let Some(claim) = wanted.into_iter().next() else {
                return Ok(false);
            };
            let Some(read) = self.read_again(snapshot, (&claim.uid, &claim.name)).await? else {
                return Ok(false);
            };
            if !self.wanted(snapshot, memory, undeleted).contains(&claim) {
                // The next look chooses another one, if there is one.
                continue;
            }
            if !read.is_fresh() {
                self.writer.metrics.outdated();
                continue;
            }
            // Counted before it is known to have succeeded: better one too few in this minute.
            let counted_at = Instant::now();
            if !self.pace.lock().take(counted_at) {
                return Ok(false);
            }
            let pool = &snapshot.pool.name;
            let deleted = self
                .writer
                .delete(pool, &claim, &read.claim.version, &snapshot.ledger);
            match deleted.await {
                Err(error) if error.is_refusal() => {
                    tracing::warn!(nodeclaim = &*claim.name, %error, "could not delete NodeClaim");
                    self.pace.lock().give_back(counted_at);
                    undeleted.uids.insert(claim.uid);
                    undeleted.first.get_or_insert(error);
                    return Ok(true);
                }
                Err(error) => return Err(error),
                Ok(true) => {
                    self.writer.metrics.terminated(pool);
                    tracing::info!(
                        nodepool = &**pool,
                        nodeclaim = &*claim.name,
                        "deleted NodeClaim above the node limit"
                    );
                    return Ok(true);
                }
                Ok(false) if self.writer.observe => return Ok(false),
                // It has changed since it was read.
                Ok(false) => self.pace.lock().give_back(counted_at),
            }
        }
        Err(WriteError::Outdated)
    }

    /// The listed claims that a plan for this state would delete, without those that the API server refused to delete.
    fn wanted(&self, snapshot: &mut Snapshot, memory: &mut Memory, undeleted: &Undeleted) -> Vec<ObjectRef> {
        let is_open = |victim: &Arc<str>| !undeleted.uids.contains(victim);
        snapshot.ledger.victims.retain(is_open);
        let plan = plan(&self.state(snapshot), memory, self.now());
        *memory = plan.memory;
        let mut wanted = plan.terminate;
        wanted.retain(|claim| snapshot.ledger.victims.contains(&claim.uid));
        wanted
    }
}
