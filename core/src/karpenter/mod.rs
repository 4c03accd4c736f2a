//! Karpenter's API as data: what a NodePool looks like, which labels Karpenter knows, and what is in which release.
//!
//! Reading is tolerant. Any object can be viewed; a field of the wrong type is reported once, by [`shape`], and
//! ignored by all other code.

mod disruption;
pub(crate) mod door;
mod field;
mod installed;
mod label_sets;
mod labels;
mod node_class;
mod nodepool;
mod operator;
mod provider;
mod resource;
mod schema_defaults;
mod selection;
mod served;
pub(crate) mod shape;
mod taint;
mod target;
mod template;
mod version;

pub use disruption::Disruption;
pub use door::Map;
pub use field::Field;
pub(crate) use field::whole_number;
pub(crate) use installed::Schema;
pub use installed::{Installed, NODEPOOL_DEFINITION, ReleaseRange, UnreadableDefinition};
pub(crate) use label_sets::likely_label;
pub use label_sets::{LabelKind, LabelSets};
pub(crate) use labels::{
    ARCH_LABEL, CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, INSTANCE_TYPE_LABEL, OS_LABEL, REGION_LABEL,
    WINDOWS_BUILD_LABEL, ZONE_LABEL, as_read, is_on_every_instance_type, is_well_known, selection_of,
};
pub use labels::{NODEPOOL_LABEL, canonical_label};
pub use node_class::NodeClassMismatch;
pub(crate) use node_class::node_class_label;
pub use nodepool::NodePool;
pub use operator::Operator;
pub use provider::{
    ClosedDomain, ClosedSet, Definition, Label, LabelValues, NoRelease, NodeClassKind, PROVIDER_IDS,
    Provider, ProviderSettings, ProviderVersion, Releases, Unit, ZoneForm,
};
pub(crate) use provider::{
    Cut, InstanceTypes, Known, Machine, NODE_CLASSES, Named, Naming, PROVIDERS, Part, Ruling,
};
pub(crate) use resource::{PLAIN_RESOURCES, is_resource, likely_resource};
pub use selection::{Selection, integer};
pub use served::{SERVED_KINDS, ServedKind};
pub use shape::Availability;
pub use taint::{Taint, TaintList};
pub use target::{ReleaseSource, TargetKarpenter, Words};
pub use template::{Requirement, Template};
pub use version::{KarpenterVersion, UnknownRelease};

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

/// The API versions that have NodePools, as written after the slash of `apiVersion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiVersion {
    /// `karpenter.sh/v1beta1`, served by Karpenter up to 1.0.
    V1Beta1,
    /// `karpenter.sh/v1`, served since Karpenter 0.37.1.
    V1,
}

words!(ApiVersion { V1Beta1 = "v1beta1", V1 = "v1" });
