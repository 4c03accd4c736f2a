//! The same value as kubectl's own decoder, recorded from `sigs.k8s.io/yaml` 1.6.0.

use crate::diagnostic::Severity;
use serde_json::Value;

use super::super::{ProblemKind, float};
use super::all;

/// Whether kubectl rejects the text for one of these problems. It accepts duplicate keys silently.
fn rejected(text: &str) -> bool {
    all(text)
        .iter()
        .flat_map(super::Document::problems)
        .map(|problem| &problem.kind)
        .any(|kind| kind.severity() == Severity::Error && !matches!(kind, ProblemKind::DuplicateKey { .. }))
}

/// Numbers as the API server reads them from JSON. This test's own parser sometimes gets the last digit of a double
/// wrong, so that digit is not compared.
fn as_read(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_i64() => Value::Number(number),
        Value::Number(number) => {
            let float = number.as_f64().unwrap();
            float::as_integer(float).map_or(Value::String(format!("{float:.13e}")), Value::from)
        }
        Value::Array(items) => items.into_iter().map(as_read).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, as_read(value)))
            .collect(),
        other => other,
    }
}

fn disagreements(recorded: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in recorded.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let text = record["yaml"].as_str().unwrap();
        let value = || all(text).pop().map_or(Value::Null, super::Document::into_value);
        let ours = (!rejected(text)).then(value);
        let theirs = record.get("json").cloned();
        if ours.clone().map(as_read) != theirs.clone().map(as_read) {
            wrong.push(format!("{text:?}: kubectl {theirs:?}, poolgate {ours:?}"));
        }
    }
    wrong
}

#[test]
fn values_are_those_of_kubectl() {
    let wrong = disagreements(include_str!("../../../../tests/data/manifest/kubectl.jsonl"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
