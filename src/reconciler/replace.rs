//! Deletes one node of a full pool so that it can be replaced. The ledger lists its claim first, and everything that the
//! decision depends on is read again right before the deletion. See [`super::terminate`].

use poolgate_core::nodelimit::ledger::{ReplacedFor, Replacement};
use poolgate_core::nodelimit::plan::{
    Deadline, DrainObstacle, Memory, ObjectRef, Plan, ReplacementState, plan,
};
use tokio::time::Instant;

use super::apply::WriteError;
use super::controller::Controller;
use super::index::Snapshot;
use super::reads::MOST_READS;
use super::step::Step;

impl Controller {
    /// Takes the next step of a replacement.
    pub async fn replace(&mut self, snapshot: &Snapshot, plan: &Plan) -> Result<Step, WriteError> {
        match self.carry_on_replacement(snapshot, plan).await? {
            Step::Done if plan.replace.is_some() => {
                self.delete_to_replace(snapshot.clone(), &plan.memory).await
            }
            step => Ok(step),
        }
    }

    /// Writes what the ledger says of replacements, and bounds the drain of the one that is being deleted.
    async fn carry_on_replacement(&mut self, snapshot: &Snapshot, plan: &Plan) -> Result<Step, WriteError> {
        if let Some(Deadline { claim, at }) = &plan.deadline {
            self.writer.bound_drain(claim, *at).await?;
        }
        if let Some(next) = plan.replacement.clone().filter(|_| snapshot.exists) {
            if let Some(listed) = &next.replacement
                && let Some(obstacle) = self.drain_obstacle(listed).await?
            {
                return Ok(Step::Refused(listed.uid.as_str().into(), obstacle));
            }
            if !self.write_replacement(snapshot, next).await? {
                return Ok(Step::Stale);
            }
        }
        for ended in &plan.ended {
            self.writer.metrics.replaced(ended.reason, ended.outcome);
            tracing::info!(
                nodepool = &*snapshot.pool.name,
                node = &*ended.node,
                reason = ended.reason.as_str(),
                outcome = ended.outcome.as_str(),
                "replacement ended"
            );
        }
        Ok(Step::Done)
    }

    /// Deletes the listed claim, if a new plan for what is stored now still wants that.
    async fn delete_to_replace(
        &mut self,
        mut snapshot: Snapshot,
        memory: &Memory,
    ) -> Result<Step, WriteError> {
        let Some(listed) = snapshot.ledger.replacement.clone() else {
            return Ok(Step::Done);
        };
        for _ in 0..MOST_READS {
            let its = (listed.uid.as_str(), &*listed.claim);
            let read = self.read_again(&mut snapshot, its).await?;
            // A change begins the tries anew: the watch shows it, and it is planned anew.
            let Some(read) = read.filter(|read| read.claim.is_unchanged) else {
                return Ok(Step::Done);
            };
            let inputs = self.inputs(&snapshot);
            let plan = plan(&snapshot.state(inputs), memory, self.now());
            let is_listed = |claim: &ObjectRef| *claim.uid == *listed.uid.as_str();
            let Some(claim) = plan.replace.filter(is_listed) else {
                return Ok(Step::Done);
            };
            if let Some(obstacle) = self.drain_obstacle(&listed).await? {
                self.write_replacement(&snapshot, ReplacementState::default())
                    .await?;
                return Ok(Step::Refused(claim.uid, obstacle));
            }
            if !read.is_fresh() {
                self.writer.metrics.outdated();
                continue;
            }
            // Counted before it is known to have succeeded: better one too few in this minute.
            self.pace.terminated(Instant::now());
            let pool = &snapshot.pool.name;
            let deleted = self
                .writer
                .delete(pool, &claim, &read.claim.version, &snapshot.ledger);
            let deleted = deleted.await;
            if matches!(&deleted, Err(error) if error.is_refusal()) {
                self.pace.refused();
            }
            if deleted? {
                tracing::info!(
                    nodepool = &**pool,
                    nodeclaim = &*claim.name,
                    node = &*listed.node,
                    reason = listed.reason.as_str(),
                    "terminated: it is replaced in a pool at its limit"
                );
                return Ok(Step::Done);
            }
            if self.writer.observe {
                return Ok(Step::Done);
            }
            // It has changed since it was read.
            self.pace.refused();
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
            tracing::info!(nodepool = &*pool.name, ?next, "would write into the ledger");
            return Ok(true);
        }
        let owner = (&*pool.name, &*pool.uid);
        let written = |by| self.ledgers.set_replacement(owner, next, &snapshot.ledger, by);
        let written = self.writer.write_unless_stale("replacement", written).await?;
        Ok(written.is_some())
    }
}
