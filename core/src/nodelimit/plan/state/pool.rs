//! A NodePool, and which pods its nodes could serve, as far as a plan depends on them.

use std::iter;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::pod::PodCosts;
use crate::api::{AtLimit, Freeze, LimitSchedule, NodeLimit, NodeLimitMode, ScheduleError};
use crate::budget::{Budgets, UnreadableBudget};
use crate::drift::template_hash;
use crate::facts::{ApiVersion, WHEN_EMPTY};
use crate::json::Json;
use crate::pods::{Needs, NodeTemplate};
use crate::policy::{FeatureGate, GateState, Policy};
use crate::pool::NodePool;
use crate::sha256::sha256_prefix;

/// A NodePool, as far as the plan depends on it.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Debug)]
pub struct Pool {
    /// `metadata.name`, which is also the value of the label `karpenter.sh/nodepool`.
    pub name: Arc<str>,
    /// `metadata.uid`: a pool created anew under the same name has another.
    pub uid: Arc<str>,
    /// Its node limit; `None` if it has none that can be read.
    pub limit: Option<NodeLimit>,
    /// True if poolgate writes `spec.limits.nodes`, and the limit is in an annotation.
    pub leaves_limit_to_poolgate: bool,
    /// The schedule of its limit, if it has one.
    pub schedule: Option<Result<LimitSchedule, ScheduleError>>,
    /// The number in the annotation `poolgate.dev/node-limit`.
    pub stored_limit: Option<u32>,
    /// True if poolgate owns that annotation.
    pub owns_stored_limit: bool,
    /// `spec.limits.nodes`, if it is a whole number.
    pub written_nodes: Option<u32>,
    /// True if the object itself sets the mode of its limit, by field or annotation.
    pub mode_is_written: bool,
    /// What a user says about freezing it, whether that has ended or not.
    pub freeze: Option<Freeze>,
    /// Its budgets. If they cannot be read, Karpenter cannot read them either, so it disrupts nothing.
    pub budgets: Result<Budgets, UnreadableBudget>,
    /// True if it is a static pool (`spec.replicas`).
    pub is_static: bool,
    /// True if it has a deletion timestamp.
    pub is_deleted: bool,
    /// True if consolidation may disrupt nodes that are not empty.
    pub(crate) consolidates_underutilized: bool,
    /// How many nodes more it may have while nodes are replaced.
    pub surge: u32,
    /// Which of its nodes are replaced at the limit.
    pub at_limit: AtLimit,
    /// How long a broken node may be drained at most.
    pub repair_grace_period: Duration,
    /// Which annotations say what the disruption of its pods costs.
    pub pod_costs: PodCosts,
    /// True if its condition `Ready` is true: Karpenter creates nodes for it.
    pub is_ready: bool,
    /// Since when its condition `NodeClassReady` has been true.
    pub(crate) class_ready_since: Option<Timestamp>,
    /// A hash of `spec.template`.
    pub(crate) template_hash: u64,
    /// The hash that Karpenter writes onto NodeClaims that it makes from the template; `None` if it is not known.
    pub(crate) drift_hash: Option<NonZeroU64>,
    /// Which pods its nodes could serve.
    pub template: NodeTemplate,
    /// What only reports depend on.
    pub details: PoolDetails,
}

/// What poolgate writes of a node limit, in one server-side apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitWrite {
    /// The annotation `poolgate.dev/node-limit`, where a schedule decides it. If it is `None`, an annotation that only poolgate
    /// owns goes.
    pub annotation: Option<u32>,
    /// `spec.limits.nodes`.
    pub nodes: u32,
}

/// The fields of a NodePool that only reports depend on.
#[derive(Debug, Clone)]
pub struct PoolDetails {
    /// `spec.disruption.consolidateAfter`.
    pub consolidate_after: Option<Box<str>>,
    /// `NodeClassReady`.
    pub class_ready: Option<Condition>,
    /// `Ready`.
    pub ready: Option<Condition>,
    /// The state of Karpenter's gate `NodeRepair` in the cluster, as far as it is known.
    pub repair: GateState,
}

