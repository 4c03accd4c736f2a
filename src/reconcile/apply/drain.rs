//! Reads whether a node can be drained without harm.

use jiff::Timestamp;
use kube::api::ListParams;
use poolgate_core::nodelimit::plan::{DrainObstacle, MOST_PODS_ON_NODE, PodDisruptionBudget, PodOnNode};

use super::{PAGE, WriteError, Writer};
use crate::cluster::Collection;
use crate::cluster::objects::{BudgetObject, POD_DISRUPTION_BUDGETS, PODS, PodObject};

impl Writer {
    /// Why draining a node would do harm now; `None` if it would not.
    pub async fn drain_obstacle(
        &self,
        node: &str,
        now: Timestamp,
    ) -> Result<Option<DrainObstacle>, WriteError> {
        let pods = self.list_pods_on(node).await?;
        // If a pod alone is an obstacle, no budgets need to be read.
        if let Some(obstacle) = DrainObstacle::find(&pods, &[], now) {
            return Ok(Some(obstacle));
        }
        let budgets = self.list_budgets_of(&pods).await?;
        Ok(DrainObstacle::find(&pods, &budgets, now))
    }

    /// The pods that are bound to a node and not finished, at most a page more than a drain looks at.
    async fn list_pods_on(&self, node: &str) -> Result<Vec<PodOnNode>, WriteError> {
        let unfinished = format!("spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed");
        let pods = Collection::<PodObject>::new(self.client.clone(), PODS);
        let mut pages = pods.pages(ListParams::default().fields(&unfinished).limit(PAGE));
        let mut listed = Vec::new();
        while listed.len() <= MOST_PODS_ON_NODE
            && let Some(page) = self.call(|by| pages.next(by)).await?
        {
            listed.extend(page.into_iter().map(PodObject::on_node));
        }
        Ok(listed)
    }

    /// The PodDisruptionBudgets that cover one of these pods, or more than there are pods: then two cover the same one.
    async fn list_budgets_of(&self, pods: &[PodOnNode]) -> Result<Vec<PodDisruptionBudget>, WriteError> {
        let budgets = Collection::<BudgetObject>::new(self.client.clone(), POD_DISRUPTION_BUDGETS);
        let mut pages = budgets.pages(ListParams::default().limit(PAGE));
        let mut listed = Vec::new();
        while listed.len() <= pods.len()
            && let Some(page) = self.call(|by| pages.next(by)).await?
        {
            let budgets = page.into_iter().map(BudgetObject::budget);
            listed.extend(budgets.filter(|budget| pods.iter().any(|pod| budget.covers(pod))));
        }
        Ok(listed)
    }
}

#[cfg(test)]
mod tests;
