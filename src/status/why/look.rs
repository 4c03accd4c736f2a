//! Reads what else must be known of nodes.

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;

use super::objects::{PodBudget, PodObject};
use crate::cluster::objects::PODS;
use crate::status::facts::Read;
use crate::status::look::{EVENTS, Look};

/// The path of PodDisruptionBudgets.
const BUDGETS: &str = "/apis/policy/v1/poddisruptionbudgets";

/// What is read of nodes beside the objects of a report.
#[derive(Debug)]
pub struct More {
    pub pods: Read<Vec<PodObject>>,
    pub budgets: Read<Vec<PodBudget>>,
    pub events: Read<Vec<Event>>,
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
            self.list(BUDGETS, ListParams::default()),
            self.list(EVENTS, about("Node", node)),
            self.list(EVENTS, about("NodeClaim", claim)),
        );
        let events = of_nodes.and_then(|nodes: Vec<Event>| Ok([nodes, of_claims?].concat()));
        More {
            pods,
            budgets,
            events,
        }
    }
}
