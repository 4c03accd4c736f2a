//! Deletes one node of a full pool so that it can be replaced. The ledger lists its claim first, and everything that the
//! decision depends on is read again right before the deletion. See [`super::terminate`].

use std::sync::Arc;

use poolgate_core::nodelimit::plan::{Deadline, Memory, Plan, Pool, plan};
use tokio::time::Instant;

use super::apply::WriteError;
use super::controller::Controller;
use super::index::Snapshot;

impl Controller {
    /// Writes what the ledger says of replacements, and bounds the drain of the one that is being deleted. False if the
    /// ledger is no longer the one of the plan.
    pub(super) async fn carry_on_replacement(
        &mut self,
        snapshot: &Snapshot,
        plan: &Plan,
    ) -> Result<bool, WriteError> {
        let pool = &snapshot.pool;
        if let Some(Deadline { claim, at }) = &plan.deadline {
            self.writer.bound_drain(claim, *at).await?;
        }
        if let Some(next) = plan.replacement.clone().filter(|_| snapshot.exists) {
            if self.writer.observe {
                tracing::info!(nodepool = &*pool.name, ?next, "would write into the ledger");
                return Ok(true);
            }
            let owner = (&*pool.name, &*pool.uid);
            let written = self.ledgers.set_replacement(owner, next, &snapshot.ledger);
            if self
                .writer
                .write_unless_stale("replacement", written)
                .await?
                .is_none()
            {
                return Ok(false);
            }
        }
        for ended in &plan.ended {
            self.writer.metrics.replaced(ended.reason, ended.outcome);
            tracing::info!(
                nodepool = &*pool.name,
                node = &*ended.node,
                reason = ended.reason.as_str(),
                outcome = ended.outcome.as_str(),
                "replacement ended"
            );
        }
        Ok(true)
    }

    /// Deletes the listed claim, if a new plan for what is stored now still wants that.
    pub(super) async fn delete_to_replace(
        &mut self,
        mut snapshot: Snapshot,
        memory: &Memory,
    ) -> Result<(), WriteError> {
        let name = Arc::clone(&snapshot.pool.name);
        let Some(listed) = snapshot.ledger.replacement.clone() else {
            return Ok(());
        };
        let Some(pool) = self.writer.read_pool(&name).await? else {
            return Ok(());
        };
        let policy = self.seen.look(|index| Arc::clone(index.policy()));
        let pool = Pool::of(&pool.kept(), &policy);
        if pool.uid != snapshot.pool.uid {
            return Ok(());
        }
        snapshot.pool = Arc::new(pool);
        snapshot.ledger = self.writer.call(self.ledgers.read(&name)).await?;
        let claims = self.writer.list_whole_claims(&name).await?;
        let node = self.writer.read_node(&listed.node).await?;
        let Some(version) = snapshot.agree_with_whole(claims, node, listed.uid.as_str()) else {
            // A watch lags: what it shows next is planned anew.
            return Ok(());
        };
        let inputs = self.inputs(&snapshot);
        let plan = plan(&snapshot.state(inputs), memory, self.now());
        let Some(claim) = plan.replace.filter(|claim| *claim.uid == *listed.uid.as_str()) else {
            return Ok(());
        };
        self.pace.terminated(Instant::now());
        match self.writer.delete_version(&claim, &version).await {
            Err(error) if error.is_refusal() => {
                self.pace.refused();
                Err(error)
            }
            Err(error) => Err(error),
            Ok(is_deleted) => {
                if is_deleted {
                    tracing::info!(
                        nodepool = &*name,
                        nodeclaim = &*claim.name,
                        node = &*listed.node,
                        reason = listed.reason.as_str(),
                        "terminated: it is replaced in a pool at its limit"
                    );
                } else if !self.writer.observe {
                    self.pace.refused();
                }
                Ok(())
            }
        }
    }
}
