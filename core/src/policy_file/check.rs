//! Checks a document against the table: types, unknown and missing fields, words and grammars.

use crate::diagnostic::{FieldPath, quoted};
use serde_json::{Map, Value};

use super::fields::{Field, FieldType};
use super::grammar::{self, Grammar, did_you_mean};
use super::mistakes::{At, Found};

/// Notes everything in `value` that the table does not allow. A null counts as absent, as it does in a NodePool.
pub fn check(value: &Value, shape: &'static FieldType, path: &FieldPath, found: &mut Found) {
    match (shape, value) {
        (FieldType::Word(words), Value::String(text)) => check_word(words, text, path, found),
        (FieldType::Text(grammar), Value::String(text)) => check_text(grammar, text, At::Value, path, found),
        (FieldType::Quantity, Value::String(text)) => {
            check_text(&grammar::QUANTITY, text, At::Value, path, found);
        }
        (FieldType::Quantity, Value::Number(number)) if number.is_u64() => {}
        (FieldType::Switch, Value::Bool(_))
        | (FieldType::Level, Value::Bool(false))
        | (FieldType::Anything, Value::Object(_)) => {}
        (FieldType::Level, Value::String(text)) => {
            check_word(crate::policy::Level::VALUES, text, path, found);
        }
        (FieldType::Whole(least, most), Value::Number(number)) => {
            let whole = number.as_i64();
            if !whole.is_some_and(|whole| (*least..=*most).contains(&whole)) {
                let wrong = format!("{number} is not a whole number from {least} to {most}");
                found.push(path, At::Value, &wrong, None);
            }
        }
        (FieldType::List(least, element), Value::Array(elements)) => {
            if elements.len() < *least {
                found.push(
                    path,
                    At::Value,
                    "the list is empty",
                    Some("write at least one, or leave the list out"),
                );
            }
            for (index, value) in elements.iter().enumerate() {
                check(value, element, &path.clone().index(index), found);
            }
        }
        (FieldType::Map(keys, element), Value::Object(map)) => {
            for (key, value) in map {
                let below = path.clone().key(key.clone());
                check_text(keys, key, At::Key, &below, found);
                check(value, element, &below, found);
            }
        }
        (FieldType::Object(fields), Value::Object(map)) => check_object(fields, map, path, found),
        _ => mistyped(shape, value, path, found),
    }
}

fn check_word(words: &[&'static str], text: &str, path: &FieldPath, found: &mut Found) {
    if words.contains(&text) {
        return;
    }
    let suggestion = did_you_mean(text, words.iter().copied());
    let suggestion = suggestion.unwrap_or_else(|| format!("write {}", words.join(" or ")));
    let wrong = format!("{} is not allowed here", quoted(text));
    found.push(path, At::Value, &wrong, Some(&suggestion));
}

fn check_text(grammar: &Grammar, text: &str, at: At, path: &FieldPath, found: &mut Found) {
    if let Err(wrong) = grammar.check(text) {
        let reason = format!("{}: {}", quoted(text), wrong.reason);
        found.push(path, at, &reason, wrong.suggestion.as_deref());
    }
}

fn check_object(fields: &'static [Field], map: &Map<String, Value>, path: &FieldPath, found: &mut Found) {
    for field in fields {
        let below = path.clone().key(field.name);
        match map.get(field.name) {
            Some(value) if !value.is_null() => check(value, &field.shape, &below, found),
            _ if field.required => {
                let wrong = format!("{} is missing", field.name);
                let suggestion = match &field.shape {
                    FieldType::Word([only]) => format!("add {}: {only}", field.name),
                    _ => format!("add it: {}", field.about),
                };
                found.push(&below, At::Value, &wrong, Some(suggestion.trim_end_matches('.')));
            }
            _ => {}
        }
    }
    let is_known = |key: &str| fields.iter().any(|field| field.name == key);
    for key in map.keys().filter(|key| !is_known(key)) {
        let names = || fields.iter().map(|field| field.name);
        let suggestion = did_you_mean(key, names());
        let suggestion =
            suggestion.unwrap_or_else(|| format!("known are {}", names().collect::<Vec<_>>().join(", ")));
        let wrong = format!("there is no field {}", quoted(key));
        found.push(&path.clone().key(key.clone()), At::Key, &wrong, Some(&suggestion));
    }
}

fn mistyped(shape: &FieldType, value: &Value, path: &FieldPath, found: &mut Found) {
    let expected = match shape {
        FieldType::Word(_) | FieldType::Text(_) => "a text",
        FieldType::Level => "error, warning, info or off",
        FieldType::Whole(..) => "a whole number",
        FieldType::Quantity => "a quantity of 0 or more (such as 500 or 4Ti)",
        FieldType::Switch => "true or false",
        FieldType::List(..) => "a list",
        FieldType::Map(..) | FieldType::Object(_) | FieldType::Anything => "a mapping",
    };
    let stands = match value {
        Value::Null => "nothing".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a mapping".into(),
        Value::String(text) => quoted(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    let suggestion = match (shape, value) {
        (FieldType::Word(words), _) => Some(format!("write {}", words.join(" or "))),
        (FieldType::Text(_), Value::Bool(_) | Value::Number(_)) => {
            Some(format!("write it in quotes: \"{value}\""))
        }
        (FieldType::Whole(..), Value::String(text)) => text
            .trim_end_matches('%')
            .parse::<i64>()
            .ok()
            .map(|number| format!("write {number}")),
        (FieldType::List(..), Value::String(_) | Value::Object(_)) => {
            Some("begin each element with a dash".into())
        }
        _ => None,
    };
    let wrong = format!("{stands} is where {expected} should be");
    found.push(path, At::Value, &wrong, suggestion.as_deref());
}
