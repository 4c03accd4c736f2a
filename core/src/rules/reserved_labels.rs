//! Labels that Karpenter reserves, so that neither a requirement nor a template label may be about them. Knows nothing
//! of where a label stands, and so of no exception that only one of the two has.

use crate::karpenter::{
    ApiVersion, CAPACITY_TYPE_LABEL, GROUP, HOSTNAME_LABEL, KarpenterVersion, NODEPOOL_LABEL,
    canonical_label, is_well_known,
};

/// Why nobody may use a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved {
    /// Karpenter sets it itself, to the name of the NodePool.
    NodePool,
    /// The kubelet sets it, and each node has another.
    Hostname,
    /// It is in a domain that ends in `karpenter.sh`.
    Karpenter,
    /// It is in a domain of Kubernetes, and not among the labels that Karpenter knows.
    Kubernetes,
}

impl Reserved {
    /// Why the label is reserved in this version before this release; none where it is not.
    pub(super) fn of(key: &str, version: ApiVersion, release: KarpenterVersion) -> Option<Self> {
        // The CRD compares the end of the text, so that `mykarpenter.sh` is reserved with `karpenter.sh`.
        let domain = key.split('/').next().unwrap_or(key);
        match key {
            NODEPOOL_LABEL => Some(Self::NodePool),
            HOSTNAME_LABEL => Some(Self::Hostname),
            CAPACITY_TYPE_LABEL => None,
            _ if domain.ends_with(GROUP) => Some(Self::Karpenter),
            _ if !keeps_kubernetes_domains(version, release) || is_well_known(canonical_label(key)) => None,
            _ => is_kubernetes_own(domain).then_some(Self::Kubernetes),
        }
    }
}

/// The present name of a label that is written by an old one, where a template label may not be: Karpenter's
/// validation translates old names in requirements alone, and takes no other label of these domains.
pub(super) fn present_name(key: &str, version: ApiVersion, release: KarpenterVersion) -> Option<&str> {
    let present = canonical_label(key);
    (present != key && keeps_kubernetes_domains(version, release)).then_some(present)
}

fn keeps_kubernetes_domains(version: ApiVersion, release: KarpenterVersion) -> bool {
    version == ApiVersion::V1Beta1 || !release.has(KarpenterVersion::KUBERNETES_DOMAINS_FREE)
}

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
    fn an_old_name_stood_for_the_present_one_until_the_domains_were_free() {
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
    fn karpenters_own_labels_are_reserved_as_the_crd_does_it() {
        let of = |key| Reserved::of(key, ApiVersion::V1, KarpenterVersion::NEWEST);
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
                Reserved::of(key, ApiVersion::V1, KarpenterVersion::new(1, 9, 0)),
                None,
                "{key}"
            );
            for (version, release) in [
                (ApiVersion::V1, OLD),
                (ApiVersion::V1Beta1, KarpenterVersion::NEWEST),
            ] {
                assert_eq!(
                    Reserved::of(key, version, release),
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
            assert_eq!(Reserved::of(key, ApiVersion::V1, OLD), None, "{key}");
        }
    }
}
