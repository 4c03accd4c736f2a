//! Fields that were moved or renamed between versions of the API, and fields that belong in other objects.

use crate::diagnostic::{FieldPath, Segment};
use crate::facts::ApiVersion;

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

/// Fields that the metadata of every object has, but not that of a template.
const OBJECT_FIELDS: &[&str] = &[
    "creationTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "uid",
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
        .or_else(|| of_provisioner(name))
        .or_else(|| (parent == "spec").then(|| of_provisioners_spec(name)).flatten())
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
        (V1, "disruption" | "spec", "gracefulTerminationPeriod") => {
            "write spec.template.spec.terminationGracePeriod instead"
        }
        (V1, "disruption" | "spec", "minAge") => {
            "write spec.disruption.consolidateAfter instead, the time for which no pod may come or go"
        }
        (V1Beta1, "disruption" | "spec", "minAge") => {
            "use karpenter.sh/v1, where consolidateAfter delays consolidation, or remove it"
        }
        (_, "metadata", name) if OBJECT_FIELDS.contains(&name) => {
            "remove it, because nodes get only labels and annotations from here"
        }
        (V1, "nodeClassRef", "apiVersion") => "write group instead, without the version",
        (V1, "nodeClassRef", "apiGroup") => "write group instead",
        (V1, "spec", "kubelet" | "kubeletConfiguration") => "move it to the node class",
        (V1Beta1, "spec", "kubeletConfiguration") => "write kubelet instead",
        (V1Beta1, "nodeClassRef", "group" | "apiGroup") => "write apiVersion instead, with the version",
        (V1Beta1, "spec", "expireAfter") => "move it to spec.disruption.expireAfter",
        (V1Beta1, "spec" | "disruption", "terminationGracePeriod" | "gracefulTerminationPeriod")
        | (V1Beta1, "spec", "replicas")
        | (V1Beta1, "budgets", "reasons") => "use karpenter.sh/v1, or remove it",
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

/// The successor of a field that only the Provisioner had, the predecessor of the NodePool, wherever it is written.
fn of_provisioner(name: &str) -> Option<&'static str> {
    Some(match name {
        "ttlSecondsAfterEmpty" => {
            "write spec.disruption.consolidateAfter, such as 30s, with consolidationPolicy: WhenEmpty"
        }
        "ttlSecondsUntilExpired" => "write expireAfter instead, a duration such as 720h",
        _ => return None,
    })
}

/// The successor of a field in the spec of a Provisioner.
fn of_provisioners_spec(name: &str) -> Option<&'static str> {
    Some(match name {
        "consolidation" => "write spec.disruption.consolidationPolicy instead",
        "provider" | "providerRef" => "write spec.template.spec.nodeClassRef instead",
        "labels" => "move them to spec.template.metadata.labels",
        "annotations" => "move them to spec.template.metadata.annotations",
        _ => return None,
    })
}