/// A condition, as a report tells it.
#[derive(Debug, Clone)]
pub struct Condition {
    /// `True`, `False` or `Unknown`.
    pub status: Box<str>,
    /// Why.
    pub reason: Box<str>,
    /// `lastTransitionTime`.
    pub since: Option<Timestamp>,
}

impl Condition {
    /// The condition of this type of a NodePool.
    fn of(pool: &Json<'_>, kind: &str) -> Option<Self> {
        let conditions = pool.get("status")?.get("conditions")?.as_array()?;
        let text = |condition: &Json<'_>, field: &str| -> Box<str> {
            let text = condition.get(field).and_then(Json::as_str);
            text.unwrap_or_default().into()
        };
        let mut its = conditions.iter();
        let its = its.find(|condition| &*text(condition, "type") == kind)?;
        Some(Self {
            status: text(its, "status"),
            reason: text(its, "reason"),
            since: text(its, "lastTransitionTime").parse().ok(),
        })
    }

    /// True if it holds.
    pub fn is_true(&self) -> bool {
        &*self.status == "True"
    }
}

impl Pool {
    /// Reads a NodePool (v1) as it is stored. A field of the wrong type counts as missing. `metadata.managedFields` should have
    /// only the entry by which poolgate owns the annotation `poolgate.dev/node-limit`.
    pub fn of(object: &Value, policy: &Policy) -> Self {
        let template = object.pointer("/spec/template");
        let object = &Json::from(object);
        let view = NodePool::view(ApiVersion::V1, object);
        let metadata = |field: &str| object.get("metadata").and_then(|metadata| metadata.get(field));
        let text = |field: &str| metadata(field).and_then(Json::as_str).unwrap_or_default();
        let disruption = view.disruption.as_ref().present();
        let consolidation = disruption.and_then(|disruption| disruption.consolidation_policy.present());
        let consolidate_after = disruption.and_then(|disruption| disruption.consolidate_after.present());
        let limit = NodeLimit::of(&view, policy.over_limit);
        let details = PoolDetails {
            consolidate_after: consolidate_after.map(Box::from),
            class_ready: Condition::of(object, "NodeClassReady"),
            ready: Condition::of(object, "Ready"),
            repair: policy
                .cluster
                .gate(FeatureGate::NodeRepair, view.template.settings()),
        };
        let class_ready = details.class_ready.as_ref().filter(|ready| ready.is_true());
        Self {
            name: Arc::from(text("name")),
            uid: Arc::from(text("uid")),
            limit,
            surge: limit.map_or(0, |limit| limit.surge(&view)),
            leaves_limit_to_poolgate: view.annotated_node_limit().is_some(),
            schedule: LimitSchedule::of(&view),
            stored_limit: view.stored_node_limit(),
            owns_stored_limit: metadata("managedFields").is_some_and(|fields| !fields.is_null()),
            written_nodes: written_nodes(&view),
            mode_is_written: view.node_limit_mode().is_some(),
            freeze: view.freeze(),
            budgets: Budgets::parse(&view),
            is_static: !view.replicas.is_absent(),
            is_deleted: metadata("deletionTimestamp").is_some_and(|at| !at.is_null()),
            consolidates_underutilized: consolidation != Some(WHEN_EMPTY),
            at_limit: AtLimit::annotated(&view).unwrap_or(policy.at_limit),
            repair_grace_period: policy.repair_grace_period,
            pod_costs: PodCosts::of(policy, view.template.settings()),
            is_ready: details.ready.as_ref().is_some_and(Condition::is_true),
            class_ready_since: class_ready.and_then(|ready| ready.since),
            template_hash: stable_hash(template),
            drift_hash: object
                .get("spec")
                .and_then(|spec| template_hash(spec.get("template")?))
                .and_then(NonZeroU64::new),
            template: NodeTemplate::new(text("name"), &view.template, policy),
            details,
        }
    }

