//! A NodePool in v1beta1, as Karpenter 1.0 converts it to v1 (`ConvertFrom` of `pkg/apis/v1/nodepool_conversion.go`).

use serde_json::{Map, Value, json};

use super::hash::{HASH_ANNOTATION, HASH_VERSION_ANNOTATION};

/// The annotation in which a converted NodePool keeps its `kubelet`.
// karpenter 1.0.8: pkg/apis/v1/labels.go KubeletCompatibilityAnnotationKey
pub const KUBELET_ANNOTATION: &str = "compatibility.karpenter.sh/v1beta1-kubelet-conversion";

/// The group and kind of a node class, as far as they are written.
type Class<'c> = (Option<&'c str>, Option<&'c str>);

/// A NodePool in v1beta1, completed by its definition, as v1 has it. Karpenter completes a `nodeClassRef` by the kind of its
/// provider, which is that of `other`, the NodePool that it is compared with.
// karpenter 1.0.8: pkg/apis/v1/nodepool_conversion.go NodePool.ConvertFrom
// karpenter 1.0.8: pkg/apis/v1/nodepool_conversion.go NodePoolSpec.convertFrom
pub fn converted(object: &Value, other: &Value) -> Value {
    let mut converted = object.clone();
    let class = class_of(other);
    let Some(fields) = converted.as_object_mut() else {
        return converted;
    };
    let kubelet = object.pointer("/spec/template/spec/kubelet");
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        let expire_after = disruption(spec.get_mut("disruption"));
        template(spec.get_mut("template"), expire_after, class_of(object), class);
    }
    annotations(fields, kubelet);
    fields.insert("apiVersion".to_owned(), "karpenter.sh/v1".into());
    converted
}

fn class_of(object: &Value) -> Class<'_> {
    let text = |field: &str| {
        let text = object
            .pointer("/spec/template/spec/nodeClassRef")?
            .get(field)?
            .as_str();
        text.filter(|text| !text.is_empty())
    };
    let group = || text("apiVersion").and_then(|version| version.split('/').next());
    (text("group").or_else(group), text("kind"))
}

/// Converts `spec.disruption`. Returns its `expireAfter`, which v1 has in the template.
// karpenter 1.0.8: pkg/apis/v1/nodepool_conversion.go Disruption.convertFrom
fn disruption(disruption: Option<&mut Value>) -> Option<Value> {
    let disruption = disruption?.as_object_mut()?;
    if disruption.get("consolidationPolicy").and_then(Value::as_str) == Some("WhenUnderutilized") {
        disruption.insert(
            "consolidationPolicy".to_owned(),
            "WhenEmptyOrUnderutilized".into(),
        );
        disruption.insert("consolidateAfter".to_owned(), "0s".into());
    }
    disruption.remove("expireAfter")
}

// karpenter 1.0.8: pkg/apis/v1/nodepool_conversion.go NodeClaimTemplate.convertFrom
fn template(template: Option<&mut Value>, expire_after: Option<Value>, own: Class<'_>, class: Class<'_>) {
    let Some(template) = template.and_then(Value::as_object_mut) else {
        return;
    };
    // An empty map or list of v1beta1 is left out, and to the hash of v1 it is another value than none.
    let drop_empty = |fields: &mut Map<String, Value>, names: [&str; 2]| {
        for name in names {
            let value = fields.get(name);
            let is_empty = |value: &Value| {
                value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
            };
            if value.is_some_and(is_empty) {
                fields.remove(name);
            }
        }
    };
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        drop_empty(metadata, ["labels", "annotations"]);
    }
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    drop_empty(spec, ["taints", "startupTaints"]);
    spec.remove("kubelet");
    spec.remove("resources");
    if let Some(expire_after) = expire_after {
        spec.insert("expireAfter".to_owned(), expire_after);
    }
    if let Some(reference) = spec.get_mut("nodeClassRef") {
        *reference = node_class(reference, own, class);
    }
}

