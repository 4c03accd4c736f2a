//! The page of the chart's values is what `values.yaml` says.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;

use crate::documents::{WRITE, path, read};

const PAGE: &str = "docs/reference/values.md";
const VALUES: &str = "manifests/helm/values.yaml";
const SCHEMA: &str = "manifests/helm/values.schema.json";

/// The table stands between these.
const BEGIN: &str = "<!-- values -->";
const END: &str = "<!-- end -->";

/// The parts of poolgate that have pods. The comments of the first say what the values that all have mean.
const COMPONENTS: [&str; 5] = ["admission", "gate", "reconciler", "certificates", "unhold"];

/// A value, or a group of them.
struct Entry {
    /// Its keys, from the outermost.
    keys: Vec<String>,
    /// What the comment above it says.
    comment: String,
}

impl Entry {
    /// What the schema says of it, if it names the value.
    fn schema<'a>(&self, schema: &'a Value) -> Option<&'a Value> {
        self.keys
            .iter()
            .try_fold(schema, |schema, key| schema["properties"].get(key))
    }

    fn default<'a>(&self, values: &'a Value) -> &'a Value {
        self.keys.iter().fold(values, |value, key| &value[key])
    }
}

/// The lines of a comment as Markdown: those that begin with more blanks are lines there, too.
fn markdown(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut was_item = false;
    for line in lines {
        let line = line.trim_start_matches('#');
        let is_item = line.starts_with("  ");
        if !text.is_empty() {
            text += if is_item || was_item { "<br>" } else { " " };
        }
        text += &line.trim().replace('|', "\\|");
        was_item = is_item;
    }
    text
}

/// The keys of the values, in their order, with the comments above them.
fn entries(text: &str) -> Vec<Entry> {
    let (mut entries, mut keys, mut comment) = (Vec::new(), Vec::<(usize, String)>::new(), Vec::new());
    for line in text.lines() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if bare.starts_with('#') {
            comment.push(bare);
        } else if let Some((key, _)) = bare.split_once(':').filter(|_| !bare.starts_with("- ")) {
            keys.retain(|(depth, _)| *depth < indent);
            keys.push((indent, key.to_owned()));
            entries.push(Entry {
                keys: keys.iter().map(|(_, key)| key.clone()).collect(),
                comment: markdown(&std::mem::take(&mut comment)),
            });
        } else {
            comment.clear();
        }
    }
    entries
}

/// How Helm is given it.
fn code(value: &Value) -> String {
    format!("`{value}`").replace('|', "\\|")
}

/// The values that every component has: for each its name below the component, and the default of each component.
fn of_every_component<'e>(
    entries: &'e [Entry],
    values: &Value,
    schema: &Value,
) -> Vec<(&'e Entry, BTreeMap<String, Vec<&'static str>>)> {
    let has = |component: &str, keys: &[String]| {
        entries
            .iter()
            .find(|entry| entry.keys[0] == component && entry.keys[1..] == *keys)
    };
    let mut shared = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.keys[0] == COMPONENTS[0] && entry.keys.len() > 1)
    {
        let is_group = entry
            .schema(schema)
            .is_some_and(|schema| schema["properties"].is_object());
        let all: Vec<_> = COMPONENTS
            .iter()
            .filter_map(|component| has(component, &entry.keys[1..]))
            .collect();
        if is_group || all.len() < COMPONENTS.len() {
            continue;
        }
        let mut defaults = BTreeMap::<String, Vec<&'static str>>::new();
        for (component, entry) in COMPONENTS.into_iter().zip(all) {
            defaults
                .entry(code(entry.default(values)))
                .or_default()
                .push(component);
        }
        shared.push((entry, defaults));
    }
    shared
}

