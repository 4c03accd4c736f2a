//! Labels that the provider of the pool does not know.

use super::Scope;
use crate::diagnostic::{Origin, Severity, Suggestion};
use crate::karpenter::{LabelKind, Provider, likely_label};
use crate::rules::findings::Findings;
use crate::rules::origins::by_runtime;
use crate::rules::rule::Rule;

pub static REQUIREMENT_LABEL_MISSPELT: Rule =
    rule!("requirement-label-misspelt", Error, [Runtime, Silent], Read);
pub static REQUIREMENT_LABEL_UNKNOWN: Rule =
    rule!("requirement-label-unknown", Warning, [Runtime, Silent], Shown);
pub static REQUIREMENT_LABEL_FOREIGN: Rule = rule!("requirement-label-foreign", Warning, [Silent], Shown);

/// Returns whether the provider may accept the label; reports a label that the provider does not know.
pub fn check(
    index: usize,
    key: &str,
    kind: &LabelKind<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> bool {
    let own = scope.group.and_then(Provider::of_group);
    let by_provider = by_runtime(scope.template.owner);
    let (rule, origin, reason, suggestion) = match kind {
        LabelKind::Unknown {
            domain,
            likely: Some(likely),
        } => (
            &REQUIREMENT_LABEL_MISSPELT,
            by_provider,
            format!("{domain} is the provider's domain, and it has no such label"),
            Suggestion::did_you_mean(likely),
        ),
        LabelKind::Unknown { domain, .. } => (
            &REQUIREMENT_LABEL_UNKNOWN,
            by_provider,
            format!("poolgate knows no such label in the provider's domain {domain}"),
            "if there is one, name it under labels.wellKnown in the policy".into(),
        ),
        LabelKind::Foreign(owner) => (
            &REQUIREMENT_LABEL_FOREIGN,
            Origin::Silent,
            format!(
                "it is a label of {}, and not of this pool's provider, so it selects nothing",
                owner.name
            ),
            likely_label(key, own).map_or_else(|| "remove it".into(), Suggestion::did_you_mean),
        ),
        LabelKind::Custom => match likely_label(key, None) {
            Some(likely) => (
                &REQUIREMENT_LABEL_UNKNOWN,
                Origin::Silent,
                "no instance type has this label, so it selects nothing".into(),
                Suggestion::did_you_mean(likely),
            ),
            None => return true,
        },
        LabelKind::WellKnown(_) | LabelKind::Unlisted => return true,
    };
    findings
        .report(rule, scope.field(index, "key"), key, reason)
        .origin(origin)
        .suggest(suggestion);
    rule.severity != Severity::Error
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{errors, requirements_of, warnings};

    #[test]
    fn a_misspelt_label_is_denied_and_an_unknown_one_gets_a_warning() {
        let object = requirements_of(
            "karpenter.k8s.aws",
            &json!([
                {"key": "karpenter.k8s.aws/instance-famly", "operator": "In", "values": ["c5"]},
                {"key": "karpenter.k8s.aws/instance-chipset", "operator": "In", "values": ["x"]},
                {"key": "topology.kubernetes.io/zones", "operator": "In", "values": ["eu-west-1a"]},
            ]),
        );
        assert_eq!(
            errors(&object),
            [
                "spec.template.spec.requirements[0].key: Invalid value: \"karpenter.k8s.aws/instance-famly\": \
                 karpenter.k8s.aws is the provider's domain, and it has no such label; did you mean \
                 karpenter.k8s.aws/instance-family? [requirement-label-misspelt]"
            ]
        );
        let warned = warnings(&object);
        assert_eq!(warned.len(), 2, "{warned:?}");
        assert!(
            warned[0].contains("poolgate knows no such label in the provider's domain karpenter.k8s.aws; if")
        );
        assert!(warned[1].contains("did you mean topology.kubernetes.io/zone?"));
    }

    #[test]
    fn the_name_of_the_zone_in_another_providers_volumes_is_a_foreign_label() {
        let object = requirements_of(
            "karpenter.k8s.aws",
            &json!([{"key": "csi.hetzner.cloud/location", "operator": "DoesNotExist"}]),
        );
        assert_eq!(errors(&object), [""; 0]);
        assert_eq!(
            warnings(&object),
            [
                "spec.template.spec.requirements[0].key: Invalid value: \"csi.hetzner.cloud/location\": it is a label of \
                 Hetzner, and not of this pool's provider, so it selects nothing; did you mean \
                 topology.kubernetes.io/zone? [requirement-label-foreign]"
            ]
        );
    }

    #[test]
    fn the_suggestion_for_a_label_of_another_provider_is_the_pools_own() {
        let object = requirements_of(
            "eks.amazonaws.com",
            &json!([{"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c"]}]),
        );
        assert_eq!(
            warnings(&object),
            [
                "spec.template.spec.requirements[0].key: Invalid value: \"karpenter.k8s.aws/instance-category\": \
                 it is a label of AWS, and not of this pool's provider, so it selects nothing; did you mean \
                 eks.amazonaws.com/instance-category? [requirement-label-foreign]"
            ]
        );
    }
}
