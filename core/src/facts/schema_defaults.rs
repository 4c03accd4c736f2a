//! What the API server itself writes into a NodePool, by the definition of each release, before it calls any
//! webhook.

use serde_json::Value;

use super::shape::{Constraints, Shape, nodepool};
use super::{ApiVersion, KarpenterVersion, Provider, TargetKarpenter};

impl TargetKarpenter {
    /// The NodePool as the API server of this cluster would complete it: by the definition, if it is known and used for
    /// verdicts, else by that of the release.
    // karpenter: pkg/apis/v1/nodepool.go NodePoolSpec.Disruption
    // karpenter: pkg/apis/v1/nodepool.go Disruption.Budgets
    pub fn completed(&self, object: &Value, version: ApiVersion) -> Value {
        match self.schema(version) {
            Some(schema) => {
                let mut completed = object.clone();
                if let Some(spec) = completed.get_mut("spec") {
                    schema.complete(spec);
                }
                completed
            }
            None => schema_defaults(object, version, self.release()),
        }
    }
}

/// The NodePool as the API server would complete it by the definition of this release. A field is written if it is
/// absent or null and its parent is an object; existing values are never changed. No `expireAfter` is written where the
/// provider has one of its own.
pub fn schema_defaults(object: &Value, version: ApiVersion, release: KarpenterVersion) -> Value {
    let mut completed = object.clone();
    complete(&mut completed, nodepool(version), release);
    let group = object.pointer("/spec/template/spec/nodeClassRef/group");
    if Provider::settings_of(group.and_then(Value::as_str))
        .expire_after
        .is_some()
        && let Some(before) = object.pointer(TEMPLATE)
        && let Some(Value::Object(after)) = completed.pointer_mut(TEMPLATE)
        && before.get(EXPIRE_AFTER).is_none_or(Value::is_null)
    {
        after.remove(EXPIRE_AFTER);
    }
    completed
}

/// The spec as the API server would store it by the definition of this release: unknown fields and nulls dropped, then
/// completed.
pub fn as_stored(object: &Value, version: ApiVersion, release: KarpenterVersion) -> Value {
    let mut stored = object.clone();
    if let Some(spec) = stored.get_mut("spec")
        && let Shape::Object(fields) = nodepool(version)
        && let Some((_, shape)) = fields.iter().find(|(name, _)| *name == "spec")
    {
        prune(spec, shape);
    }
    schema_defaults(&stored, version, release)
}

fn prune(value: &mut Value, shape: &Shape) {
    match (shape, value) {
        (Shape::Constrained(_, shape), value) => prune(value, shape),
        (Shape::List(element), Value::Array(list)) => list.iter_mut().for_each(|value| prune(value, element)),
        (Shape::Map(inner), Value::Object(map)) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(|value| prune(value, inner));
        }
        (Shape::Object(fields), Value::Object(map)) => {
            map.retain(|name, value| {
                let known = fields.iter().find(|(known, _)| known == name);
                known.filter(|_| !value.is_null()).is_some_and(|(_, shape)| {
                    prune(value, shape);
                    true
                })
            });
        }
        _ => {}
    }
}

const TEMPLATE: &str = "/spec/template/spec";
const EXPIRE_AFTER: &str = "expireAfter";

fn complete(value: &mut Value, shape: &Shape, release: KarpenterVersion) {
    match (shape, value) {
        (Shape::Constrained(_, shape), value) => complete(value, shape, release),
        (Shape::List(element), Value::Array(list)) => {
            for value in list {
                complete(value, element, release);
            }
        }
        (Shape::Object(fields), Value::Object(map)) => {
            for (name, shape) in *fields {
                if map.get(*name).is_none_or(Value::is_null)
                    && let Shape::Constrained(constraints, _) = shape
                    && let Some(default) = Constraints::new(constraints).default(release)
                    && let Ok(default) = serde_json::from_str(default)
                {
                    map.insert((*name).to_owned(), default);
                }
                if let Some(value) = map.get_mut(*name) {
                    complete(value, shape, release);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_stored_lacks_nulls_and_fields_that_the_definition_does_not_have() {
        let pool = json!({
            "metadata": {"finalizers": null},
            "spec": {
                "foo": 1,
                "limits": {"cpu": null, "nodes": "5"},
                "template": {
                    "metadata": {"labels": {"a": "b", "c": null}, "annotations": null, "name": "x"},
                    "spec": {"taints": null, "expireAfter": null, "requirements": [{"key": "a", "values": null, "foo": 1}]},
                },
            },
        });
        let stored = as_stored(&pool, ApiVersion::V1, KarpenterVersion::NEWEST);
        assert_eq!(stored["metadata"], pool["metadata"]);
        assert_eq!(stored["spec"]["limits"], json!({"nodes": "5"}));
        assert_eq!(stored["spec"].get("foo"), None);
        assert_eq!(
            stored["spec"]["template"],
            json!({
                "metadata": {"labels": {"a": "b"}},
                "spec": {"expireAfter": "720h", "requirements": [{"key": "a"}]},
            })
        );
    }

    #[test]
    fn eks_auto_mode_has_its_own_lifetime_of_nodes() {
        let pool = |group: &str, expiry: Value| {
            let class = json!({"group": group, "kind": "NodeClass", "name": "default"});
            json!({"spec": {"template": {"spec": {"nodeClassRef": class, "expireAfter": expiry}}}})
        };
        let expiry = |object: &Value| {
            let completed = schema_defaults(object, ApiVersion::V1, KarpenterVersion::NEWEST);
            completed.pointer("/spec/template/spec/expireAfter").cloned()
        };
        assert_eq!(
            expiry(&pool("karpenter.k8s.aws", Value::Null)),
            Some(json!("720h"))
        );
        assert_eq!(expiry(&pool("eks.amazonaws.com", Value::Null)), None);
        assert_eq!(
            expiry(&pool("eks.amazonaws.com", json!("24h"))),
            Some(json!("24h"))
        );
    }
}
