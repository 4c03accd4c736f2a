//! Reads what decides why nodes stay.

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use poolgate_core::nodelimit::plan::BudgetsByNamespace;

use crate::cluster::objects::{BudgetObject, POD_DISRUPTION_BUDGETS, PODS, PodObject};
use crate::status::facts::{Kept, PodsByNode};
use crate::status::look::{EVENTS, Look};

impl Look<'_> {
    /// Reads it for one node and its NodeClaim, or for all nodes.
    pub async fn kept(&self, one: Option<(&str, &str)>) -> Kept {
        let fields = |text: String| ListParams::default().fields(&text);
        let pods = one.map_or_else(
            // Those that are on a node.
            || "spec.nodeName!=".to_owned(),
            |(node, _)| format!("spec.nodeName={node}"),
        );
        let about = |kind: &str, name: Option<&str>| {
            let name = name.map(|name| format!(",involvedObject.name={name}"));
            fields(format!("involvedObject.kind={kind}{}", name.unwrap_or_default()))
        };
        let (node, claim) = one.unzip();
        let (pods, budgets, of_nodes, of_claims) = tokio::join!(
            self.list(PODS, fields(pods)),
            self.list(POD_DISRUPTION_BUDGETS, ListParams::default()),
            self.list(EVENTS, about("Node", node)),
            self.list(EVENTS, about("NodeClaim", claim)),
        );
        let events = of_nodes.and_then(|nodes: Vec<Event>| Ok([nodes, of_claims?].concat()));
        Kept {
            pods: pods.map(by_node),
            budgets: budgets.map(all_budgets),
            events,
        }
    }
}

/// Pods by their nodes.
pub fn by_node(pods: Vec<PodObject>) -> PodsByNode {
    let mut by_node = PodsByNode::new();
    for pod in pods {
        if let Some(node) = pod.node_name() {
            by_node.entry(node.into()).or_default().push(pod.on_node());
        }
    }
    by_node
}

/// What a drain depends on of all budgets.
pub fn all_budgets(budgets: Vec<BudgetObject>) -> BudgetsByNamespace {
    budgets.into_iter().map(BudgetObject::budget).collect()
}
