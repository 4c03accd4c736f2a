//! Template labels in domains that Karpenter or the cloud provider reserves.

use super::findings::Findings;
use super::reserved_labels::{Reserved, present_name};
use crate::diagnostic::{Origin, Suggestion};
use crate::karpenter::{KarpenterVersion, LabelKind, Template};
use crate::rules::rule::Rule;

pub static LABEL_RESTRICTED: Rule = rule!("label-restricted", Error, Schema);
pub static LABEL_PROVIDER_MISSPELT: Rule = rule!("label-provider-misspelt", Error, Runtime);
pub static LABEL_PROVIDER_UNKNOWN: Rule = rule!("label-provider-unknown", Warning, Runtime);

/// Checks the domain of a label whose syntax is valid.
pub fn check(template: &Template<'_>, key: &str, findings: &mut Findings<'_>) {
    let (version, context) = (template.version, findings.context);
    let path = || Template::labels_path().key(key.to_owned());
    if let Some(reserved) = Reserved::lookup(key, version, context.release) {
        let (reason, suggestion) = reason_and_suggestion(reserved);
        findings
            .report(&LABEL_RESTRICTED, path(), key, reason)
            .suggest(suggestion);
        return;
    }
    if let Some(present) = present_name(key, version, context.release) {
        let reason = "before Karpenter 1.9, and in v1beta1, a template label must use its current name";
        findings
            .report(&LABEL_RESTRICTED, path(), key, reason)
            .origin(Origin::Runtime)
            .suggest(format!("write {present}"));
        return;
    }
    let kind = context.labels.kind_of(key, template.node_class_group());
    if let LabelKind::Unknown { domain, likely } = kind {
        let reason =
            format!("the provider reserves {domain} for its own labels, and none of them has this name");
        let (rule, suggestion) = match likely {
            Some(likely) => (&LABEL_PROVIDER_MISSPELT, Suggestion::did_you_mean(likely)),
            None => (&LABEL_PROVIDER_UNKNOWN, OWN_DOMAIN.into()),
        };
        findings.report(rule, path(), key, reason).suggest(suggestion);
    }
}

/// Whether a template must not have this label.
pub fn is_restricted(template: &Template<'_>, key: &str, release: KarpenterVersion) -> bool {
    Reserved::lookup(key, template.version, release).is_some()
        || present_name(key, template.version, release).is_some()
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