/// The table of those.
fn table_of_components(shared: &[(&Entry, BTreeMap<String, Vec<&'static str>>)]) -> String {
    let mut table = String::from("| value of a component | default | what |\n| --- | --- | --- |\n");
    for (entry, defaults) in shared {
        let default = match defaults.first_key_value() {
            Some((default, _)) if defaults.len() == 1 => default.clone(),
            _ => {
                let each = defaults
                    .iter()
                    .map(|(default, of)| format!("{}: {default}", of.join(", ")));
                each.collect::<Vec<_>>().join("<br>")
            }
        };
        let _ = writeln!(
            table,
            "| `{}` | {default} | {} |",
            entry.keys[1..].join("."),
            entry.comment
        );
    }
    table
}

/// The tables, and what is wrong with their sources.
fn table(text: &str, values: &Value, schema: &Value) -> (String, Vec<String>) {
    let mut entries = entries(text);
    entries.retain(|entry| entry.schema(schema).is_some());
    let shared = of_every_component(&entries, values, schema);
    let is_shared = |entry: &Entry| {
        let is_component = COMPONENTS.contains(&&*entry.keys[0]);
        is_component
            && shared
                .iter()
                .any(|(shared, _)| shared.keys[1..] == entry.keys[1..])
    };
    let mut table = String::from("| value | default | what |\n| --- | --- | --- |\n");
    let mut wrong = Vec::new();
    for (entry, _) in shared.iter().filter(|(entry, _)| entry.comment.is_empty()) {
        wrong.push(format!("{} has no comment", entry.keys.join(".")));
    }
    for entry in entries.iter().filter(|entry| !is_shared(entry)) {
        let name = entry.keys.join(".");
        let of_first = || {
            let keys = &entry.keys[1..];
            let same = entries
                .iter()
                .find(|other| other.keys[0] == COMPONENTS[0] && other.keys[1..] == *keys);
            same.filter(|_| !keys.is_empty())
                .map(|same| same.comment.as_str())
        };
        let comment = match &*entry.comment {
            "" => of_first().unwrap_or_default(),
            comment => comment,
        };
        let is_group = entry
            .schema(schema)
            .is_some_and(|schema| schema["properties"].is_object());
        if comment.is_empty() && !is_group {
            wrong.push(format!("{name} has no comment"));
        }
        if is_group && comment.is_empty() {
            continue;
        }
        let default = if is_group {
            String::new()
        } else {
            code(entry.default(values))
        };
        let _ = writeln!(table, "| `{name}` | {default} | {comment} |");
    }
    let named: Vec<_> = entries.iter().map(|entry| entry.keys.join(".")).collect();
    for name in names(schema, "") {
        if !named.contains(&name) {
            wrong.push(format!(
                "{name} is in the schema, and {VALUES} has no default of it"
            ));
        }
    }
    let components = COMPONENTS.map(|component| format!("`{component}`"));
    let _ = write!(
        table,
        "\n{} each have these, such as `gate.podLabels`:\n\n{}",
        components.join(", "),
        table_of_components(&shared)
    );
    (table, wrong)
}

/// The values that a schema names.
fn names(schema: &Value, prefix: &str) -> Vec<String> {
    let Some(properties) = schema["properties"].as_object() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    // Helm's own.
    for (key, schema) in properties.iter().filter(|(key, _)| *key != "global") {
        let name = [prefix, key].concat();
        all.extend(names(schema, &format!("{name}.")));
        all.push(name);
    }
    all
}

#[test]
fn page_of_values_lists_every_value_with_its_default_and_its_comment() {
    let (text, schema) = (read(VALUES), read(SCHEMA));
    let values = parse(&text, &Limits::default())
        .next()
        .expect("values")
        .into_value();
    let schema: Value = serde_json::from_str(&schema).expect("the schema");
    let (table, wrong) = table(&text, &values, &schema);
    assert_eq!(wrong, [""; 0]);
    let page = read(PAGE);
    let (head, rest) = page.split_once(BEGIN).expect("the beginning of the table");
    let (_, tail) = rest.split_once(END).expect("its end");
    let made = format!("{head}{BEGIN}\n\n{table}\n{END}{tail}");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path(PAGE), &made).expect(PAGE);
    }
    assert!(
        read(PAGE) == made,
        "{PAGE}: tests/generated-files --write writes it anew"
    );
}
