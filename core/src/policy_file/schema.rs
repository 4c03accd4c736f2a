//! The table as a JSON Schema (draft 7, which editors know), for completion and checks while writing. It is as
//! strict as the table where a schema can be; grammars that it cannot express are looser than poolgate's own
//! check.

use crate::policy::Level;
use crate::rules::CATALOGUE;
use serde_json::{Map, Value, json};

use super::fields::{Field, FieldType, POLICY};
use super::grammar::{self, Grammar};

/// The schema of a policy file.
pub fn schema() -> Value {
    let mut schema = described(&POLICY);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
        schema.insert("title".into(), "poolgate policy".into());
    }
    schema
}

fn described(shape: &'static FieldType) -> Value {
    match shape {
        FieldType::Word([only]) => json!({"const": only}),
        FieldType::Word(words) => json!({"enum": words}),
        FieldType::Text(grammar) => text(grammar),
        FieldType::Level => {
            let mut levels: Vec<Value> = Level::VALUES.iter().map(|level| Value::from(*level)).collect();
            // How YAML 1.1 reads `off`.
            levels.push(false.into());
            json!({"enum": levels})
        }
        FieldType::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        FieldType::Quantity => json!({"type": ["string", "integer"], "minimum": 0}),
        FieldType::Anything => json!({"type": "object"}),
        FieldType::Switch => json!({"type": "boolean"}),
        FieldType::List(least, element) => {
            json!({"type": "array", "items": described(element), "minItems": least})
        }
        FieldType::Map(keys, element) if std::ptr::eq(*keys, &raw const grammar::RULE) => rules(element),
        FieldType::Map(keys, element) => json!({
            "type": "object",
            "propertyNames": {"pattern": keys.pattern.unwrap_or_default()},
            "additionalProperties": described(element),
        }),
        FieldType::Object(fields) => object(fields),
    }
}

fn text(grammar: &Grammar) -> Value {
    grammar.pattern.map_or_else(
        || json!({"type": "string"}),
        |pattern| json!({"type": "string", "pattern": pattern}),
    )
}

/// Every rule by its name, so that an editor can offer them.
fn rules(level: &'static FieldType) -> Value {
    let property = |title: &str| with_description(described(level), title);
    let rules: Map<String, Value> = CATALOGUE
        .iter()
        .map(|rule| (rule.id.as_str().to_owned(), property(&rule.page().title)))
        .collect();
    json!({"type": "object", "properties": rules, "additionalProperties": false})
}

fn object(fields: &'static [Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            (
                field.name.to_owned(),
                with_description(described(&field.shape), field.about),
            )
        })
        .collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty()
        && let Some(object) = object.as_object_mut()
    {
        object.insert("required".into(), required.into());
    }
    object
}

fn with_description(mut schema: Value, about: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), about.into());
    }
    schema
}
