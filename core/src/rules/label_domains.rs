//! Template labels in domains that Karpenter or the provider of the machines keeps for itself.

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Problem, RuleId, Severity, quoted};
use crate::karpenter::{
    ApiVersion, CAPACITY_TYPE_LABEL, GROUP, HOSTNAME_LABEL, LabelKind, NODEPOOL_LABEL, Release,
};
use crate::rule::{Origin, Rule};

pub(super) static LABEL_RESTRICTED: Rule = Rule {
    id: RuleId::new("label-restricted"),
    title: "A template label is not one that Karpenter reserves",
    severity: Severity::Error,
    origin: Origin::Schema,
    why: "Of the labels in domains that end in `karpenter.sh`, a template may set only \
          `karpenter.sh/capacity-type`; Karpenter sets `karpenter.sh/nodepool` itself, and the kubelet \
          `kubernetes.io/hostname`. Before Karpenter 1.9, and in v1beta1, the domains `kubernetes.io` and \
          `k8s.io` are restricted, too, except `node.kubernetes.io`, `node-restriction.kubernetes.io`, \
          `kops.k8s.io` and the labels that Karpenter knows.",
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
    title: "A template label spells a provider's label as the provider does",
    severity: Severity::Error,
    origin: Origin::Runtime,
    why: "A provider reserves its domain for its own labels and refuses any other. This key differs from a \
          known label by a letter or two, or only by its domain.",
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
    title: "A template label in a provider's domain is one that the provider has",
    severity: Severity::Warning,
    origin: Origin::Runtime,
    why: "A provider refuses labels in its domain that it does not know. The label is in none of poolgate's \
          lists, but a newer provider may have added it, so this is only a warning. Put a label of your own \
          in a domain of your own.",
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
    if let Some((reason, mend)) = restriction(key) {
        findings.push(LABEL_RESTRICTED.finding(path(), problem(), reason).mend(mend));
        return;
    }
    let kind = kind();
    let is_old = version == ApiVersion::V1Beta1 || !release.has(Release::KUBERNETES_DOMAINS_FREE);
    if is_old && !kind.is_well_known() && is_kubernetes_own(domain(key)) {
        let reason = "before Karpenter 1.9, and in v1beta1, the domains kubernetes.io and k8s.io are restricted to \
                      the labels that Karpenter knows";
        findings.push(
            LABEL_RESTRICTED
                .finding(path(), problem(), reason)
                .mend(OWN_DOMAIN),
        );
        return;
    }
    if let LabelKind::Unknown { domain, meant } = kind {
        let rule = if meant.is_some() {
            &LABEL_PROVIDER_MISSPELT
        } else {
            &LABEL_PROVIDER_UNKNOWN
        };
        let reason = format!("the provider reserves {domain} for its own labels, and has none of this name");
        findings.push(
            rule.finding(path(), problem(), reason)
                .mend(meant.map_or_else(|| OWN_DOMAIN.to_owned(), |meant| format!("did you mean {meant}?"))),
        );
    }
}

/// What to do with a label that Karpenter or the kubelet sets.
const REMOVE: &str = "remove it";

/// What to do with a label that is not among those of a reserved domain.
const OWN_DOMAIN: &str = "use a domain of your own";

/// The text that the CRD looks at: all before the first slash, or the whole key.
fn domain(key: &str) -> &str {
    key.split('/').next().unwrap_or(key)
}

/// Why nobody may set this label, and what to do instead.
fn restriction(key: &str) -> Option<(&'static str, &'static str)> {
    if key == NODEPOOL_LABEL {
        let reason = "Karpenter sets this label itself, to the name of the NodePool";
        return Some((reason, REMOVE));
    }
    if key == HOSTNAME_LABEL {
        return Some(("each node has its own, which the kubelet sets", REMOVE));
    }
    // The CRD compares the end of the text, so that `mykarpenter.sh` is restricted with `karpenter.sh`.
    (key != CAPACITY_TYPE_LABEL && domain(key).ends_with(GROUP)).then_some((
        "domains that end in karpenter.sh are Karpenter's; of their labels only karpenter.sh/capacity-type may be set",
        OWN_DOMAIN,
    ))
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
