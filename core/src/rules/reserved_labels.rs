//! Labels that Karpenter reserves, so that neither a requirement nor a template label may use them. Exceptions that
//! hold for only one of the two are not known here.

use crate::karpenter::{
    ApiVersion, CAPACITY_TYPE_LABEL, GROUP, HOSTNAME_LABEL, KarpenterVersion, NODEPOOL_LABEL,
    canonical_label, is_well_known,
};
use crate::value::label::split_key;

/// Why a label may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// Karpenter sets it itself, to the name of the NodePool.
    NodePool,
    /// The kubelet sets it, and each node has its own value.
    Hostname,
    /// It is in a domain that ends in `karpenter.sh`.
    Karpenter,
    /// It is in a domain of Kubernetes, and Karpenter does not know it.
    Kubernetes,
}

impl Reserved {
    /// Why the label may not be used: a clause.
    pub const fn title(self) -> &'static str {
        match self {
            Self::NodePool => "Karpenter sets this label itself, to the name of the NodePool",
            Self::Hostname => "the kubelet sets this label on each node",
            Self::Karpenter => "Karpenter reserves the domains that end in karpenter.sh",
            Self::Kubernetes => "Karpenter before 1.9 restricts the domains kubernetes.io and k8s.io",
        }
    }

    /// Which other labels of the domain may be used: a clause.
    pub const fn exception(self) -> Option<&'static str> {
        match self {
            Self::NodePool | Self::Hostname => None,
            Self::Karpenter => Some("only karpenter.sh/capacity-type may be used"),
            Self::Kubernetes => Some("only labels that Karpenter knows may be used there and in v1beta1"),
        }
    }

    /// Why the label is reserved in this API version and release; `None` if it is not.
    // karpenter: hack/validation/labels.sh spec.template.metadata.labels
    // karpenter: hack/validation/requirements.sh spec.template.spec.requirements.key
    // karpenter: pkg/apis/v1/labels.go RestrictedLabels
    // karpenter: pkg/apis/v1/labels.go RestrictedLabelDomains
    pub fn lookup(key: &str, version: ApiVersion, release: KarpenterVersion) -> Option<Self> {
        // The CRD compares the end of the domain, so `mykarpenter.sh` is reserved, too.
        let domain = split_key(key).map_or(key, |(domain, _)| domain);
        match key {
            NODEPOOL_LABEL => Some(Self::NodePool),
            HOSTNAME_LABEL => Some(Self::Hostname),
            CAPACITY_TYPE_LABEL => None,
            _ if domain.ends_with(GROUP) => Some(Self::Karpenter),
            _ if !keeps_kubernetes_domains(version, release) || is_well_known(canonical_label(key, None)) => {
                None
            }
            _ => is_kubernetes_own(domain).then_some(Self::Kubernetes),
        }
    }
}

/// The present name of a label, if it has an old name that a template label may not use: Karpenter's validation
/// translates old names only in requirements, and rejects other labels of these domains.
pub fn present_name(key: &str, version: ApiVersion, release: KarpenterVersion) -> Option<&str> {
    let present = canonical_label(key, None);
    (present != key && keeps_kubernetes_domains(version, release)).then_some(present)
}

fn keeps_kubernetes_domains(version: ApiVersion, release: KarpenterVersion) -> bool {
    version == ApiVersion::V1Beta1 || !release.has(KarpenterVersion::KUBERNETES_DOMAINS_FREE)
}

// karpenter 1.0.8: pkg/apis/v1/labels.go IsRestrictedLabel
// karpenter 1.0.8: pkg/apis/v1/labels.go LabelDomainExceptions
fn is_kubernetes_own(domain: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|ending| domain.ends_with(ending));
    ends(&["kubernetes.io", "k8s.io"])
        && !ends(&[
            "node.kubernetes.io",
            "node-restriction.kubernetes.io",
            "kops.k8s.io",
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_have_a_present_one_until_the_domains_are_free() {
        let old = "beta.kubernetes.io/arch";
        assert_eq!(present_name(old, ApiVersion::V1, OLD), Some("kubernetes.io/arch"));
        assert_eq!(
            present_name(old, ApiVersion::V1, KarpenterVersion::new(1, 9, 0)),
            None
        );
        assert_eq!(present_name("kubernetes.io/arch", ApiVersion::V1, OLD), None);
    }

    const OLD: KarpenterVersion = KarpenterVersion::new(1, 8, 2);

    #[test]
    fn karpenters_own_labels_are_reserved_as_in_the_crd() {
        let of = |key| Reserved::lookup(key, ApiVersion::V1, KarpenterVersion::NEWEST);
        assert_eq!(of("karpenter.sh/nodepool"), Some(Reserved::NodePool));
        assert_eq!(of("kubernetes.io/hostname"), Some(Reserved::Hostname));
        for key in [
            "karpenter.sh/initialized",
            "a.karpenter.sh/x",
            "mykarpenter.sh/x",
            "karpenter.sh",
        ] {
            assert_eq!(of(key), Some(Reserved::Karpenter), "{key}");
        }
        for key in [
            "karpenter.sh/capacity-type",
            "karpenter.sh.example.com/x",
            "example.com/karpenter.sh",
        ] {
            assert_eq!(of(key), None, "{key}");
        }
    }

    #[test]
    fn the_domains_of_kubernetes_are_free_since_1_9_and_never_in_v1beta1() {
        for key in [
            "kubernetes.io/team",
            "node-role.kubernetes.io/worker",
            "k8s.io/x",
            "kubernetes.io",
        ] {
            assert_eq!(
                Reserved::lookup(key, ApiVersion::V1, KarpenterVersion::new(1, 9, 0)),
                None,
                "{key}"
            );
            for (version, release) in [
                (ApiVersion::V1, OLD),
                (ApiVersion::V1Beta1, KarpenterVersion::NEWEST),
            ] {
                assert_eq!(
                    Reserved::lookup(key, version, release),
                    Some(Reserved::Kubernetes),
                    "{key}"
                );
            }
        }
        for key in [
            "kubernetes.io/arch",
            "beta.kubernetes.io/os",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/anything",
            "node-restriction.kubernetes.io/x",
            "kops.k8s.io/instancegroup",
        ] {
            assert_eq!(Reserved::lookup(key, ApiVersion::V1, OLD), None, "{key}");
        }
    }
}
