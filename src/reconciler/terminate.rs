//! Deletes claims above a limit. The ledger lists them before any is deleted. Right before each deletion,
//! everything the decision depends on is read again, so that a watch that lags, or another replica that decided
//! otherwise, does not lead to a wrong deletion.

use std::collections::HashSet;
use std::sync::Arc;

use poolgate_core::nodelimit::plan::{Memory, Pool, plan};
use tokio::time::Instant;

use super::apply::WriteError;
use super::controller::Controller;
use super::index::Snapshot;

/// After so many refusals the other pools come first: a refusal may take as long as a webhook.
const MOST_REFUSALS: usize = 10;

/// The victims that the API server refused to delete.
#[derive(Debug, Default)]
struct Undeleted {
    uids: HashSet<Arc<str>>,
    /// Why the first of them was refused.
    first: Option<WriteError>,
}

impl Controller {
    /// Writes the victims into the pool's ledger.
    pub async fn list_victims(
        &mut self,
        snapshot: &Snapshot,
        victims: &[Arc<str>],
    ) -> Result<(), WriteError> {
        let pool = &snapshot.pool;
        if self.writer.observe {
            tracing::info!(nodepool = &*pool.name, ?victims, "would list for termination");
            return Ok(());
        }
        if !snapshot.exists {
            // The ledger is deleted with its pool.
            return Ok(());
        }
        let owner = (&*pool.name, &*pool.uid);
        let known = &snapshot.ledger.victims;
        let written = |by| self.ledgers.set_victims(owner, victims, known, by);
        // If another replica was faster, the watch shows soon what it wrote, and then a new plan is made.
        let written = self.writer.write_unless_stale("victims", written);
        if written.await?.is_some() {
            tracing::info!(nodepool = &*pool.name, ?victims, "listed for termination");
        }
        Ok(())
    }

    /// Deletes victims one by one. One that the API server refuses to delete does not save the others; the first error is
    /// returned.
    pub async fn terminate_victims(
        &mut self,
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
        &mut self,
        snapshot: &mut Snapshot,
        memory: &mut Memory,
        undeleted: &mut Undeleted,
    ) -> Result<bool, WriteError> {
        if !self.read_again(snapshot).await? {
            return Ok(false);
        }
        let is_open = |victim: &Arc<str>| !undeleted.uids.contains(victim);
        snapshot.ledger.victims.retain(is_open);
        let inputs = self.inputs(snapshot);
        let plan = plan(&snapshot.state(inputs), memory, self.now());
        *memory = plan.memory;
        let listed = &snapshot.ledger.victims;
        let mut wanted = plan.terminate.into_iter();
        let Some(claim) = wanted.find(|claim| listed.contains(&claim.uid)) else {
            return Ok(false);
        };
        // Counted before it is known to have succeeded: better one too few in this minute.
        self.pace.terminated(Instant::now());
        let is_deleted = match self.writer.terminate(&claim).await {
            Err(error) if error.is_refusal() => {
                tracing::warn!(nodeclaim = &*claim.name, %error, "not terminated");
                self.pace.refused();
                undeleted.uids.insert(claim.uid);
                undeleted.first.get_or_insert(error);
                return Ok(true);
            }
            answer => answer?,
        };
        if is_deleted {
            self.writer.metrics.terminated(&snapshot.pool.name);
            tracing::info!(
                nodepool = &*snapshot.pool.name,
                nodeclaim = &*claim.name,
                "terminated: above the node limit"
            );
        }
        Ok(is_deleted)
    }

    /// Reads pool, claims and ledger as they are stored now. False if it is too early to decide.
    async fn read_again(&self, snapshot: &mut Snapshot) -> Result<bool, WriteError> {
        if !self.read_pool_again(snapshot).await? {
            return Ok(false);
        }
        let claims = self.writer.list_claims(&snapshot.pool.name).await?;
        Ok(snapshot.agree_with(&claims))
    }

    /// Reads pool and ledger as they are stored now. False if the pool is gone.
    pub async fn read_pool_again(&self, snapshot: &mut Snapshot) -> Result<bool, WriteError> {
        let name = Arc::clone(&snapshot.pool.name);
        let Some(pool) = self.writer.read_pool(&name).await? else {
            return Ok(false);
        };
        let policy = self.seen.look(|index| Arc::clone(index.policy()));
        let pool = Pool::of(&pool.kept(), &policy);
        if pool.uid != snapshot.pool.uid {
            return Ok(false);
        }
        snapshot.pool = Arc::new(pool);
        snapshot.ledger = self.writer.call(|by| self.ledgers.read(&name, by)).await?;
        Ok(true)
    }
}
