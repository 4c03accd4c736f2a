//! What the API server makes of a NodePool by its definition, before it calls any webhook: nulls are dropped, and defaults
//! are written.

use serde_json::{Map, Value};

use super::shape::{Constraints, Shape, nodepool};
use super::{ApiVersion, KarpenterVersion, Provider, TargetKarpenter};

const EXPIRE_AFTER: &str = "/template/spec/expireAfter";

/// Either keyword lets an object have any fields.
const OPENING: [&str; 2] = ["x-kubernetes-preserve-unknown-fields", "additionalProperties"];

impl TargetKarpenter {
    /// The NodePool as the API server of this cluster completes it: by the definition, if it is known and used for verdicts,
    /// else by that of the release. A field that the definition does not have stays, to be reported.
    // karpenter: pkg/apis/v1/nodepool.go NodePoolSpec.Disruption
    // karpenter: pkg/apis/v1/nodepool.go Disruption.Budgets
    pub fn completed(&self, object: &Value, version: ApiVersion) -> Value {
        self.prepared(object, version, Unknown::Kept)
    }

    /// The NodePool as the API server of this cluster stores it: completed, and without fields that the definition does not
    /// have.
    pub fn stored(&self, object: &Value, version: ApiVersion) -> Value {
        self.prepared(object, version, Unknown::Dropped)
    }

    fn prepared(&self, object: &Value, version: ApiVersion, unknown: Unknown) -> Value {
        let mut prepared = object.clone();
        let Some(spec) = prepared.get_mut("spec") else {
            return prepared;
        };
        if let Some(schema) = self.schema(version) {
            prepare(spec, Place::Schema(schema.spec()), unknown);
            return prepared;
        }
        let writes_expiry = spec.pointer(EXPIRE_AFTER).is_none_or(Value::is_null) && has_own_expiry(spec);
        if let Some(place) = Place::Table(nodepool(version), self.release()).field("spec") {
            prepare(spec, place, unknown);
        }
        if writes_expiry && let Some(Value::Object(template)) = spec.pointer_mut("/template/spec") {
            template.remove("expireAfter");
        }
        prepared
    }
}

/// Whether the provider has a default of its own for `expireAfter`, which its definition leaves out.
fn has_own_expiry(spec: &Value) -> bool {
    let group = spec.pointer("/template/spec/nodeClassRef/group");
    let provider = group.and_then(Value::as_str).and_then(Provider::of_group);
    provider.is_some_and(|provider| provider.settings.expire_after.is_some())
}

/// What becomes of a field that the definition does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Kept,
    Dropped,
}

/// What a definition says of a value.
#[derive(Debug, Clone, Copy)]
enum Place<'d> {
    /// By the table of all releases, for this one.
    Table(&'static Shape, KarpenterVersion),
    /// By the schema of an installed definition.
    Schema(&'d Map<String, Value>),
}

impl<'d> Place<'d> {
    /// A named field of an object.
    fn field(self, name: &str) -> Option<Self> {
        self.fields()
            .find_map(|(known, place)| (known == name).then_some(place))
    }

    /// The named fields of an object.
    fn fields(self) -> impl Iterator<Item = (&'d str, Self)> {
        let (table, schema) = match self {
            Self::Table(shape, release) => (Some((inner(shape), release)), None),
            Self::Schema(schema) => (None, schema.get("properties").and_then(Value::as_object)),
        };
        let table = table.into_iter().flat_map(|(shape, release)| {
            let fields = match shape {
                Shape::Object(fields) | Shape::Open(fields) => *fields,
                _ => &[],
            };
            fields
                .iter()
                .map(move |(name, shape)| (*name, Self::Table(shape, release)))
        });
        let schema = schema.into_iter().flatten();
        let schema =
            schema.filter_map(|(name, schema)| Some((name.as_str(), Self::Schema(schema.as_object()?))));
        table.chain(schema)
    }

    /// The elements of a list.
    fn elements(self) -> Option<Self> {
        match self {
            Self::Table(shape, release) => match inner(shape) {
                Shape::List(element) => Some(Self::Table(element, release)),
                _ => None,
            },
            Self::Schema(schema) => schema.get("items")?.as_object().map(Self::Schema),
        }
    }

    /// The values of an object with keys of the user's choice.
    fn values(self) -> Option<Self> {
        match self {
            Self::Table(shape, release) => match inner(shape) {
                Shape::Map(value) => Some(Self::Table(value, release)),
                _ => None,
            },
            Self::Schema(schema) => schema.get("additionalProperties")?.as_object().map(Self::Schema),
        }
    }

    /// What is written if there is no value.
    fn default(self) -> Option<Value> {
        match self {
            Self::Table(Shape::Constrained(constraints, _), release) => {
                serde_json::from_str(Constraints::new(constraints).default(release)?).ok()
            }
            Self::Table(..) => None,
            Self::Schema(schema) => schema.get("default").cloned(),
        }
    }

    /// Whether unknown fields of an object are stored.
    fn is_open(self) -> bool {
        match self {
            Self::Table(shape, _) => !matches!(inner(shape), Shape::Object(_)),
            Self::Schema(schema) => OPENING
                .iter()
                .any(|keyword| schema.get(*keyword) == Some(&Value::Bool(true))),
        }
    }
}

/// The shape without its constraints.
fn inner(shape: &'static Shape) -> &'static Shape {
    match shape {
        Shape::Constrained(_, shape) => inner(shape),
        shape => shape,
    }
}

/// Prunes and completes a value. Lists keep their nulls.
fn prepare(value: &mut Value, place: Place<'_>, unknown: Unknown) {
    match value {
        Value::Object(map) => {
            let of = |name: &str| place.field(name).or_else(|| place.values());
            map.retain(|name, value| match of(name) {
                Some(_) => !value.is_null(),
                None => unknown == Unknown::Kept || place.is_open(),
            });
            for (name, default) in place
                .fields()
                .filter_map(|(name, place)| Some((name, place.default()?)))
            {
                map.entry(name).or_insert(default);
            }
            for (name, value) in map {
                if let Some(place) = of(name) {
                    prepare(value, place, unknown);
                }
            }
        }
        Value::Array(list) => {
            if let Some(place) = place.elements() {
                for value in list {
                    prepare(value, place, unknown);
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
        let stored = TargetKarpenter::default().stored(&pool, ApiVersion::V1);
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
            let completed = TargetKarpenter::default().completed(object, ApiVersion::V1);
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
