//! What the definition of NodePools says, as OpenAPI: that of a release by the table of all releases, or the installed one.

use serde_json::{Map, Value, json};

use super::release::{DEFINITIONS, Said};
use super::shape::{CAPACITY_TYPES, Constraint, ConstraintKind, FieldShapes, Shape, nodepool};
use super::{ApiVersion, KarpenterVersion, SERVED_KINDS, ServedKind, TargetKarpenter};

/// The keyword of an object whose other fields are kept.
const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

impl TargetKarpenter {
    /// The schema of a NodePool of this version as the definition has it, without its rules in CEL and with poolgate's
    /// `nodeLimitMode`; `None` if it does not serve the version. Of a field with a default it does not require a value: the API
    /// server writes it first.
    pub fn definition(&self, version: ApiVersion) -> Option<Value> {
        let release = self.release();
        let is_ours = |served: &ServedKind| {
            served.kind == "NodePool" && served.version == version.as_str() && served.is_in(release)
        };
        let installed = self.schema(version);
        let is_served = installed.map_or_else(|| SERVED_KINDS.iter().any(is_ours), |schema| schema.served);
        if !is_served {
            return None;
        }
        let mut schema = of_shape(nodepool(version), release, "");
        if let Some(installed) = installed {
            let own = schema.pointer(MODE).cloned();
            *schema.pointer_mut("/properties/spec")? = Value::Object(installed.spec().clone());
            if let (Some(own), Some(Value::Object(fields))) = (own, schema.pointer_mut(DISRUPTION)) {
                fields.entry("nodeLimitMode").or_insert(own);
            }
        }
        Some(schema)
    }

    /// The capacity types that it knows.
    pub fn capacity_types(&self) -> &'static [&'static str] {
        CAPACITY_TYPES.words(self.release())
    }
}

/// Where a schema has the fields of `spec.disruption`.
const DISRUPTION: &str = "/properties/spec/properties/disruption/properties";
/// Where a schema has poolgate's own field.
const MODE: &str = "/properties/spec/properties/disruption/properties/nodeLimitMode";

/// Each level of a shape is one of the table, so the recursion is bounded.
fn of_shape(shape: &Shape, release: KarpenterVersion, path: &str) -> Value {
    match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Integer => json!({"type": "integer"}),
        Shape::IntegerOrText => json!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        }),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::List(element) => {
            json!({"type": "array", "items": of_shape(element, release, &format!("{path}[]"))})
        }
        Shape::Map(value) => {
            json!({"type": "object", "additionalProperties": of_shape(value, release, path)})
        }
        Shape::Object(fields) => of_fields(fields, release, path),
        Shape::Open(fields) => {
            let mut schema = of_fields(fields, release, path);
            insert(&mut schema, OPEN, true);
            schema
        }
        Shape::Any => json!({}),
        Shape::Constrained(constraints, shape) => {
            let mut schema = of_shape(shape, release, path);
            for constraint in constraints.iter().filter(|constraint| constraint.is_in(release)) {
                constrain(&mut schema, shape, constraint);
            }
            schema
        }
    }
}

fn of_fields(fields: FieldShapes, release: KarpenterVersion, path: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, shape) in fields {
        let path = if path.is_empty() {
            (*name).to_owned()
        } else {
            format!("{path}.{name}")
        };
        if !has_field(release, &path) {
            continue;
        }
        if let Shape::Constrained(constraints, _) = shape
            && constraints.iter().any(|constraint| {
                matches!(constraint.kind, ConstraintKind::Present) && constraint.is_in(release)
            })
        {
            required.push(Value::from(*name));
        }
        properties.insert((*name).to_owned(), of_shape(shape, release, &path));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        insert(&mut schema, "required", required);
    }
    schema
}

/// Whether the definition of a release has a field of the table: none that begins later.
fn has_field(release: KarpenterVersion, path: &str) -> bool {
    let mut later = DEFINITIONS
        .iter()
        .filter(|definition| !release.has(definition.releases.oldest));
    let begins = |said: &Said| said.path == path && said.keyword == "type";
    !later.any(|definition| definition.begins.iter().any(begins))
}

/// Adds the keywords of a constraint on a value of this shape.
fn constrain(schema: &mut Value, shape: &Shape, constraint: &Constraint) {
    match &constraint.kind {
        // Said by the object that has the field.
        ConstraintKind::Present => {}
        ConstraintKind::Within(range) => {
            insert(schema, "minimum", *range.start());
            if *range.end() < i64::MAX {
                insert(schema, "maximum", *range.end());
            }
        }
        ConstraintKind::AtMost(most) => {
            let keyword = match shape {
                Shape::List(_) => "maxItems",
                Shape::Map(_) | Shape::Object(_) | Shape::Open(_) => "maxProperties",
                _ => "maxLength",
            };
            insert(schema, keyword, *most);
        }
        ConstraintKind::AtLeast(least) => insert(schema, "minLength", *least),
        ConstraintKind::OneOf(words) => insert(schema, "enum", *words),
        ConstraintKind::Matches(pattern) => insert(schema, "pattern", pattern.text()),
        ConstraintKind::Default(text) => {
            if let Ok(value) = serde_json::from_str::<Value>(text) {
                insert(schema, "default", value);
            }
        }
    }
}

fn insert(schema: &mut Value, keyword: &str, value: impl Into<Value>) {
    if let Value::Object(keywords) = schema {
        keywords.insert(keyword.to_owned(), value.into());
    }
}
