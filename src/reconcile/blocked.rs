//! Counts the nodes that should go and stay. PodDisruptionBudgets are listed for it, not watched: their status changes with
//! each pod.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::ListParams;
use poolgate_core::nodelimit::plan::{BudgetsByNamespace, PodDisruptionBudget};
use poolgate_core::nodelimit::why::{Blocked, Details, KnownPool, Seen, explain};
use tokio::task::yield_now;
use tokio::time::sleep;

use super::apply::{PAGE, WriteError, Writer};
use super::index::{Index, Snapshot};
use super::pool::PoolReconciler;
use crate::cluster::Collection;
use crate::cluster::objects::{BudgetObject, POD_DISRUPTION_BUDGETS};
use crate::runtime::telemetry::LogOnce;

/// How often they are counted.
const PERIOD: Duration = Duration::from_mins(1);

/// How many PodDisruptionBudgets are read at most. With more, the numbers are not known.
const MOST_BUDGETS: usize = 20_000;

impl PoolReconciler {
    /// Counts them while this replica leads.
    pub async fn follow_blocked(&self) {
        let (logged, mut leadership) = (LogOnce::default(), self.writer.leadership.clone());
        loop {
            while !leadership.holds() {
                leadership.changed().await;
            }
            if self.seen.is_complete() {
                let why = match self.writer.list_budgets().await {
                    Ok(budgets) if budgets.len() <= MOST_BUDGETS => {
                        self.count_blocked(&budgets.into_iter().collect()).await;
                        None
                    }
                    Ok(_) => Some(format!("more than {MOST_BUDGETS}")),
                    Err(WriteError::NotLeading) => None,
                    Err(error) => Some(error.to_string()),
                };
                if why.is_some() {
                    self.writer.metrics.pools.forget_blocked();
                }
                match why {
                    None => logged.is_over(&()),
                    Some(error) if logged.is_news((), error.clone()) => {
                        tracing::warn!(
                            error,
                            "could not read PodDisruptionBudgets, so blocked nodes are not counted"
                        );
                    }
                    Some(_) => {}
                }
            }
            sleep(PERIOD).await;
        }
    }

    async fn count_blocked(&self, budgets: &BudgetsByNamespace) {
        for pool in self.seen.look(Index::all_pools) {
            let snapshot = self.seen.look(|index| index.snapshot(&pool));
            let blocked = blocked(&snapshot, budgets, self.now().wall);
            if self.writer.leadership.holds() {
                self.writer.metrics.pools.show_blocked(&pool, &blocked);
            }
            yield_now().await;
        }
    }
}

impl Writer {
    /// All, or more than there may be.
    async fn list_budgets(&self) -> Result<Vec<PodDisruptionBudget>, WriteError> {
        let budgets = Collection::<BudgetObject>::new(self.client.clone(), POD_DISRUPTION_BUDGETS);
        let mut pages = budgets.pages(ListParams::default().limit(PAGE));
        let mut listed = Vec::new();
        while listed.len() <= MOST_BUDGETS
            && let Some(page) = self.call(|by| pages.next(by)).await?
        {
            listed.extend(page.into_iter().map(BudgetObject::budget));
        }
        Ok(listed)
    }
}

/// What each node of a pool that should go and stays is counted by.
fn blocked(snapshot: &Snapshot, budgets: &BudgetsByNamespace, now: Timestamp) -> Vec<Blocked> {
    let state = snapshot.state();
    let waits = state.pending.iter().any(|needs| state.pool.could_serve(needs));
    let ledger = Some(state.ledger.clone());
    let mut known = KnownPool::new(
        Arc::clone(&snapshot.pool),
        Some(state.claims.clone()),
        true,
        ledger,
        false,
    );
    known.is_waited_for = waits;
    let claims = state.claims.iter().enumerate();
    let blocked = claims.filter_map(|(place, claim)| {
        let pods = snapshot.pods_of(place);
        let seen = Seen {
            now,
            state: claim,
            details: &Details::default(),
            ready: None,
            pool: Some(&known),
            pods: Some(&pods),
            budgets: Some(budgets),
            is_called_broken: false,
        };
        Some(explain(&seen).blocked(&seen)?.by)
    });
    blocked.collect()
}

#[cfg(test)]
mod tests;
