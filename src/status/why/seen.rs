//! What is known of one node, from which the causes are found.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;

use super::objects::{PodBudget, PodObject};
use crate::status::facts::{ClaimObject, NodeObject};
use crate::status::pools::PoolFacts;

/// A NodeClaim, its node, and what is on it.
#[derive(Clone, Copy)]
pub struct Seen<'f> {
    pub now: Timestamp,
    pub claim: &'f ClaimObject,
    pub node: Option<&'f NodeObject>,
    pub pool: Option<&'f PoolFacts<'f>>,
    /// Whether Karpenter has said why it does not repair it.
    pub is_called_broken: bool,
    /// The pods of all nodes, by node; `None` if they could not be read.
    pub pods: Option<&'f BTreeMap<&'f str, Vec<&'f PodObject>>>,
    /// All PodDisruptionBudgets; none if they could not be read.
    pub budgets: &'f [PodBudget],
}

impl<'f> Seen<'f> {
    /// The pods on it, if they could be read.
    pub fn pods(&self) -> Option<&'f [&'f PodObject]> {
        let name = self.claim.status.node_name.as_deref()?;
        Some(self.pods?.get(name).map_or(&[][..], Vec::as_slice))
    }

    /// Whether no pod on it needs a node.
    pub fn is_empty(&self) -> Option<bool> {
        self.node?;
        let pods = self.pods()?;
        Some(pods.iter().all(|pod| !pod.is_reschedulable()))
    }

    /// Whether an annotation of its node has this value.
    pub fn is_annotated(&self, key: &str, value: &str) -> bool {
        self.node
            .is_some_and(|node| node.metadata.annotation(key) == Some(value))
    }

    /// The taints of its node.
    pub fn taints(&self) -> impl Iterator<Item = &'f Taint> {
        self.node
            .into_iter()
            .flat_map(|node| node.spec.taints.iter().flatten())
    }

    pub fn is_initialized(&self) -> bool {
        self.claim.status.conditions.is_true("Initialized")
    }
}