    /// Its limit, with the mode by which claims above it are counted.
    pub(crate) fn limit_for_excess(&self) -> Option<NodeLimit> {
        let limit = self.limit?;
        let mode = if self.mode_is_written {
            limit.mode
        } else {
            NodeLimitMode::UNWRITTEN_ABOVE_LIMIT
        };
        Some(NodeLimit { mode, ..limit })
    }

    /// True if poolgate deletes one drifted node after the other at the limit, to make room for its replacement: the pool wants
    /// it, and lets poolgate write what Karpenter sees of the limit.
    pub(crate) fn makes_room(&self) -> bool {
        self.at_limit == AtLimit::Replace && self.leaves_limit_to_poolgate && !self.is_static
    }

    /// The limit to write when poolgate leaves the pool: the full one, and the highest of a schedule. `None` if it is there.
    pub fn restored_limit(&self) -> Option<LimitWrite> {
        let schedule = self.schedule.as_ref().and_then(|schedule| schedule.as_ref().ok());
        let highest = schedule.map(LimitSchedule::highest);
        let limit = highest.or(self.stored_limit)?;
        self.limit_write(limit, limit)
    }

    /// How to write a limit, with this number of nodes for Karpenter; `None` if both are there.
    pub(crate) fn limit_write(&self, limit: u32, nodes: u32) -> Option<LimitWrite> {
        let annotation = match &self.schedule {
            Some(Ok(_)) => Some(limit),
            // The apply names what it keeps.
            Some(Err(_)) if self.owns_stored_limit => self.stored_limit,
            _ => None,
        };
        let is_annotated = match annotation {
            Some(_) => self.stored_limit == annotation,
            // The schedule is gone: the number stays in the spec.
            None => !self.owns_stored_limit,
        };
        let nodes = if is_annotated || annotation.is_some() {
            nodes
        } else {
            limit
        };
        let is_written = is_annotated && self.written_nodes == Some(nodes);
        (!is_written).then_some(LimitWrite { annotation, nodes })
    }

    /// True if a user has frozen it at this time.
    pub fn is_frozen_at(&self, now: Timestamp) -> bool {
        self.freeze.as_ref().is_some_and(|freeze| freeze.holds_at(now))
    }

    /// True if a new node might take a pod, or that cannot be determined.
    pub fn could_serve(&self, needs: &Needs) -> bool {
        self.template.could_take_any(iter::once(needs))
    }

    /// True if its limit must never be exceeded.
    pub fn is_hard(&self) -> bool {
        self.limit.is_some_and(|limit| limit.mode == NodeLimitMode::Hard)
    }
}

/// The first eight bytes of the SHA-256 of a template's JSON with sorted keys: the same in every build.
fn stable_hash(template: Option<&Value>) -> u64 {
    let mut sorted = template.cloned().unwrap_or_default();
    sorted.sort_all_objects();
    sha256_prefix(sorted.to_string().as_bytes())
}

fn written_nodes(pool: &NodePool<'_>) -> Option<u32> {
    let nodes = NodePool::limit_value(pool.limits.present()?.get("nodes")?)?;
    u32::try_from(nodes.rounded_down())
        .ok()
        .filter(|_| nodes.is_whole())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_of_a_template_is_the_same_in_every_build_and_order() {
        let template = json!({"spec": {"taints": [], "requirements": [1]}, "metadata": {}});
        let reordered = json!({"metadata": {}, "spec": {"requirements": [1], "taints": []}});
        let hash = stable_hash(Some(&template));
        // printf '{"metadata":{},"spec":{"requirements":[1],"taints":[]}}' | sha256sum
        assert_eq!(format!("{hash:016x}"), "2da7320cf33dc6cb");
        assert_eq!(hash, stable_hash(Some(&reordered)));
        assert_ne!(hash, stable_hash(None));
    }
}
