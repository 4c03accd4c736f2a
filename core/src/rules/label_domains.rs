//! Template labels in domains that Karpenter or the cloud provider reserves.

use super::findings::Findings;
use super::reserved_labels::{Reserved, present_name};
use crate::diagnostic::{Origin, RuleId, Severity, Suggestion};
use crate::karpenter::{LabelKind, Template};
use crate::rule::Rule;

pub const RULES: &[&Rule] = &[
    &LABEL_RESTRICTED,
    &LABEL_PROVIDER_MISSPELT,
    &LABEL_PROVIDER_UNKNOWN,
];

static LABEL_RESTRICTED: Rule = Rule {
    id: RuleId::new("label-restricted"),
    title: "A template label is not one that Karpenter reserves",
    severity: Some(Severity::Error),
    origins: &[Origin::Schema, Origin::Runtime],
    evidence: None,
    why: "Of the labels in domains that end in `karpenter.sh`, a template may set only \
          `karpenter.sh/capacity-type`; Karpenter sets `karpenter.sh/nodepool` itself, and the kubelet \
          `kubernetes.io/hostname`. Before Karpenter 1.9, and in v1beta1, the domains `kubernetes.io` and \
          `k8s.io` are restricted, too, except `node.kubernetes.io`, `node-restriction.kubernetes.io`, \
          `kops.k8s.io` and the labels that Karpenter knows. An old name of such a label, for example \
          `beta.kubernetes.io/arch`, is not accepted.",
    seen_in: &["2586"],
    bad: r#"spec:
  template:
    metadata:
      labels:
        karpenter.sh/managed: "true"
"#,
    good: r#"spec:
  template:
    metadata:
      labels:
        example.com/managed: "true"
"#,
};

static LABEL_PROVIDER_MISSPELT: Rule = Rule {
    id: RuleId::new("label-provider-misspelt"),
    title: "A template label spells a provider's label as the provider does",
    severity: Some(Severity::Error),
    origins: &[Origin::Runtime],
    evidence: None,
    why: "A provider reserves its domain for its own labels and rejects all others. This key differs from a \
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

static LABEL_PROVIDER_UNKNOWN: Rule = Rule {
    id: RuleId::new("label-provider-unknown"),
    title: "A template label in a provider's domain is one that the provider has",
    severity: Some(Severity::Warning),
    origins: &[Origin::Runtime],
    evidence: None,
    why: "A provider rejects labels in its domain that it does not know. The label is in none of poolgate's \
          lists, but a newer provider may have added it, so this is only a warning. Use your own domain for \
          your own labels.",
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

/// Checks the domain of a label whose syntax is valid.
pub fn check(template: &Template<'_>, key: &str, findings: &mut Findings<'_>) {
    let (version, context) = (template.version, findings.context);
    let path = || template.labels_path().key(key.to_owned());
    let found = |rule: &Rule, reason: &str| rule.finding(path(), key, reason);
    if let Some(reserved) = Reserved::of(key, version, context.release) {
        let (reason, suggestion) = reason_and_suggestion(reserved);
        findings.push(found(&LABEL_RESTRICTED, reason).suggest(suggestion));
        return;
    }
    if let Some(present) = present_name(key, version, context.release) {
        let reason = "before Karpenter 1.9, and in v1beta1, a template label must have its present name";
        let finding = found(&LABEL_RESTRICTED, reason).origin(Origin::Runtime);
        findings.push(finding.suggest(format!("write {present}")));
        return;
    }
    let kind = context.labels.kind_of(key, template.node_class_group());
    if let LabelKind::Unknown { domain, likely } = kind {
        let reason = format!("the provider reserves {domain} for its own labels, and has none of this name");
        findings.push(match likely {
            Some(likely) => {
                found(&LABEL_PROVIDER_MISSPELT, &reason).suggest(Suggestion::did_you_mean(likely))
            }
            None => found(&LABEL_PROVIDER_UNKNOWN, &reason).suggest(OWN_DOMAIN),
        });
    }
}

/// What to do with a label that Karpenter or the kubelet sets.
const REMOVE: &str = "remove it";

/// What to do with a label that is not among those of a reserved domain.
const OWN_DOMAIN: &str = "use a domain of your own";

/// Why the label may not be set, and what to do instead.
const fn reason_and_suggestion(reserved: Reserved) -> (&'static str, &'static str) {
    match reserved {
        Reserved::NodePool => (
            "Karpenter sets this label itself, to the name of the NodePool",
            REMOVE,
        ),
        Reserved::Hostname => ("each node has its own, which the kubelet sets", REMOVE),
        Reserved::Karpenter => (
            "domains that end in karpenter.sh are Karpenter's; of their labels only karpenter.sh/capacity-type may be \
             set",
            OWN_DOMAIN,
        ),
        Reserved::Kubernetes => (
            "before Karpenter 1.9, and in v1beta1, the domains kubernetes.io and k8s.io are restricted to the labels \
             that Karpenter knows",
            OWN_DOMAIN,
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::{errors, errors_for, warnings};

    fn label(key: &str) -> Value {
        json!({"spec": {"template": {"metadata": {"labels": {key: "x"}}}}})
    }

    #[test]
    fn each_reserved_label_is_denied_with_its_reason() {
        for (key, release, reason) in [
            (
                "karpenter.sh/nodepool",
                KarpenterVersion::NEWEST,
                "to the name of the NodePool; remove it",
            ),
            (
                "kubernetes.io/hostname",
                KarpenterVersion::NEWEST,
                "which the kubelet sets; remove it",
            ),
            (
                "karpenter.sh/initialized",
                KarpenterVersion::NEWEST,
                "may be set; use a domain of your own",
            ),
            (
                "kubernetes.io/team",
                KarpenterVersion::new(1, 8, 2),
                "that Karpenter knows; use a domain of your own",
            ),
        ] {
            let denied = errors_for(ApiVersion::V1, release, &label(key), None);
            assert_eq!(denied.len(), 1, "{key}");
            assert!(denied[0].contains(reason), "{denied:?}");
            assert!(denied[0].ends_with("[label-restricted]"), "{denied:?}");
        }
        let capacity =
            json!({"spec": {"template": {"metadata": {"labels": {"karpenter.sh/capacity-type": "spot"}}}}});
        assert_eq!(errors(&capacity), [""; 0]);
    }

    #[test]
    fn a_providers_domain_has_only_the_providers_labels() {
        assert_eq!(errors(&label("karpenter.kwok.sh/instance-size")), [""; 0]);
        assert!(errors(&label("karpenter.kwok.sh/instance-siez"))[0].ends_with("[label-provider-misspelt]"));
        assert!(warnings(&label("karpenter.kwok.sh/chipset"))[0].ends_with("[label-provider-unknown]"));
    }
}
