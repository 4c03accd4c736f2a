//! Fields that were moved or renamed between versions of the API, and fields that belong in other objects.

use crate::diagnostic::{FieldPath, Segment};
use crate::karpenter::ApiVersion;

/// Fields of node classes that are sometimes written in NodePools, by mistake or left over from old versions.
const NODE_CLASS_FIELDS: &[&str] = &[
    "amiFamily",
    "amiSelector",
    "amiSelectorTerms",
    "blockDeviceMappings",
    "detailedMonitoring",
    "instanceProfile",
    "metadataOptions",
    "role",
    "securityGroupSelector",
    "securityGroupSelectorTerms",
    "subnetSelector",
    "subnetSelectorTerms",
    "tags",
    "userData",
];

/// What to do about an unknown field of this name at this path: a clause. `has` returns whether the API knows a
/// field there.
pub fn what_became_of(
    path: &FieldPath,
    name: &str,
    version: ApiVersion,
    has: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let parent = path
        .segments()
        .iter()
        .rev()
        .skip(1)
        .find_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_ref()),
            Segment::Index(_) => None,
        })?;
    by_parent(parent, name, version)
        .or_else(|| (parent == "spec").then(|| of_provisioner(name)).flatten())
        .or_else(|| {
            let is_foreign = NODE_CLASS_FIELDS.contains(&name) && !has(name);
            is_foreign.then_some("it belongs in the node class")
        })
}

fn by_parent(parent: &str, name: &str, version: ApiVersion) -> Option<&'static str> {
    use ApiVersion::{V1, V1Beta1};
    Some(match (version, parent, name) {
        (V1, "disruption", "expireAfter") => "in v1 it is spec.template.spec.expireAfter",
        (V1, "disruption", "terminationGracePeriod") => "it is spec.template.spec.terminationGracePeriod",
        (V1, "nodeClassRef", "apiVersion") => "in v1 it is group, without the version",
        (V1, "nodeClassRef", "apiGroup") => "it is group",
        (V1, "spec", "kubelet" | "kubeletConfiguration") => "in v1 it belongs in the node class",
        (V1Beta1, "spec", "kubeletConfiguration") => "it became kubelet",
        (V1Beta1, "nodeClassRef", "group" | "apiGroup") => "in v1beta1 it is apiVersion, with the version",
        (V1Beta1, "spec", "expireAfter") => "in v1beta1 it is spec.disruption.expireAfter",
        (V1Beta1, "spec", "terminationGracePeriod" | "replicas") | (V1Beta1, "budgets", "reasons") => {
            "only karpenter.sh/v1 has it"
        }
        (_, "budgets", "consolidateAfter" | "consolidationPolicy") => {
            "remove it: the pool has one in spec.disruption for all reasons, and a budget has none of its own"
        }
        (_, "budgets", "timeZone" | "timezone" | "tz") => {
            "write the schedule in UTC, the only zone that Karpenter knows: `poolgate budgets plan` converts hours of others"
        }
        (_, "spec", "resources") => "leave it out: Karpenter adds up what pods request",
        (_, "taints" | "startupTaints", "operator") => {
            "leave it out: an operator belongs in a pod's toleration"
        }
        (_, "taints" | "startupTaints", "tolerationSeconds") => {
            "leave it out: it belongs in a pod's toleration"
        }
        _ => return None,
    })
}

/// What became of a field of the Provisioner, the predecessor of the NodePool.
fn of_provisioner(name: &str) -> Option<&'static str> {
    Some(match name {
        "ttlSecondsAfterEmpty" => {
            "it became spec.disruption.consolidateAfter with consolidationPolicy: WhenEmpty"
        }
        "ttlSecondsUntilExpired" => "it became expireAfter, a duration such as 720h",
        "consolidation" => "it became spec.disruption.consolidationPolicy",
        "provider" | "providerRef" => "it became spec.template.spec.nodeClassRef",
        "labels" => "it became spec.template.metadata.labels",
        "annotations" => "it became spec.template.metadata.annotations",
        _ => return None,
    })
}
