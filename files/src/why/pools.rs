//! The NodePools that may take a pod.

use std::cmp::Ordering;

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::pods::{Left, NodeTaint, NodeTemplate, left};
use poolgate_core::policy::{MinValuesPolicy, Policy};
use poolgate_core::pool::NodePool;

use super::Place;
use crate::input::{Applied, Reading};

pub(super) const POOLS: Reading<'_> = Reading {
    takes: &|found| found.pool.is_some(),
    unknown: "which pods it takes is unknown",
    needs_all: false,
};

/// A NodePool, as far as it may take pods.
#[derive(Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// `spec.weight`; 0 without one.
    pub weight: i64,
    /// Why Karpenter launches no node of it for any pod.
    pub refuses_all: Option<String>,
    /// What its new nodes are like.
    pub template: NodeTemplate,
    /// What its limits leave.
    pub left: Left,
    /// Whether Karpenter launches its nodes with fewer values than `minValues`, if that is known.
    pub relaxes_min_values: Option<bool>,
    /// Where it stands; `None` for one of a cluster.
    pub at: Option<Place>,
    /// Where its requirements and taints stand; empty in a cluster, where their paths say that.
    pub places: Vec<(FieldPath, Place)>,
}

impl Candidate {
    /// Reads a NodePool as it is or will be stored.
    pub fn new(object: &Json<'_>, version: ApiVersion, policy: &Policy) -> Self {
        let view = NodePool::view(version, object);
        let name = view.name.present().unwrap_or_default();
        // karpenter: pkg/controllers/provisioning/provisioner.go Provisioner.NewScheduler
        let is_static = !view.replicas.is_absent();
        Self {
            name: name.to_owned(),
            weight: view.weight.present().unwrap_or_default(),
            refuses_all: is_static
                .then(|| "it is static: Karpenter launches no node of it for pods".to_owned()),
            template: NodeTemplate::new(name, &view.template, policy),
            left: left(&view),
            relaxes_min_values: policy
                .cluster
                .min_values_policy
                .map(|policy| policy == MinValuesPolicy::BestEffort),
            at: None,
            places: Vec::new(),
        }
    }

    /// The pool of an object; `None` if it is something else.
    pub(super) fn of(applied: &Applied<'_, '_>) -> Option<Self> {
        let pool = applied.pool()?;
        let completed = Json::from(&pool.completed);
        let mut candidate = Self::new(&completed, pool.version, &pool.project.policy);
        let requirements = candidate
            .template
            .requirements
            .iter()
            .map(|offered| offered.at.clone());
        let taints = (0..candidate.template.taints.len()).map(taint_at);
        let places = requirements.chain(taints).map(|path| {
            let place = Place::of(applied, &path);
            (path, place)
        });
        candidate.places = places.collect();
        candidate.at = Some(Place::of(applied, &FieldPath::root()));
        Some(candidate)
    }

    /// The order in which Karpenter tries pools.
    // karpenter: pkg/utils/nodepool/nodepool.go OrderByWeight
    pub fn order(&self, other: &Self) -> Ordering {
        let by_weight = other.weight.cmp(&self.weight);
        by_weight.then_with(|| other.name.cmp(&self.name))
    }

    /// Where a field stands, in words.
    pub(super) fn place(&self, path: &FieldPath) -> String {
        let found = self.places.iter().find(|(own, _)| own == path);
        found.map_or_else(|| path.to_string(), |(_, place)| place.to_string())
    }

    /// The path of a taint.
    pub(super) fn path_of(&self, taint: &NodeTaint) -> FieldPath {
        let index = self.template.taints.iter().position(|own| own == taint);
        taint_at(index.unwrap_or_default())
    }
}

fn taint_at(index: usize) -> FieldPath {
    FieldPath::of(&["spec", "template", "spec", "taints"]).index(index)
}
