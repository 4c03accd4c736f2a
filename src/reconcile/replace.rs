//! Deletes one node of a full pool so that it can be replaced. The ledger lists its claim first, and everything that the
//! decision depends on is read again right before the deletion. See [`super::terminate`].

use poolgate_core::nodelimit::ledger::{ReplacedFor, Replacement};
use poolgate_core::nodelimit::plan::{
    Deadline, DrainObstacle, Memory, ObjectRef, Plan, ReplacementState, plan,
};
use tokio::time::Instant;

use super::apply::WriteError;
use super::index::Snapshot;
use super::pool::PoolReconciler;
use super::reads::MOST_READS;

impl PoolReconciler {
    /// Takes the next step of a replacement. False if that was not possible. A new plan follows then, and `memory`,
    /// taken before the plan, has the reason.
    pub async fn replace(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        memory: &mut Memory,
    ) -> Result<bool, WriteError> {
        if !self.carry_on_replacement(snapshot, plan, memory).await? {
            return Ok(false);
        }
        match &plan.replace {
            Some(_) => self.delete_to_replace(snapshot.clone(), plan, memory).await,
            None => Ok(true),
        }
    }

    /// Writes what the ledger says of replacements, and bounds the drain of the one that is being deleted.
    async fn carry_on_replacement(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        memory: &mut Memory,
    ) -> Result<bool, WriteError> {
        if let Some(Deadline { claim, at }) = &plan.deadline {
            self.writer.bound_drain(claim, *at).await?;
        }
        if let Some(next) = plan.replacement.clone().filter(|_| snapshot.exists) {
            if let Some(listed) = &next.replacement
                && let Some(obstacle) = self.drain_obstacle(listed).await?
            {
                memory.refuse(&listed.uid.as_str().into(), obstacle.to_string(), self.seen.now());
                return Ok(false);
            }
            if !self.write_replacement(snapshot, next).await? {
                return Ok(false);
            }
        }
        for ended in &plan.ended {
            self.writer.metrics.replaced(ended.reason, ended.outcome);
            tracing::info!(
                nodepool = &*snapshot.pool.name,
                node = &*ended.node,
                reason = ended.reason.as_str(),
                outcome = ended.outcome.as_str(),
                "a replacement ended"
            );
        }
        Ok(true)
    }

    /// Deletes the listed claim, if a new plan for what is stored now still wants that.
    async fn delete_to_replace(
        &self,
        mut snapshot: Snapshot,
        before: &Plan,
        memory: &mut Memory,
    ) -> Result<bool, WriteError> {
        let Some(listed) = snapshot.ledger.replacement.clone() else {
            return Ok(true);
        };
        for _ in 0..MOST_READS {
            let its = (listed.uid.as_str(), &*listed.claim);
            let read = self.read_again(&mut snapshot, its).await?;
            // A change resets the tries. The watch shows it, and a new plan follows.
            let Some(read) = read.filter(|read| read.claim.is_unchanged) else {
                return Ok(true);
            };
            let plan = plan(&self.state(&snapshot), &before.memory, self.now());
            let is_listed = |claim: &ObjectRef| *claim.uid == *listed.uid.as_str();
            let Some(claim) = plan.replace.filter(is_listed) else {
                return Ok(true);
            };
            if let Some(obstacle) = self.drain_obstacle(&listed).await? {
                self.write_replacement(&snapshot, ReplacementState::default())
                    .await?;
                memory.refuse(&claim.uid, obstacle.to_string(), self.seen.now());
                return Ok(false);
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
            let deleted = deleted.await;
            if matches!(&deleted, Err(error) if error.is_refusal()) {
                self.pace.lock().give_back(counted_at);
            }
            if deleted? {
                tracing::info!(
                    nodepool = &**pool,
                    nodeclaim = &*claim.name,
                    node = &*listed.node,
                    reason = listed.reason.as_str(),
                    "deleted NodeClaim to make room for its replacement"
                );
                return Ok(true);
            }
            if self.writer.observe {
                return Ok(true);
            }
            // It has changed since it was read.
            self.pace.lock().give_back(counted_at);
        }
        Err(WriteError::Outdated)
    }

    /// Why a drifted node must not be drained now. Karpenter decides on the drain of a broken one.
    async fn drain_obstacle(&self, listed: &Replacement) -> Result<Option<DrainObstacle>, WriteError> {
        match listed.reason {
            ReplacedFor::Unhealthy => Ok(None),
            ReplacedFor::Drifted => self.writer.drain_obstacle(&listed.node, self.now().wall).await,
        }
    }

    /// Writes what the ledger says of replacements. False if it is no longer the one that is known.
    async fn write_replacement(
        &self,
        snapshot: &Snapshot,
        next: ReplacementState,
    ) -> Result<bool, WriteError> {
        let pool = &snapshot.pool;
        if self.writer.observe {
            tracing::info!(nodepool = &*pool.name, ?next, "would write the ledger");
            return Ok(true);
        }
        // Pools that are reconciled simultaneously must not each list one: the cluster replaces one at a time.
        let _only = match &next.replacement {
            Some(listed) if listed.reason == ReplacedFor::Drifted => {
                let Ok(only) = self.lists_drifted.try_lock() else {
                    return Ok(false);
                };
                if self.seen.look(|index| index.replaces_drifted_outside(&pool.name)) {
                    return Ok(false);
                }
                Some(only)
            }
            _ => None,
        };
        let written = |by| {
            self.ledgers
                .set_replacement(snapshot.owner(), next, &snapshot.ledger, by)
        };
        let written = self.writer.write_unless_stale("replacement", written).await?;
        Ok(written.is_some())
    }
}
