//! Makes the table of fields and constraints (`core/src/karpenter/shape/tables.rs`) from the definitions that Karpenter
//! published (`core/tests/data/karpenter-crds.jsonl`).

#![cfg(test)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

const TABLE: &str = "src/karpenter/shape/tables.rs";

/// Fields in the order in which people write them, and findings are reported; others follow by name.
const ORDER: &[&str] = &[
    "apiVersion",
    "group",
    "kind",
    "name",
    "metadata",
    "spec",
    "status",
    "disruption",
    "limits",
    "weight",
    "replicas",
    "template",
    "budgets",
    "consolidationPolicy",
    "consolidateAfter",
    "nodes",
    "reasons",
    "schedule",
    "duration",
    "requirements",
    "taints",
    "startupTaints",
    "nodeClassRef",
    "expireAfter",
    "terminationGracePeriod",
    "nodeLimitMode",
    "resources",
    "kubelet",
    "key",
    "operator",
    "value",
    "values",
    "minValues",
    "effect",
    "timeAdded",
    "labels",
    "annotations",
];

/// What one release says of a field; `None` if it does not have it.
type Said<'a> = Vec<(String, Option<&'a Value>)>;

/// The schema of each release that serves a kind in this version, oldest first.
fn recorded(kind: &str, version: &str) -> Vec<(String, Value)> {
    let records = include_str!("data/karpenter-crds.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut schemas = Vec::new();
    for record in records.filter(|record| record["crd"]["spec"]["names"]["kind"] == kind) {
        let versions = record["crd"]["spec"]["versions"].as_array().expect("versions");
        for found in versions.iter().filter(|known| known["name"] == version) {
            let mut schema = found["schema"]["openAPIV3Schema"].clone();
            add_own(&mut schema, kind);
            for release in record["releases"].as_array().expect("releases") {
                schemas.push((release.as_str().expect("text").to_owned(), schema.clone()));
            }
        }
    }
    schemas
}

/// Adds what poolgate reads beside the definition: parts of the metadata, any status, and its own field.
fn add_own(schema: &mut Value, kind: &str) {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    schema["properties"]["metadata"] = json!({"type": "object", "open": true,
        "properties": {"name": {"type": "string"}, "labels": texts, "annotations": texts}});
    schema["properties"]["status"] = json!({});
    if kind == "NodePool" {
        let disruption = &mut schema["properties"]["spec"]["properties"]["disruption"];
        disruption["properties"]["nodeLimitMode"] = json!({"type": "string"});
    }
}

/// The same part of each release's schema.
fn part<'a>(said: &Said<'a>, of: impl Fn(&'a Value) -> Option<&'a Value>) -> Said<'a> {
    let parts = said
        .iter()
        .map(|(release, schema)| (release.clone(), schema.and_then(&of)));
    parts.collect()
}

/// Writes what the releases say of a value, by the type that the last of them has for it.
fn write_shape(said: &Said<'_>, depth: usize, table: &mut String) {
    let newest = said
        .iter()
        .rev()
        .find_map(|(_, schema)| *schema)
        .expect("a schema");
    let list = part(said, |schema| schema.get("items"));
    let map = part(said, |schema| schema.get("additionalProperties"));
    match newest["type"].as_str() {
        _ if newest["x-kubernetes-int-or-string"] == true => table.push_str("IntegerOrText"),
        None => table.push_str("Any"),
        Some("boolean") => table.push_str("Boolean"),
        Some("integer") => table.push_str("Integer"),
        Some("string") if newest.get("format").is_some() => table.push_str("FormattedText"),
        Some("string") => table.push_str("Text"),
        Some("array") => write_inner("List", &list, depth, table),
        Some("object") if newest.get("properties").is_some() => {
            write_fields(
                said,
                if newest["open"] == true { "Open" } else { "Object" },
                depth,
                table,
            );
        }
        Some("object") => write_inner("Map", &map, depth, table),
        other => panic!("{other:?} is a new type"),
    }
}

fn write_inner(shape: &str, said: &Said<'_>, depth: usize, table: &mut String) {
    let _ = write!(table, "{shape}(&");
    write_value(said, &BTreeSet::new(), depth, table);
    table.push(')');
}

fn write_fields(said: &Said<'_>, shape: &str, depth: usize, table: &mut String) {
    let objects = said
        .iter()
        .filter_map(|(_, schema)| schema.as_ref()?["properties"].as_object());
    let names: BTreeSet<&String> = objects.flat_map(|fields| fields.keys()).collect();
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|name| {
        ORDER
            .iter()
            .position(|known| known == name)
            .unwrap_or(ORDER.len())
    });
    let _ = writeln!(table, "{shape}(&[");
    for name in names {
        let field = part(said, |schema| schema["properties"].get(name));
        let demands = |schema: &Value| {
            schema["required"]
                .as_array()
                .is_some_and(|all| all.contains(&json!(name)))
        };
        let required = said.iter().filter(|(_, schema)| schema.is_some_and(demands));
        let required = required.map(|(release, _)| release.clone()).collect();
        let _ = write!(table, "{}({name:?}, ", "    ".repeat(depth + 1));
        write_value(&field, &required, depth + 1, table);
        table.push_str("),\n");
    }
    let _ = write!(table, "{}])", "    ".repeat(depth));
}

