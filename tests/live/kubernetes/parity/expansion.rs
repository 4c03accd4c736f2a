//! Long values that the table writes short: `{$list: [51, X]}`, `{$map: [101, {key-$n: X}]}`, `{$text: [64, a]}`.
//! `$n` in a repeated text stands for the number of the repetition. `{$json: TEXT}` is a value whose spelling
//! matters, such as `3.0`, of which YAML would make `3`.

use serde_json::{Map, Value};

/// The intended value.
pub fn expand(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(expand).collect(),
        Value::Object(fields) => {
            if let Some(Value::String(json)) = fields.get("$json") {
                return serde_json::from_str(json).expect("$json is JSON");
            }
            let Some((count, repeated)) = repetition(&fields) else {
                return fields
                    .into_iter()
                    .map(|(key, value)| (key, expand(value)))
                    .collect();
            };
            match fields.keys().next().map(String::as_str) {
                Some("$list") => (0..count).map(|n| numbered(repeated, n)).collect(),
                Some("$map") => (0..count)
                    .map(|n| numbered(repeated, n))
                    .fold(Value::Null, joined),
                _ => Value::String(repeated.as_str().expect("$text repeats a text").repeat(count)),
            }
        }
        other => other,
    }
}

fn repetition(fields: &Map<String, Value>) -> Option<(usize, &Value)> {
    let (key, value) = fields.iter().next()?;
    if !key.starts_with('$') {
        return None;
    }
    assert!(
        matches!(key.as_str(), "$list" | "$map" | "$text") && fields.len() == 1,
        "{fields:?}"
    );
    match value.as_array()?.as_slice() {
        [count, repeated] => Some((usize::try_from(count.as_u64()?).ok()?, repeated)),
        _ => None,
    }
}

fn numbered(value: &Value, number: usize) -> Value {
    let text = |text: &str| text.replace("$n", &number.to_string());
    match value {
        Value::String(string) => Value::String(text(string)),
        Value::Array(items) => items.iter().map(|item| numbered(item, number)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (text(key), numbered(value, number)))
            .collect(),
        other => other.clone(),
    }
}

fn joined(map: Value, more: Value) -> Value {
    let mut map = match map {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    if let Value::Object(more) = more {
        map.extend(more);
    }
    Value::Object(map)
}

#[test]
fn short_forms_stand_for_long_values() {
    let short = serde_json::json!({
        "a": {"$list": [2, {"key": "k$n"}]}, "b": {"$map": [2, {"k$n": 1}]}, "c": [{"$text": [3, "x"]}],
        "d": {"$json": "3.0"},
    });
    let long = serde_json::json!({
        "a": [{"key": "k0"}, {"key": "k1"}], "b": {"k0": 1, "k1": 1}, "c": ["xxx"], "d": 3.0,
    });
    assert_eq!(expand(short), long);
}
