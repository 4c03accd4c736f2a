//! Template labels in domains that Karpenter or the provider of the machines keeps for itself.

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Problem, RuleId, Severity, quoted};
use crate::karpenter::{
    ApiVersion, CAPACITY_TYPE_LABEL, GROUP, HOSTNAME_LABEL, LabelKind, NODEPOOL_LABEL, Release,
};
use crate::rule::{Origin, Rule};

pub(super) static LABEL_RESTRICTED: Rule = Rule {
    id: RuleId::new("label-restricted"),
    title: "A template label is not one that Karpenter keeps for itself",
    severity: Severity::Error,
    origin: Origin::Schema,
    why: "Of all labels in domains that end in `karpenter.sh`, a template may set only \
          `karpenter.sh/capacity-type`; `karpenter.sh/nodepool` and `kubernetes.io/hostname` Karpenter and the \
          kubelet set themselves. Before Karpenter 1.9, and in v1beta1, the domains `kubernetes.io` and `k8s.io` \
          are restricted, too, but for `node.kubernetes.io`, `node-restriction.kubernetes.io`, `kops.k8s.io` and \
          the labels that Karpenter knows.",
    seen_in: &["2586"],
    bad: "\
spec:
  template:
    metadata:
      labels:
        karpenter.sh/managed: \"true\"
",
    good: "\
spec:
  template:
    metadata:
      labels:
        example.com/managed: \"true\"
",
};

pub(super) static LABEL_PROVIDER_MISSPELT: Rule = Rule {
    id: RuleId::new("label-provider-misspelt"),
    title: "A template label spells the provider's label as the provider does",
    severity: Severity::Error,
    origin: Origin::Runtime,
    why: "A provider keeps its domain for the labels of its own instance types and refuses any other one there. \
          This label differs by a letter or two, or only by its domain, from one that Karpenter knows.",
    seen_in: &[],
    bad: "\
spec:
  template:
    metadata:
      labels:
        karpenter.kwok.sh/instance-famly: c
",
    good: "\
spec:
  template:
    metadata:
      labels:
        karpenter.kwok.sh/instance-family: c
",
};

pub(super) static LABEL_PROVIDER_UNKNOWN: Rule = Rule {
    id: RuleId::new("label-provider-unknown"),
    title: "A template label in the provider's domain is one that the provider has",
    severity: Severity::Warning,
    origin: Origin::Runtime,
    why: "A provider refuses labels in its domain that it does not know. The label is in none of poolgate's lists, \
          but a newer provider may have brought it: so this is a warning only. An own label belongs into an own \
          domain.",
    seen_in: &[],
    bad: "\
spec:
  template:
    metadata:
      labels:
        karpenter.kwok.sh/chipset: b450
",
    good: "\
spec:
  template:
    metadata:
      labels:
        example.com/chipset: b450
",
};

/// Checks the domain of a label whose syntax is sound. `kind` tells what the label is to Karpenter.
pub(super) fn check<'l>(
    key: &str,
    kind: impl FnOnce() -> LabelKind<'l>,
    version: ApiVersion,
    release: Release,
    path: impl FnOnce() -> FieldPath,
    findings: &mut Findings<'_>,
) {
    let problem = || Problem::Invalid { value: quoted(key) };
    if let Some(reason) = restriction(key) {
        findings.push(LABEL_RESTRICTED.finding(path(), problem(), reason));
        return;
    }
    let kind = kind();
    let is_old = version == ApiVersion::V1Beta1 || !release.has(Release::KUBERNETES_DOMAINS_FREE);
    if is_old && !kind.is_well_known() && is_kubernetes_own(domain(key)) {
        let reason = "before Karpenter 1.9, and in v1beta1, the domains kubernetes.io and k8s.io are restricted to \
                      the labels that Karpenter knows";
        findings.push(LABEL_RESTRICTED.finding(path(), problem(), reason));
        return;
    }
    if let LabelKind::Unknown { domain, meant } = kind {
        let rule = if meant.is_some() {
            &LABEL_PROVIDER_MISSPELT
        } else {
            &LABEL_PROVIDER_UNKNOWN
        };
        let reason =
            format!("the provider keeps {domain} for labels of its own, and knows none of this name");
        findings.push(
            rule.finding(path(), problem(), reason)
                .mend_if_known(meant.map(|meant| format!("did you mean {meant}?"))),
        );
    }
}

/// The text that the CRD looks at: all before the first slash, or the whole key.
fn domain(key: &str) -> &str {
    key.split('/').next().unwrap_or(key)
}

fn restriction(key: &str) -> Option<&'static str> {
    if key == NODEPOOL_LABEL {
        return Some("Karpenter sets this label itself, to the name of the NodePool");
    }
    if key == HOSTNAME_LABEL {
        return Some("each node has its own, which the kubelet sets");
    }
    // The CRD compares the end of the text, so that `mykarpenter.sh` is restricted with `karpenter.sh`.
    (key != CAPACITY_TYPE_LABEL && domain(key).ends_with(GROUP)).then_some(
        "the CRD keeps every domain that ends in karpenter.sh for Karpenter; of its labels only \
         karpenter.sh/capacity-type may be set",
    )
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
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::testing::{errors, errors_for, warnings};

    fn label(key: &str) -> Value {
        json!({"spec": {"template": {"metadata": {"labels": {key: "x"}}}}})
    }

    #[test]
    fn karpenters_own_labels_are_restricted_as_the_crd_does_it() {
        for key in [
            "karpenter.sh/nodepool",
            "karpenter.sh/initialized",
            "a.karpenter.sh/x",
            "mykarpenter.sh/x",
            "karpenter.sh",
            "kubernetes.io/hostname",
        ] {
            let refused = errors(&label(key));
            assert_eq!(refused.len(), 1, "{key}");
            assert!(refused[0].ends_with("[label-restricted]"), "{refused:?}");
        }
        for key in [
            "karpenter.sh/capacity-type",
            "karpenter.sh.example.com/x",
            "example.com/karpenter.sh",
        ] {
            assert_eq!(errors(&label(key)), [""; 0], "{key}");
        }
    }

    #[test]
    fn the_domains_of_kubernetes_are_free_since_1_9_and_never_in_v1beta1() {
        let is_refused =
            |version, release, key: &str| !errors_for(version, release, &label(key), None).is_empty();
        let old = Release::new(1, 8, 2);
        for key in ["kubernetes.io/team", "node-role.kubernetes.io/worker", "k8s.io/x"] {
            assert!(!is_refused(ApiVersion::V1, Release::new(1, 9, 0), key), "{key}");
            assert!(is_refused(ApiVersion::V1, old, key), "{key}");
            assert!(
                is_refused(ApiVersion::V1Beta1, Release::new(1, 0, 8), key),
                "{key}"
            );
        }
        for key in [
            "beta.kubernetes.io/os",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/anything",
            "node-restriction.kubernetes.io/x",
            "kops.k8s.io/instancegroup",
        ] {
            assert!(!is_refused(ApiVersion::V1, old, key), "{key}");
        }
    }

    #[test]
    fn the_providers_domain_is_the_providers() {
        assert_eq!(errors(&label("karpenter.kwok.sh/instance-size")), [""; 0]);
        assert!(errors(&label("karpenter.kwok.sh/instance-siez"))[0].ends_with("[label-provider-misspelt]"));
        assert!(warnings(&label("karpenter.kwok.sh/chipset"))[0].ends_with("[label-provider-unknown]"));
    }
}