/// Writes a value with its constraints.
fn write_value(said: &Said<'_>, required: &BTreeSet<String>, depth: usize, table: &mut String) {
    let mut words = Vec::new();
    let by_release: Vec<Vec<String>> = said
        .iter()
        .map(|(release, schema)| {
            schema.map_or_else(Vec::new, |schema| {
                constraints(schema, required.contains(release), &mut words)
            })
        })
        .collect();
    let mut runs = Vec::new();
    for (at, constraints) in by_release.iter().enumerate() {
        for constraint in constraints {
            let is_there = |at: usize| by_release[at].contains(constraint);
            if at == 0 || !is_there(at - 1) {
                let until = (at..said.len()).find(|later| !is_there(*later));
                runs.push(in_releases(
                    constraint,
                    (at > 0).then(|| &said[at].0),
                    until.map(|until| &said[until].0),
                ));
            }
        }
    }
    if runs.is_empty() {
        write_shape(said, depth, table);
    } else {
        let _ = write!(table, "Demanding(&[{}], &", runs.join(", "));
        write_shape(said, depth, table);
        table.push(')');
    }
}

/// A constraint with the first release that has it, and the first that no longer does.
fn in_releases(constraint: &str, since: Option<&String>, until: Option<&String>) -> String {
    let numbers = |release: &String| release.replace('.', ", ");
    let mut text = format!("demand({constraint})");
    if let Some(since) = since {
        let _ = write!(text, ".since({})", numbers(since));
    }
    if let Some(until) = until {
        let _ = write!(text, ".until({})", numbers(until));
    }
    text
}

/// What a schema demands beyond a type. `words` are those that releases before this one had in its enumeration: new
/// words come last.
fn constraints(schema: &Value, is_required: bool, words: &mut Vec<String>) -> Vec<String> {
    let number = |keyword: &str| schema[keyword].as_i64();
    let is_text = schema["type"] == "string" || schema["x-kubernetes-int-or-string"] == true;
    let mut found = Vec::new();
    if is_required && schema.get("default").is_none() {
        found.push("Present".to_owned());
    }
    if let Some(least) = number("minimum") {
        let int32 = (schema["format"] == "int32").then_some(i64::from(i32::MAX));
        let most = number("maximum")
            .or(int32)
            .map_or("i64::MAX".to_owned(), |most| most.to_string());
        found.push(format!("Within({least}..={most})"));
    }
    if let Some(most) = number("maxItems").or(number("maxProperties")) {
        found.push(format!("AtMost({most})"));
    }
    if let Some(listed) = schema["enum"].as_array() {
        let listed: Vec<String> = listed.iter().map(Value::to_string).collect();
        words.extend(
            listed
                .iter()
                .filter(|word| !words.contains(word))
                .cloned()
                .collect::<Vec<_>>(),
        );
        let known: Vec<_> = words
            .iter()
            .filter(|word| listed.contains(word))
            .cloned()
            .collect();
        found.push(format!("OneOf(&[{}])", known.join(", ")));
    }
    if let Some(default) = schema.get("default") {
        found.push(format!("Default(r#\"{default}\"#)"));
    }
    if is_text {
        if let Some(least) = number("minLength") {
            found.push(format!("AtLeast({least})"));
        }
        if let Some(most) = number("maxLength") {
            found.push(format!("AtMost({most})"));
        }
        if let Some(pattern) = schema["pattern"].as_str() {
            found.push(format!("Matches(r\"{pattern}\")"));
        }
        if let Some(format) = schema["format"].as_str() {
            assert_eq!(format, "date-time", "a new format");
            found.push("DateTime".to_owned());
        }
    }
    found
}

fn table() -> String {
    let mut table = "//! Every field of a NodePool and a NodeClaim with its constraints, as the definitions of all releases have them, and\n\
        //! poolgate's own `nodeLimitMode`.\n\
        //!\n\
        //! Generated by core/tests/definitions.rs; `tests/generated-files --write` writes it again.\n\n\
        use super::Legal::{AtLeast, AtMost, DateTime, Default, Matches, OneOf, Present, Within};\n\
        use super::Shape::{self, Any, Boolean, Demanding, FormattedText, Integer, IntegerOrText, List, Map, Object, Open, Text};\n\
        use super::demand;\n"
        .to_owned();
    for (kind, version) in [
        ("NodePool", "v1"),
        ("NodeClaim", "v1"),
        ("NodePool", "v1beta1"),
        ("NodeClaim", "v1beta1"),
    ] {
        let schemas = recorded(kind, version);
        let said = schemas
            .iter()
            .map(|(release, schema)| (release.clone(), Some(schema)))
            .collect();
        let _ = write!(
            table,
            "\npub static {}_{}: Shape = ",
            kind.to_uppercase(),
            version.to_uppercase()
        );
        write_shape(&said, 0, &mut table);
        table.push_str(";\n");
    }
    table
}

#[test]
fn the_table_is_what_the_recorded_definitions_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let generated = table();
    if std::env::var_os("POOLGATE_WRITE").is_some() {
        std::fs::write(&path, &generated).expect("can be written");
    }
    let written = std::fs::read_to_string(&path).expect("can be read");
    assert!(
        written == generated,
        "{TABLE} is outdated; run tests/generated-files --write"
    );
}