/// A `nodeClassRef` of v1, with the group and kind of its own, else of the provider.
fn node_class(reference: &Value, own: Class<'_>, class: Class<'_>) -> Value {
    let fields = [
        ("name", reference.get("name").and_then(Value::as_str)),
        ("group", own.0.or(class.0)),
        ("kind", own.1.or(class.1)),
    ];
    let written = fields
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_owned(), value?.into())));
    Value::Object(written.collect())
}

fn annotations(object: &mut Map<String, Value>, kubelet: Option<&Value>) {
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    let Some(annotations) = annotations.as_object_mut() else {
        return;
    };
    // The hash of v1beta1 has another version, and Karpenter computes it anew without drift.
    annotations.retain(|key, _| key != HASH_ANNOTATION && key != HASH_VERSION_ANNOTATION);
    match kubelet {
        Some(kubelet) => annotations.insert(KUBELET_ANNOTATION.to_owned(), kubelet.to_string().into()),
        None => annotations.remove(KUBELET_ANNOTATION),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::template_hash;
    use crate::facts::{ApiVersion, KarpenterVersion, TargetKarpenter};
    use crate::json::Json;

    fn pool(reference: &Value, disruption: &Value) -> Value {
        json!({"apiVersion": "karpenter.sh/v1beta1", "spec": {
            "disruption": disruption,
            "template": {
                "metadata": {"labels": {}},
                "spec": {"nodeClassRef": reference, "taints": [], "kubelet": {"maxPods": 10}, "requirements": []},
            },
        }})
    }

    fn v1(old: &Value, other: &Value) -> Value {
        let old =
            TargetKarpenter::from(KarpenterVersion::LAST_OF_V1BETA1).completed(old, ApiVersion::V1Beta1);
        converted(&old, other)
    }

    #[test]
    fn a_pool_of_v1beta1_has_the_template_that_karpenter_converts_it_to() {
        let old = pool(
            &json!({"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}),
            &json!({"consolidationPolicy": "WhenUnderutilized", "expireAfter": "24h"}),
        );
        let new = v1(&old, &json!({}));
        let class = json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
        assert_eq!(
            new["spec"]["template"],
            json!({"metadata": {}, "spec": {"nodeClassRef": class, "expireAfter": "24h", "requirements": []}})
        );
        assert_eq!(
            new["spec"]["disruption"],
            json!({
                "budgets": [{"nodes": "10%"}], "consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s",
            })
        );
        assert_eq!(
            new["metadata"]["annotations"],
            json!({KUBELET_ANNOTATION: "{\"maxPods\":10}"})
        );
        let written = json!({"spec": {"nodeClassRef": class, "expireAfter": "24h", "requirements": []}});
        let hash = |template: &Value| template_hash(&Json::from(template));
        assert_eq!(hash(&new["spec"]["template"]), hash(&written));
    }

    #[test]
    fn a_class_that_is_named_only_is_of_the_kind_that_the_other_pool_has() {
        let other = json!({"spec": {"template": {"spec": {"nodeClassRef": {
            "group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "other",
        }}}}});
        let new = v1(&pool(&json!({"name": "default"}), &json!({})), &other);
        assert_eq!(
            new["spec"]["template"]["spec"]["nodeClassRef"],
            json!({"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"})
        );
    }

    #[test]
    fn a_policy_of_v1beta1_other_than_the_default_keeps_its_time() {
        let new = |disruption: Value| {
            let mut new = v1(&pool(&json!({"name": "a"}), &disruption), &json!({}));
            new["spec"]["disruption"].take()
        };
        let empty = new(json!({"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"}));
        assert_eq!(
            (&empty["consolidationPolicy"], &empty["consolidateAfter"]),
            (&json!("WhenEmpty"), &json!("5m"))
        );
        let never = new(json!({"consolidationPolicy": "WhenUnderutilized", "consolidateAfter": "Never"}));
        assert_eq!(never["consolidateAfter"], json!("0s"), "Karpenter loses it");
    }

    #[test]
    fn anything_can_be_converted() {
        for object in [
            json!(null),
            json!({"spec": []}),
            json!({"metadata": [], "spec": {"template": 1, "disruption": 2}}),
        ] {
            drop(converted(&object, &object));
        }
    }
}
