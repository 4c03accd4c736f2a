//! Reads what else must be known of nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use poolgate_core::nodelimit::plan::{PodDisruptionBudget, PodOnNode};

use crate::cluster::objects::{BudgetObject, POD_DISRUPTION_BUDGETS, PODS, PodObject, Texts};
use crate::status::facts::Read;
use crate::status::look::{EVENTS, Look};

/// Pods by the name of their node.
pub type PodsByNode = BTreeMap<Box<str>, Vec<PodOnNode>>;

/// Facts about nodes besides the objects of a report.
#[derive(Debug)]
pub struct More {
    /// By the name of their node.
    pub pods: Read<PodsByNode>,
    pub budgets: Read<Vec<PodDisruptionBudget>>,
    pub events: Read<Vec<Event>>,
}

impl Default for More {
    /// The facts about no node.
    fn default() -> Self {
        Self {
            pods: Ok(PodsByNode::new()),
            budgets: Ok(Vec::new()),
            events: Ok(Vec::new()),
        }
    }
}

impl Look<'_> {
    /// Reads it for one node and its NodeClaim, or for all nodes.
    pub async fn more(&self, one: Option<(&str, &str)>) -> More {
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
        More {
            pods: pods.map(by_node),
            budgets: budgets.map(all_budgets),
            events,
        }
    }
}

/// Pods by their nodes.
pub fn by_node(pods: Vec<PodObject<Texts>>) -> PodsByNode {
    let mut by_node = PodsByNode::new();
    for pod in pods {
        if let Some(node) = pod.node_name() {
            by_node.entry(node.into()).or_default().push(pod.on_node());
        }
    }
    by_node
}

/// What a drain depends on of all budgets.
pub fn all_budgets(budgets: Vec<BudgetObject>) -> Vec<PodDisruptionBudget> {
    budgets.into_iter().map(BudgetObject::budget).collect()
}
