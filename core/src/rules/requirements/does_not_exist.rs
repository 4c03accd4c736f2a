//! `DoesNotExist` on a label that every instance type has.

use super::{Entry, Scope};
use crate::karpenter::{
    ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, OS_LABEL, Operator, Provider, ZONE_LABEL,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_ABSENT: Rule = rule!("requirement-absent", Error, [Silent], Shown);

/// Returns whether instance types without the label may exist, if it is one that they must not have.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let may_be_absent =
        entry.operator != Operator::DoesNotExist || !is_on_every_instance_type(entry, scope.group);
    if !may_be_absent {
        let reason = format!(
            "every instance type has {}, so no node is ever launched",
            entry.key
        );
        findings
            .report(
                &REQUIREMENT_ABSENT,
                scope.field(entry.index, "operator"),
                entry.operator.as_str(),
                reason,
            )
            .suggest("remove it, or name the values that you do not want with operator NotIn");
    }
    may_be_absent
}

/// Whether it is certain that every instance type of the provider carries the label. Which release of the provider
/// runs is not known, so all of them must agree.
pub fn is_on_every_instance_type(entry: &Entry<'_>, group: Option<&str>) -> bool {
    match entry.key {
        ARCH_LABEL | OS_LABEL | ZONE_LABEL | INSTANCE_TYPE_LABEL | CAPACITY_TYPE_LABEL => true,
        key => group
            .and_then(Provider::of_group)
            .is_some_and(|provider| provider.has_everywhere(key, None)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{errors, requirements_of};

    fn without(key: &str, group: &str) -> Vec<String> {
        errors(&requirements_of(
            group,
            &json!([{"key": key, "operator": "DoesNotExist"}]),
        ))
    }

    #[test]
    fn a_label_that_every_instance_type_carries_cannot_be_absent() {
        for key in [
            "kubernetes.io/arch",
            "beta.kubernetes.io/os",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/instance-type",
            "karpenter.sh/capacity-type",
            "karpenter.kwok.sh/instance-cpu",
            "karpenter.kwok.sh/instance-memory",
            "karpenter.kwok.sh/instance-family",
            "karpenter.kwok.sh/instance-size",
        ] {
            let denied = without(key, "karpenter.kwok.sh");
            assert_eq!(denied.len(), 1, "{key}: {denied:?}");
            assert!(denied[0].ends_with("[requirement-absent]"), "{denied:?}");
        }
        assert_eq!(
            without("kubernetes.io/arch", "karpenter.kwok.sh"),
            [
                "spec.template.spec.requirements[0].operator: Invalid value: \"DoesNotExist\": every instance type \
                 has kubernetes.io/arch, so no node is ever launched; remove it, or name the values that you do not \
                 want with operator NotIn [requirement-absent]"
            ]
        );
    }

    #[test]
    fn what_all_releases_of_a_provider_give_every_type_cannot_be_absent() {
        for (key, group) in [
            ("topology.kubernetes.io/region", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-category", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-generation", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-hypervisor", "karpenter.k8s.aws"),
            // The releases without these labels reject them.
            ("karpenter.k8s.aws/instance-capability-flex", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-tenancy", "karpenter.k8s.aws"),
            ("eks.amazonaws.com/instance-cpu", "eks.amazonaws.com"),
            ("karpenter.azure.com/sku-name", "karpenter.azure.com"),
            ("karpenter.azure.com/sku-storage-ultra-ssd", "karpenter.azure.com"),
            ("karpenter.k8s.gcp/instance-memory", "karpenter.k8s.gcp"),
        ] {
            let denied = without(key, group);
            assert_eq!(denied.len(), 1, "{key}: {denied:?}");
        }
    }

    #[test]
    fn a_label_that_some_instance_types_lack_may_be_absent() {
        for (key, group) in [
            ("topology.kubernetes.io/region", "karpenter.kwok.sh"),
            ("topology.kubernetes.io/region", "karpenter.example.com"),
            ("node.kubernetes.io/windows-build", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-gpu-count", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-accelerator-name", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-local-nvme", "karpenter.k8s.aws"),
            ("karpenter.k8s.aws/instance-cpu-manufacturer", "karpenter.k8s.aws"),
            (
                "karpenter.azure.com/sku-networking-accelerated",
                "karpenter.azure.com",
            ),
            ("karpenter.azure.com/sku-gpu-name", "karpenter.azure.com"),
            ("kubernetes.azure.com/mode", "karpenter.azure.com"),
            ("kubernetes.azure.com/fips_enabled", "karpenter.azure.com"),
            ("karpenter.k8s.gcp/instance-family", "karpenter.k8s.gcp"),
            (
                "karpenter.k8s.alibabacloud/instance-category",
                "karpenter.k8s.alibabacloud",
            ),
            ("karpenter.hetzner.cloud/cpu-type", "karpenter.hetzner.cloud"),
            ("karpenter.k8s.aws/instance-cpu", "eks.amazonaws.com"),
            ("karpenter.example.com/instance-cpu", "karpenter.example.com"),
            ("example.com/team", "karpenter.kwok.sh"),
            ("csi.hetzner.cloud/location", "karpenter.k8s.aws"),
            ("topology.ebs.csi.aws.com/zone", "karpenter.example.com"),
        ] {
            assert_eq!(without(key, group), [""; 0], "{key}");
        }
    }
}
