//! Reads whether a node can be drained without harm.

use jiff::Timestamp;
use kube::api::ListParams;
use poolgate_core::nodelimit::plan::{DrainObstacle, MOST_PODS_ON_NODE, PodDisruptionBudget, PodOnNode};

use super::{PAGE, WriteError, Writer};
use crate::cluster::{Collection, turn_page};
use crate::objects::{PODS, Texts};
use crate::reconciler::objects::{BudgetObject, PodObject};

/// The path of PodDisruptionBudgets.
const BUDGETS: &str = "/apis/policy/v1/poddisruptionbudgets";

impl Writer {
    /// Why draining a node would do harm now; `None` if it would not.
    pub async fn drain_obstacle(
        &self,
        node: &str,
        now: Timestamp,
    ) -> Result<Option<DrainObstacle>, WriteError> {
        let pods = self.list_pods_on(node).await?;
        // If a pod is an obstacle by itself, no budgets need to be read.
        if let Some(obstacle) = DrainObstacle::of(&pods, &[], now) {
            return Ok(Some(obstacle));
        }
        let budgets = self.list_budgets_of(&pods).await?;
        Ok(DrainObstacle::of(&pods, &budgets, now))
    }

    /// The pods that are bound to a node and not finished, at most a page more than a drain looks at.
    async fn list_pods_on(&self, node: &str) -> Result<Vec<PodOnNode>, WriteError> {
        let unfinished = format!("spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed");
        let mut params = ListParams::default().fields(&unfinished).limit(PAGE);
        let pods = Collection::<PodObject<Texts>>::new(self.client.clone(), PODS);
        let mut listed = Vec::new();
        loop {
            let page = self.call(pods.list(&params)).await?;
            listed.extend(page.items.into_iter().map(PodObject::on_node));
            if !turn_page(&mut params, page.metadata.continue_) || listed.len() > MOST_PODS_ON_NODE {
                return Ok(listed);
            }
        }
    }

    /// The PodDisruptionBudgets that cover one of these pods, or more than there are pods: then two cover the same one.
    async fn list_budgets_of(&self, pods: &[PodOnNode]) -> Result<Vec<PodDisruptionBudget>, WriteError> {
        let mut params = ListParams::default().limit(PAGE);
        let budgets = Collection::<BudgetObject>::new(self.client.clone(), BUDGETS);
        let mut listed = Vec::new();
        loop {
            let page = self.call(budgets.list(&params)).await?;
            let page_of = page.items.into_iter().map(BudgetObject::budget);
            listed.extend(page_of.filter(|budget| pods.iter().any(|pod| budget.covers(pod))));
            if !turn_page(&mut params, page.metadata.continue_) || listed.len() > pods.len() {
                return Ok(listed);
            }
        }
    }
}

#[cfg(test)]
mod tests;
