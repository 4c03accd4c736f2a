//! Requirements on custom labels for which Karpenter has to choose a value itself.

use super::Scope;
use super::groups::Group;
use crate::diagnostic::ErrorType;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_RANDOM_LABEL: Rule = rule!("requirement-random-label", Warning, [Silent], Shown);

pub fn check(group: &Group<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    if !group.is_custom() || !group.selection(scope).is_open() {
        return;
    }
    let Some(entry) = group.entries().next() else {
        return;
    };
    findings
        .report(
            &REQUIREMENT_RANDOM_LABEL,
            scope.entry(entry.index),
            ErrorType::showing(entry.to_string()),
            "if pods select no value, it gets a random number",
        )
        .suggest("give it a value in template.metadata.labels, or list values with operator In");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{requirements, requirements_of, warnings};

    #[test]
    fn only_a_custom_label_without_a_fixed_value_gets_a_warning() {
        let one = |operator: &str, values: &serde_json::Value| {
            warnings(&requirements(
                &json!([{"key": "example.com/team", "operator": operator, "values": values}]),
            ))
        };
        for (operator, values) in [
            ("Exists", json!(null)),
            ("NotIn", json!(["red"])),
            ("Gt", json!(["1"])),
        ] {
            let warned = one(operator, &values);
            assert_eq!(warned.len(), 1, "{operator}");
            assert!(warned[0].ends_with("[requirement-random-label]"));
        }
        assert_eq!(one("In", &json!(["blue", "green"])), [""; 0]);
        assert_eq!(one("DoesNotExist", &json!(null)), [""; 0]);
        let mut object = requirements(&json!([{"key": "example.com/team", "operator": "Exists"}]));
        object["spec"]["template"]["metadata"] = json!({"labels": {"example.com/team": "blue"}});
        assert_eq!(warnings(&object), [""; 0]);
    }

    #[test]
    fn labels_that_a_providers_instance_types_carry_get_no_random_number() {
        for (group, key) in [
            ("karpenter.k8s.gcp", "karpenter.k8s.gcp/instance-family"),
            ("karpenter.k8s.gcp", "topology.kubernetes.io/zone"),
            ("karpenter.k8s.gcp", "topology.k8s.gcp/zone-id"),
            ("karpenter.k8s.gcp", "cloud.google.com/gke-accelerator"),
            ("karpenter.k8s.gcp", "topology.gke.io/zone"),
            ("karpenter.k8s.alibabacloud", "topology.k8s.alicloud/zone-id"),
            ("karpenter.k8s.alibabacloud", "topology.k8s.alibabacloud/zone-id"),
            ("karpenter.k8s.aws", "topology.ebs.csi.aws.com/zone"),
            ("karpenter.azure.com", "kubernetes.azure.com/os-sku"),
            ("karpenter.azure.com", "karpenter.azure.com/sku-storage-ultra-ssd"),
            ("karpenter.hetzner.cloud", "karpenter.hetzner.cloud/location"),
            ("karpenter.k8s.tke", "example.com/team"),
        ] {
            let object = requirements_of(group, &json!([{"key": key, "operator": "Exists"}]));
            assert_eq!(warnings(&object), [""; 0], "{key}");
        }
    }
}
