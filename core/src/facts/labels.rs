//! The labels that Karpenter itself uses.

use super::provider::Provider;
use super::{GROUP, KarpenterVersion, Operator, Selection};
use crate::value::label::{domain_of, is_within};

/// The label that links NodeClaims and Nodes to their NodePool.
// karpenter: pkg/apis/v1/labels.go NodePoolLabelKey
pub const NODEPOOL_LABEL: &str = "karpenter.sh/nodepool";
/// The label for on-demand, spot or reserved.
// karpenter: pkg/apis/v1/labels.go CapacityTypeLabelKey
pub const CAPACITY_TYPE_LABEL: &str = "karpenter.sh/capacity-type";
/// The label for the machine type.
pub(crate) const INSTANCE_TYPE_LABEL: &str = "node.kubernetes.io/instance-type";

/// The label that names the machine itself.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
/// The label for the processor architecture.
pub(crate) const ARCH_LABEL: &str = "kubernetes.io/arch";
/// The label for the operating system.
pub(crate) const OS_LABEL: &str = "kubernetes.io/os";
/// The label for the region.
pub(crate) const REGION_LABEL: &str = "topology.kubernetes.io/region";
/// The label for the zone.
pub(crate) const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// The label for the build of Windows.
pub(crate) const WINDOWS_BUILD_LABEL: &str = "node.kubernetes.io/windows-build";

/// The labels that providers' instance types carry, if they have such a property (`WellKnownLabels` of
/// `sigs.k8s.io/karpenter/pkg/apis/v1`). The values of none of them are integers.
// karpenter: pkg/apis/v1/labels.go WellKnownLabels
pub const WELL_KNOWN_LABELS: &[&str] = &[
    NODEPOOL_LABEL,
    CAPACITY_TYPE_LABEL,
    INSTANCE_TYPE_LABEL,
    ARCH_LABEL,
    OS_LABEL,
    ZONE_LABEL,
    REGION_LABEL,
    WINDOWS_BUILD_LABEL,
];

/// Whether every instance type of the provider certainly carries this label; `key` must be its current name. Which release of
/// the provider runs is not known, so all of them must agree.
pub(crate) fn is_on_every_instance_type(key: &str, provider: Option<&Provider>) -> bool {
    match key {
        ARCH_LABEL | OS_LABEL | ZONE_LABEL | INSTANCE_TYPE_LABEL | CAPACITY_TYPE_LABEL => true,
        key => provider.is_some_and(|provider| provider.has_everywhere(key, None)),
    }
}

/// Whether every provider's instance types carry this label; `key` must be its current name.
pub(crate) fn is_well_known(key: &str) -> bool {
    WELL_KNOWN_LABELS.contains(&key)
}

/// Whether Karpenter refuses this label to pods and pools as one that it or Kubernetes sets, unless it is well-known; `key`
/// must be its current name.
// karpenter: pkg/apis/v1/labels.go IsRestrictedLabel
pub(crate) fn is_restricted(key: &str, release: KarpenterVersion) -> bool {
    let domain = domain_of(key);
    let is_kubernetes_own =
        || is_kubernetes_own(domain) && !release.has(KarpenterVersion::KUBERNETES_DOMAINS_FREE);
    !is_well_known(key) && (key == HOSTNAME_LABEL || is_within(domain, GROUP) || is_kubernetes_own())
}

/// Whether a domain is one of Kubernetes in which Karpenter before 1.9 knew all labels.
// karpenter 1.0.8: pkg/apis/v1/labels.go IsRestrictedNodeLabel
pub(crate) fn is_kubernetes_own(domain: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|ending| domain.ends_with(ending));
    ends(&["kubernetes.io", "k8s.io"])
        && !ends(&[
            "node.kubernetes.io",
            "node-restriction.kubernetes.io",
            "kops.k8s.io",
        ])
}

/// The key that a provider's Karpenter uses for a label (`NormalizedLabels` of `sigs.k8s.io/karpenter/pkg/apis/v1`): old
/// names of Kubernetes' own labels become the current ones, and so do the other names that this provider registers.
/// Without a provider only the former do: to another provider's Karpenter, its names are labels like any other.
// karpenter: pkg/apis/v1/labels.go NormalizedLabels
pub fn canonical_label<'k>(key: &'k str, provider: Option<&Provider>) -> &'k str {
    match key {
        "beta.kubernetes.io/arch" => ARCH_LABEL,
        "beta.kubernetes.io/os" => OS_LABEL,
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE_LABEL,
        "failure-domain.beta.kubernetes.io/zone" => ZONE_LABEL,
        "failure-domain.beta.kubernetes.io/region" => REGION_LABEL,
        other => provider
            .and_then(|provider| provider.normalized(other))
            .unwrap_or(other),
    }
}

/// What a requirement on a label allows in at least one release of the provider; `key` must be its current name.
// karpenter: pkg/apis/v1/labels.go NormalizedLabelValues
// karpenter: pkg/scheduling/requirement.go NewRequirementWithFlexibility
pub fn selection_of<'a>(
    key: &str,
    operator: Operator,
    values: &[&'a str],
    provider: Option<&Provider>,
) -> Selection<'a> {
    as_read(key, Selection::new(operator, values), provider)
}

/// What is allowed of a label in at least one release of the provider; `key` must be its current name.
pub(crate) fn as_read<'a>(key: &str, selection: Selection<'a>, provider: Option<&Provider>) -> Selection<'a> {
    let label = provider.and_then(|of| of.label(key));
    match label.and_then(|label| label.empty_is) {
        Some(empty) => selection.taking_for_one(["", empty.value]),
        None => selection,
    }
}
