//! The labels that Karpenter itself uses.

/// The label that ties NodeClaims and Nodes to their NodePool.
pub const NODEPOOL_LABEL: &str = "karpenter.sh/nodepool";
/// The label for on-demand, spot or reserved.
pub const CAPACITY_TYPE_LABEL: &str = "karpenter.sh/capacity-type";
/// The label for the machine type.
pub const INSTANCE_TYPE_LABEL: &str = "node.kubernetes.io/instance-type";

/// The key under which Karpenter files a label: old names of Kubernetes' own labels become the present ones
/// (`NormalizedLabels` of `sigs.k8s.io/karpenter/pkg/apis/v1`).
pub fn canonical_label(key: &str) -> &str {
    match key {
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE_LABEL,
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        other => other,
    }
}
