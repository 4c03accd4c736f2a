//! Facts about Karpenter, its releases and its providers: which fields a NodePool has, which labels are known, what is new in
//! which release, and what an installed definition says. No other room knows a release or a provider.

mod completed;
mod defined;
mod installed;
mod label_sets;
mod labels;
mod node_class;
mod operator;
mod provider;
mod release;
mod resource;

mod selection;
pub(crate) mod shape;
mod target;

pub(crate) use installed::Schema;
pub use installed::{Installed, NODEPOOL_DEFINITION, UnreadableDefinition};
pub(crate) use label_sets::likely_label;
pub use label_sets::{LabelKind, LabelSets};
pub use labels::CAPACITY_TYPE_LABEL;
pub(crate) use labels::{
    ARCH_LABEL, INSTANCE_TYPE_LABEL, OS_LABEL, REGION_LABEL, WINDOWS_BUILD_LABEL, ZONE_LABEL, as_read,
    is_kubernetes_own, is_on_every_instance_type, is_restricted, is_well_known,
};
pub use labels::{HOSTNAME_LABEL, NODEPOOL_LABEL, WELL_KNOWN_LABELS, canonical_label, selection_of};
pub use node_class::NodeClassMismatch;
pub use operator::Operator;
pub use provider::{
    ClosedDomain, ClosedSet, Definition, Label, LabelValues, NoRelease, NodeClassDefinition, NodeClassKind,
    PROVIDER_IDS, Provider, ProviderSettings, ProviderVersion, Releases, Unit, ZoneForm,
};
pub(crate) use provider::{Cut, Known, NODE_CLASSES, Named, Naming, PROVIDERS, Part, Ruling};
pub use release::{KarpenterVersion, ReleaseRange, SERVED_KINDS, ServedKind, UnknownRelease};
pub(crate) use resource::{PLAIN_RESOURCES, is_resource, likely_resource};
pub use selection::{Selection, integer};
pub use shape::{Availability, OtherKind};
pub use target::{ReleaseSource, TargetKarpenter, Words};

use crate::value::words;

/// The API group of NodePools and NodeClaims.
pub const GROUP: &str = "karpenter.sh";

/// The annotation by which a user keeps Karpenter from disrupting a pod or a node.
// karpenter: pkg/apis/v1/labels.go DoNotDisruptAnnotationKey
pub const DO_NOT_DISRUPT_ANNOTATION: &str = "karpenter.sh/do-not-disrupt";

/// The annotation that keeps Karpenter (1.15 and newer) from repairing a node.
// karpenter: pkg/apis/v1/labels.go DoNotRepairAnnotationKey
pub const DO_NOT_REPAIR_ANNOTATION: &str = "karpenter.sh/do-not-repair";

/// The taint that Karpenter sets on a node it is about to disrupt.
// karpenter: pkg/apis/v1/taints.go DisruptedTaintKey
pub const DISRUPTED_TAINT: &str = "karpenter.sh/disrupted";

/// The consolidation policy by which Karpenter removes only empty nodes.
// karpenter: pkg/apis/v1/nodepool.go ConsolidationPolicyWhenEmpty
pub const WHEN_EMPTY: &str = "WhenEmpty";

/// The consolidation policy that weighs savings against disruption.
// karpenter: pkg/apis/v1/nodepool.go ConsolidationPolicyBalanced
pub(crate) const BALANCED: &str = "Balanced";

/// The API versions that have NodePools, as written after the slash of `apiVersion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiVersion {
    /// `karpenter.sh/v1beta1`, served by Karpenter up to 1.0.
    V1Beta1,
    /// `karpenter.sh/v1`, served since Karpenter 0.37.1.
    V1,
}

words!(ApiVersion { V1Beta1 = "v1beta1", V1 = "v1" });
