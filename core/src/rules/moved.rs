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

/// The help for an unknown field of this name at this path: an imperative. `has` returns whether the API knows a
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
            is_foreign.then_some("move it to the node class")
        })
}

fn by_parent(parent: &str, name: &str, version: ApiVersion) -> Option<&'static str> {
    use ApiVersion::{V1, V1Beta1};
    Some(match (version, parent, name) {
        (V1, "disruption", "expireAfter") => "move it to spec.template.spec.expireAfter",
        (V1, "disruption", "terminationGracePeriod") => {
            "move it to spec.template.spec.terminationGracePeriod"
        }
        (V1, "nodeClassRef", "apiVersion") => "write group instead, without the version",
        (V1, "nodeClassRef", "apiGroup") => "write group instead",
        (V1, "spec", "kubelet" | "kubeletConfiguration") => "move it to the node class",
        (V1Beta1, "spec", "kubeletConfiguration") => "write kubelet instead",
        (V1Beta1, "nodeClassRef", "group" | "apiGroup") => "write apiVersion instead, with the version",
        (V1Beta1, "spec", "expireAfter") => "move it to spec.disruption.expireAfter",
        (V1Beta1, "spec", "terminationGracePeriod" | "replicas") | (V1Beta1, "budgets", "reasons") => {
            "use karpenter.sh/v1, or remove it"
        }
        (_, "budgets", "consolidateAfter" | "consolidationPolicy") => {
            "write it only in spec.disruption, where it applies to the whole pool"
        }
        (_, "budgets", "timeZone" | "timezone" | "tz") => {
            "write the schedule in UTC. `poolgate budgets plan` converts local hours"
        }
        (_, "spec", "resources") => "remove it, because Karpenter adds up the requests of pods",
        (_, "taints" | "startupTaints", "operator" | "tolerationSeconds") => {
            "move it to the toleration of a pod"
        }
        _ => return None,
    })
}

/// The successor of a field of the Provisioner, the predecessor of the NodePool.
fn of_provisioner(name: &str) -> Option<&'static str> {
    Some(match name {
        "ttlSecondsAfterEmpty" => {
            "write spec.disruption.consolidateAfter with consolidationPolicy: WhenEmpty"
        }
        "ttlSecondsUntilExpired" => "write expireAfter instead, a duration such as 720h",
        "consolidation" => "write spec.disruption.consolidationPolicy instead",
        "provider" | "providerRef" => "write spec.template.spec.nodeClassRef instead",
        "labels" => "move them to spec.template.metadata.labels",
        "annotations" => "move them to spec.template.metadata.annotations",
        _ => return None,
    })
}
