//! A definition's schema as JSON Schema, draft 7, with the descriptions that `poolgate explain` has.

use serde_json::{Map, Value, json};

use crate::explain::fields;

/// The keywords that mean the same in both.
const SHARED: [&str; 15] = [
    "type",
    "description",
    "default",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "required",
];

/// Lists of schemas.
const LISTS: [&str; 3] = ["anyOf", "allOf", "oneOf"];

/// The schema with what OpenAPI says by extensions, or leaves to the API server: either a number or a string, no unknown field,
/// and null for a value that is left out. What only an API server can check is left out.
pub fn json_schema(definition: &Value) -> Value {
    let Value::Object(said) = definition else {
        return definition.clone();
    };
    let is = |keyword: &str| said.get(keyword) == Some(&Value::Bool(true));
    let mut schema = Map::new();
    for (keyword, value) in said {
        let value = match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => properties(fields, said.get("required")),
            ("items", element) => json_schema(element),
            ("additionalProperties", value) => or_null(json_schema(value)),
            (list, Value::Array(all)) if LISTS.contains(&list) => all.iter().map(json_schema).collect(),
            // An editor inserts it as it would print the object.
            ("default", Value::Array(_) | Value::Object(_)) => continue,
            ("pattern", Value::String(pattern)) if has_flags(pattern) => continue,
            (shared, value) if SHARED.contains(&shared) => value.clone(),
            _ => continue,
        };
        schema.insert(keyword.clone(), value);
    }
    if is("x-kubernetes-int-or-string") {
        schema.remove("anyOf");
        schema.insert("type".into(), json!(["integer", "string"]));
    }
    if said.contains_key("properties") && !is("x-kubernetes-preserve-unknown-fields") {
        schema.entry("additionalProperties").or_insert(false.into());
    }
    schema.into()
}

/// Whether a pattern has flags, which Go reads and JavaScript does not.
fn has_flags(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|group| !group.starts_with(':'))
}

fn properties(fields: &Map<String, Value>, required: Option<&Value>) -> Value {
    let required = required.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let field = |(name, definition): (&String, &Value)| {
        let schema = json_schema(definition);
        let is_required = required.iter().any(|required| required == name.as_str());
        (name.clone(), if is_required { schema } else { or_null(schema) })
    };
    fields.iter().map(field).collect::<Map<_, _>>().into()
}

/// Every type but null.
const TYPES: [&str; 5] = ["string", "number", "boolean", "array", "object"];

/// The schema, which accepts null as well: the API server drops it. Of an enumeration, editors offer every type that is listed,
/// and null is no word to offer.
fn or_null(mut schema: Value) -> Value {
    let Value::Object(keywords) = &mut schema else {
        return schema;
    };
    let of_type = keywords.remove("type");
    if let Some(words) = keywords.remove("enum") {
        let word = json!({"enum": words});
        keywords.insert("anyOf".into(), json!([word, {"not": {"type": TYPES}}]));
        return schema;
    }
    match of_type {
        Some(Value::Array(mut types)) => {
            types.push("null".into());
            keywords.insert("type".into(), types.into());
        }
        Some(one) => {
            keywords.insert("type".into(), json!([one, "null"]));
        }
        None => {}
    }
    schema
}

/// Adds to each field of a NodePool what happens by it. A key of a map that is explained becomes a field, such as
/// `limits.nodes`.
pub fn describe(definition: &mut Value) {
    for field in fields::all() {
        let Some(schema) = at(definition, field.path) else {
            continue;
        };
        let paragraphs = field.text.split("\n\n");
        let mut text: Vec<String> = paragraphs
            .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        if let Some(default) = field.default {
            text.push(format!("Default: {default}"));
        }
        match field.since {
            Some("poolgate") => text.push("Defined by poolgate".to_owned()),
            Some(release) => text.push(format!("Since Karpenter {release}")),
            None => {}
        }
        schema.insert("description".into(), text.join("\n\n").into());
    }
}

/// The schema of the field at a path such as `spec.disruption.budgets[].nodes`.
pub fn at<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Map<String, Value>> {
    let mut found = schema.as_object_mut()?;
    for step in path.split('.') {
        let name = step.trim_end_matches("[]");
        if let Some(value) = found
            .get("additionalProperties")
            .filter(|value| value.is_object())
        {
            let value = value.clone();
            let keys = found.entry("properties").or_insert_with(|| json!({}));
            keys.as_object_mut()?.entry(name).or_insert(value);
        }
        found = found.get_mut("properties")?.get_mut(name)?.as_object_mut()?;
        if name.len() < step.len() {
            found = found.get_mut("items")?.as_object_mut()?;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_of_openapi_become_keywords_and_only_what_is_required_rejects_null() {
        let definition = json!({
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": {"type": "string", "enum": ["x"], "pattern": "(?i)^x$"},
                "b": {"type": "string", "enum": ["x"], "format": "date-time"},
                "c": {"type": "object", "additionalProperties": {
                    "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+$", "x-kubernetes-int-or-string": true,
                }},
                "d": {"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": true},
                "e": {"type": "array", "default": [{}], "items": {
                    "type": "object", "properties": {"f": {"type": "boolean", "default": true}},
                }},
            },
            "x-kubernetes-validations": [{"rule": "self.a != 'y'"}],
        });
        let number_or_text = json!({"type": ["integer", "string", "null"], "pattern": "^[0-9]+$"});
        let word_or_null = json!({"anyOf": [{"enum": ["x"]}, {"not": {"type": TYPES}}]});
        assert_eq!(
            json_schema(&definition),
            json!({
                "type": "object",
                "required": ["a"],
                "additionalProperties": false,
                "properties": {
                    "a": {"type": "string", "enum": ["x"]},
                    "b": word_or_null,
                    "c": {"type": ["object", "null"], "additionalProperties": number_or_text},
                    "d": {"type": ["object", "null"], "properties": {}},
                    "e": {"type": ["array", "null"], "items": {
                        "type": "object", "additionalProperties": false,
                        "properties": {"f": {"type": ["boolean", "null"], "default": true}},
                    }},
                },
            })
        );
    }

    #[test]
    fn a_field_that_is_explained_says_what_happens_and_from_which_release_on() {
        let karpenter = poolgate_core::facts::TargetKarpenter::default();
        let mut definition = karpenter
            .definition(poolgate_core::facts::ApiVersion::V1)
            .expect("v1");
        describe(&mut definition);
        let text = |path| at(&mut definition.clone(), path).expect(path)["description"].clone();
        assert!(
            text("spec.limits.nodes")
                .as_str()
                .is_some_and(|text| text.contains("poolgate's gate"))
        );
        let replicas = text("spec.replicas");
        assert!(
            replicas
                .as_str()
                .is_some_and(|text| text.ends_with("\n\nSince Karpenter 1.8"))
        );
        for field in fields::all() {
            assert!(
                at(&mut definition.clone(), field.path).is_some(),
                "{}",
                field.path
            );
        }
    }
}
