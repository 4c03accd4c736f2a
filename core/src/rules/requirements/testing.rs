//! Helpers for the tests of requirements.

use serde_json::{Value, json};

pub use crate::rules::testing::{errors, warnings};

/// A NodePool of the provider with this API group, with these requirements.
pub fn requirements_of(group: &str, list: &Value) -> Value {
    let kind = match group {
        "karpenter.k8s.aws" => "EC2NodeClass",
        "karpenter.azure.com" => "AKSNodeClass",
        "karpenter.k8s.gcp" => "GCENodeClass",
        "karpenter.k8s.alibabacloud" => "ECSNodeClass",
        "karpenter.hetzner.cloud" => "HCloudNodeClass",
        "karpenter-ibm.sh" => "IBMNodeClass",
        "karpenter.kwok.sh" => "KWOKNodeClass",
        _ => "NodeClass",
    };
    json!({"spec": {"template": {"spec": {
        "requirements": list,
        "nodeClassRef": {"group": group, "kind": kind, "name": "default"},
    }}}})
}
