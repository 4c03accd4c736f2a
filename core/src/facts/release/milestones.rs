//! What changed for authors of NodePools, and in which release. The names say what is true from then on.
//!
//! What a definition shows is looked up. What only Karpenter's code shows names the first release with it that could be read,
//! and the file; `tests/oracle/sources.rs` compares that with the release before.

use super::KarpenterVersion;
use super::history::{begins, ends, known, serves_until, stores};

const CONSOLIDATE_AFTER: &str = "spec.disruption.consolidateAfter";
const REASONS: &str = "spec.disruption.budgets[].reasons";

/// What definitions show.
impl KarpenterVersion {
    /// The oldest known release: the last one before 1.0, which serves `karpenter.sh/v1` already.
    pub const OLDEST: Self = known().oldest;
    /// The newest known release. The rules were compared with the code of 1.15.0: the module of 1.15.1 cannot be
    /// downloaded everywhere, and its definitions are the same.
    pub const NEWEST: Self = known().newest;
    /// `karpenter.sh/v1` is the storage version.
    pub const V1_STORED: Self = stores("v1");
    /// The last release that serves `karpenter.sh/v1beta1`.
    pub const LAST_OF_V1BETA1: Self = serves_until("v1beta1")[0];
    /// `karpenter.sh/v1beta1` is no longer served.
    pub const V1_ALONE: Self = serves_until("v1beta1")[1];
    /// A v1 NodePool without `spec.disruption` gets one with `consolidateAfter: 0s` from the definition.
    pub const DISRUPTION_DEFAULT: Self = begins("spec.disruption", r#"{"consolidateAfter":"0s"}"#);
    /// Group, kind and name in `nodeClassRef` cannot be empty.
    pub const NODE_CLASS_NOT_EMPTY: Self =
        begins("spec.template.spec.nodeClassRef.group", "group may not be empty");
    /// Group and kind of `nodeClassRef` cannot change.
    pub const NODE_CLASS_FIXED: Self = begins(
        "spec.template.spec.nodeClassRef",
        "nodeClassRef.group is immutable",
    );
    /// The patterns of `consolidateAfter` and `expireAfter` are anchored; before, anything could follow a duration
    /// or precede `Never`.
    pub const ANCHORED_DURATIONS: Self = begins(CONSOLIDATE_AFTER, "^(([0-9]+(s|m|h))+|Never)$");
    /// `spec.replicas`, the scale subresource and `status.nodes`.
    pub const STATIC_CAPACITY: Self = begins("spec.replicas", "integer");
    /// The requirement operators `Gte` and `Lte`.
    pub const GTE_LTE: Self = begins("spec.template.spec.requirements[].operator", "Gte");
    /// Labels under `kubernetes.io` and `k8s.io` may be set; before, only those on a list.
    pub const KUBERNETES_DOMAINS_FREE: Self = ends(
        "spec.template.metadata.labels",
        r#"label domain "kubernetes.io" is restricted"#,
    );
    /// A budget must not repeat a reason.
    pub const UNIQUE_REASONS: Self = begins(REASONS, "set");
    /// The consolidation policy `Balanced`.
    pub const BALANCED: Self = begins("spec.disruption.consolidationPolicy", "Balanced");
    /// The budget reason `Unhealthy`: repair of nodes is a disruption like others.
    pub const UNHEALTHY: Self = begins("spec.disruption.budgets[].reasons[]", "Unhealthy");
}

/// What only the code shows.
impl KarpenterVersion {
    /// Group, kind and name of the node class form a label of every NodeClaim.
    // karpenter 1.1.0: pkg/apis/v1/labels.go NodeClassLabelKey
    pub(crate) const NODE_CLASS_LABELLED: Self = Self::new(1, 1, 0);
    /// The capacity type `reserved`.
    // karpenter 1.3.3: pkg/apis/v1/labels.go CapacityTypeReserved
    pub(crate) const RESERVED: Self = Self::new(1, 3, 0);
    /// Capacity types in a requirement are compared with the known ones.
    // karpenter 1.5.0: pkg/apis/v1/labels.go WellKnownValuesForRequirements
    pub(crate) const CAPACITY_TYPES_CHECKED: Self = Self::new(1, 5, 0);
    /// Its setting `MIN_VALUES_POLICY`: whether it lowers `minValues` to the number of values that are left.
    // karpenter 1.6.0: pkg/operator/options/options.go MinValuesPolicy
    pub(crate) const MIN_VALUES_POLICY: Self = Self::new(1, 6, 0);
    /// The kind `NodeOverlay`.
    // karpenter 1.7.0: pkg/apis/v1alpha1/nodeoverlay.go NodeOverlay
    pub(crate) const NODE_OVERLAY: Self = Self::new(1, 7, 0);
    /// The kind `CapacityBuffer`.
    // karpenter 1.14.0: pkg/apis/autoscaling/v1beta1/capacitybuffer.go CapacityBuffer
    pub(crate) const CAPACITY_BUFFER: Self = Self::new(1, 14, 0);
    /// Every NodeClaim requires the capacity types of its instance types.
    // karpenter 1.8.2: pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go NodeClaimTemplate.ToNodeClaim
    pub(crate) const CAPACITY_TYPES_REQUIRED: Self = Self::new(1, 8, 2);
    /// A NodeClaim keeps both bounds on a label; before, only the lower one.
    // karpenter 1.9.0: pkg/scheduling/requirement.go Requirement.BoundedNodeSelectorRequirements
    pub(crate) const BOTH_BOUNDS: Self = Self::new(1, 9, 0);
    /// `limits.nodes` is checked before a dynamic pool gets nodes.
    // karpenter 1.11.0: pkg/controllers/provisioning/scheduling/scheduler.go Scheduler.addToNewNodeClaim
    pub(crate) const NODE_LIMIT: Self = Self::new(1, 11, 0);
    /// Its scheduler counts only the values that the pod allows, and lowers `minValues` to them under `BestEffort`.
    // karpenter 1.14.3: pkg/cloudprovider/types.go InstanceTypes.SatisfiesMinValues
    pub(crate) const MIN_VALUES_OF_PODS: Self = Self::new(1, 14, 3);
    /// The annotation `karpenter.sh/disruption-cost` of a pod outranks `controller.kubernetes.io/pod-deletion-cost`.
    // karpenter 1.15.0: pkg/apis/v1/labels.go DisruptionCostAnnotationKey
    pub const DISRUPTION_COST: Self = Self::new(1, 15, 0);
    /// The feature gate `TerminateFirstDrift`, for static pools at their limit.
    // karpenter 1.15.0: pkg/operator/options/options.go FeatureGates.TerminateFirstDrift
    pub const TERMINATE_FIRST_DRIFT: Self = Self::new(1, 15, 0);
}
