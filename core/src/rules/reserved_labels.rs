//! The labels that Karpenter keeps for itself, and how a label is refused.

use std::borrow::Cow;

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Origin, Suggestion};
use crate::facts::{
    ApiVersion, CAPACITY_TYPE_LABEL, GROUP, HOSTNAME_LABEL, KarpenterVersion, NODEPOOL_LABEL,
    canonical_label, is_kubernetes_own, is_well_known,
};
use crate::rules::rule::Rule;
use crate::value::label::split_key;

/// What to write instead of a label in a reserved domain.
pub(super) const OWN_DOMAIN: &str = "use a domain of your own";

/// Why a label may not stand in a place.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Whether that is certain: no release is known that takes it, or the declared one does not.
    pub is_certain: bool,
    pub(super) origin: Origin,
    pub title: Cow<'static, str>,
    pub(super) consequence: Option<Cow<'static, str>>,
    pub(super) help: Option<Suggestion>,
}

impl Refusal {
    /// By the API server, for certain.
    pub(super) fn new(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            is_certain: true,
            origin: Origin::Schema,
            title: title.into(),
            consequence: None,
            help: None,
        }
    }

    pub(super) fn helping(self, help: impl Into<Suggestion>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// Reports it by the first rule if it is certain, else by the second.
    pub fn report(
        self,
        [certain, doubtful]: [&'static Rule; 2],
        path: FieldPath,
        key: &str,
        findings: &mut Findings<'_>,
    ) {
        let rule = if self.is_certain { certain } else { doubtful };
        let finding = findings.report(rule, path, key, self.title).origin(self.origin);
        finding.consequence = self.consequence.map(Cow::into_owned);
        finding.suggest_if_known(self.help);
    }
}

/// Why Karpenter lets neither a template label nor a requirement have a label; `None` if it may.
// karpenter: hack/validation/labels.sh spec.template.metadata.labels
// karpenter: hack/validation/requirements.sh spec.template.spec.requirements.key
// karpenter: pkg/apis/v1/labels.go RestrictedLabels
// karpenter: pkg/apis/v1/labels.go RestrictedLabelDomains
pub fn reserved(key: &str, version: ApiVersion, release: KarpenterVersion) -> Option<Refusal> {
    let refusal = |title, exception: Option<&'static str>, help: &str| Refusal {
        consequence: exception.map(Into::into),
        ..Refusal::new(title).helping(help)
    };
    // The CRD compares the end of the domain, so `mykarpenter.sh` is reserved, too.
    let domain = split_key(key).map_or(key, |(domain, _)| domain);
    match key {
        NODEPOOL_LABEL => Some(refusal(
            "Karpenter sets this label itself, to the name of the NodePool",
            None,
            "remove it",
        )),
        HOSTNAME_LABEL => Some(refusal(
            "the kubelet sets this label on each node",
            None,
            "remove it",
        )),
        CAPACITY_TYPE_LABEL => None,
        _ if domain.ends_with(GROUP) => Some(refusal(
            "Karpenter reserves the domains that end in karpenter.sh",
            Some("only karpenter.sh/capacity-type may be used"),
            OWN_DOMAIN,
        )),
        _ if !keeps_kubernetes_domains(version, release) || is_well_known(canonical_label(key, None)) => None,
        _ => is_kubernetes_own(domain).then(|| {
            refusal(
                "Karpenter before 1.9 restricts the domains kubernetes.io and k8s.io",
                Some("only labels that Karpenter knows may be used there and in v1beta1"),
                OWN_DOMAIN,
            )
        }),
    }
}

pub(super) fn keeps_kubernetes_domains(version: ApiVersion, release: KarpenterVersion) -> bool {
    version == ApiVersion::V1Beta1 || !release.has(KarpenterVersion::KUBERNETES_DOMAINS_FREE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: KarpenterVersion = KarpenterVersion::new(1, 8, 2);

    fn title(key: &str, version: ApiVersion, release: KarpenterVersion) -> Option<String> {
        reserved(key, version, release).map(|refusal| refusal.title.into_owned())
    }

    #[test]
    fn karpenters_own_labels_are_reserved_as_in_the_crd() {
        let of = |key| title(key, ApiVersion::V1, KarpenterVersion::NEWEST);
        let of_karpenter = of("karpenter.sh/initialized");
        assert!(
            of_karpenter
                .as_deref()
                .is_some_and(|title| title.contains("karpenter.sh"))
        );
        for key in ["a.karpenter.sh/x", "mykarpenter.sh/x", "karpenter.sh"] {
            assert_eq!(of(key), of_karpenter, "{key}");
        }
        for key in ["karpenter.sh/nodepool", "kubernetes.io/hostname"] {
            assert!(
                of(key).is_some_and(|title| title.contains("sets this label")),
                "{key}"
            );
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
                title(key, ApiVersion::V1, KarpenterVersion::new(1, 9, 0)),
                None,
                "{key}"
            );
            for (version, release) in [
                (ApiVersion::V1, OLD),
                (ApiVersion::V1Beta1, KarpenterVersion::NEWEST),
            ] {
                let title = title(key, version, release).expect(key);
                assert!(title.contains("kubernetes.io and k8s.io"), "{key}: {title}");
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
            assert_eq!(title(key, ApiVersion::V1, OLD), None, "{key}");
        }
    }
}
