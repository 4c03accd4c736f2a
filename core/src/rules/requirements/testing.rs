//! Helpers for the tests of requirements.

use serde_json::{Value, json};

use crate::karpenter::{ApiVersion, KarpenterVersion};
use crate::rules::testing::errors_for;
pub use crate::rules::testing::{errors, warnings};

/// A NodePool of kwok with these requirements.
pub fn requirements(list: &Value) -> Value {
    requirements_of("karpenter.kwok.sh", list)
}

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

/// The errors of a NodePool of this version, read by this release of Karpenter.
pub fn errors_in(version: ApiVersion, release: KarpenterVersion, object: &Value) -> Vec<String> {
    let mut object = object.clone();
    if version == ApiVersion::V1Beta1 {
        let reference = &mut object["spec"]["template"]["spec"]["nodeClassRef"];
        let group = reference["group"].as_str().expect("the helpers above name one");
        *reference =
            json!({"apiVersion": format!("{group}/v1beta1"), "kind": reference["kind"], "name": "default"});
    }
    errors_for(version, release, &object, None)
}
