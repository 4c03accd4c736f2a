//! The texts and objects that the project has already: where fuzzing begins.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use poolgate_core::manifest::{Document, Limits, parse};
use serde_json::{Map, Value, json};

/// The root of the project.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The longest word of a dictionary, in bytes.
const LONGEST_WORD: usize = 40;

/// Writes the seeds into the folder `POOLGATE_FUZZ_SEEDS`, and their words into a dictionary beside it, if that is set.
/// `POOLGATE_FUZZ_MORE` may have more folders of manifests.
pub fn write(seeds: impl FnOnce(&[PathBuf]) -> Vec<String>) {
    let Some(folder) = env::var_os("POOLGATE_FUZZ_SEEDS").map(PathBuf::from) else {
        return;
    };
    let more = env::var_os("POOLGATE_FUZZ_MORE").unwrap_or_default();
    let more: Vec<PathBuf> = env::split_paths(&more).collect();
    for (number, seed) in seeds(&more).iter().enumerate() {
        fs::write(folder.join(format!("{number:04}")), seed).expect("a seed can be written");
    }
    fs::write(folder.with_extension("dictionary"), dictionary()).expect("a dictionary can be written");
}

/// The keys and strings of the corpora, as libFuzzer reads them.
fn dictionary() -> String {
    let words = words();
    let strings = words.iter().filter_map(|(_, value)| value.as_str());
    let all: BTreeSet<&str> = words.iter().map(|(key, _)| key.as_str()).chain(strings).collect();
    let mut dictionary = String::new();
    for word in all.iter().filter(|word| (1..=LONGEST_WORD).contains(&word.len())) {
        dictionary.push('"');
        for byte in word.bytes() {
            let _ = write!(dictionary, "\\x{byte:02X}");
        }
        dictionary += "\"\n";
    }
    dictionary
}

/// All files with this ending in a folder of the project, or of `more`, in their order.
fn files(folder: impl AsRef<Path>, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(files: Vec<PathBuf>) -> impl Iterator<Item = String> {
    files.into_iter().filter_map(|path| fs::read_to_string(path).ok())
}

/// The values of a text's documents.
fn documents(text: &str) -> Vec<Value> {
    parse(text, &Limits::default())
        .map(Document::into_value)
        .collect()
}

/// The objects in JSON, each with the stored one that it replaces.
pub fn reviews(more: &[PathBuf]) -> Vec<String> {
    let line = |(new, old): (Value, Option<Value>)| {
        [Some(new), old]
            .iter()
            .flatten()
            .map(|value| format!("{value}\n"))
            .collect()
    };
    objects(more).into_iter().map(line).collect()
}

/// Manifests.
pub fn manifests(more: &[PathBuf]) -> Vec<String> {
    let own = ["tests/corpus", "tests/data/gitops", "docs/examples"].map(PathBuf::from);
    let folders = own.iter().chain(more);
    let mut texts: Vec<String> = read(folders.flat_map(|folder| files(folder, ".yaml")).collect()).collect();
    texts.extend(examples().into_iter().map(|example| example.new.to_string()));
    texts
}

/// The text of policy files.
pub fn policies(_: &[PathBuf]) -> Vec<String> {
    let files = read(files("docs/examples", ".yaml")).filter(|text| text.contains("kind: Policy"));
    let mut texts: Vec<String> = files.collect();
    for example in examples() {
        if let Some(Value::Object(mut policy)) = example.policy {
            policy.insert("apiVersion".into(), "poolgate.dev/v1alpha1".into());
            policy.insert("kind".into(), "Policy".into());
            texts.push(Value::Object(policy).to_string());
        }
    }
    texts
}

/// AdmissionReviews.
pub fn admission_reviews(more: &[PathBuf]) -> Vec<String> {
    let mut reviews: Vec<String> = read(files("docs/examples", ".review.json")).collect();
    reviews.extend(read(files("tests/data/questions", ".review.json")));
    reviews.extend(
        objects(more)
            .into_iter()
            .map(|(new, old)| admission_review(&new, old.as_ref()).to_string()),
    );
    reviews
}

/// The review that the API server sends for an object.
pub fn admission_review(new: &Value, old: Option<&Value>) -> Value {
    let text = |field: &str| new.get(field).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
    let resource = format!("{}s", text("kind").to_lowercase());
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": {"group": group, "version": version, "kind": text("kind")},
            "resource": {"group": group, "version": version, "resource": resource},
            "name": new.pointer("/metadata/name"),
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "object": new,
            "oldObject": old,
        },
    })
}

/// NodePools and NodeClaims, some with the stored object that they replace.
pub fn objects(more: &[PathBuf]) -> Vec<(Value, Option<Value>)> {
    let mut objects: Vec<(Value, Option<Value>)> = Vec::new();
    for text in manifests(more) {
        let documents = documents(&text).into_iter();
        let listed = documents.flat_map(|document| match document.get("items") {
            Some(Value::Array(items)) => items.clone(),
            _ => vec![document],
        });
        let is_checked = |object: &Value| {
            let kind = object.get("kind").and_then(Value::as_str);
            kind.is_some_and(|kind| ["NodePool", "NodeClaim"].contains(&kind))
        };
        objects.extend(listed.filter(is_checked).map(|object| (object, None)));
    }
    objects.extend(
        examples()
            .into_iter()
            .filter(|example| example.old.is_some())
            .map(|example| (example.new, example.old)),
    );
    objects
}

/// An example of a rule's cases.
struct Example {
    new: Value,
    old: Option<Value>,
    policy: Option<Value>,
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for cases in read(files("core/rules", ".yaml")).flat_map(|text| documents(&text)) {
        let Value::Object(cases) = cases else { continue };
        for example in cases.values().filter_map(Value::as_array).flatten() {
            let Some(new) = example.get("pool") else { continue };
            examples.push(Example {
                new: whole(new),
                old: example.get("old").map(whole),
                policy: example.get("policy").cloned(),
            });
        }
    }
    examples
}

/// A pool of a case with what a case leaves out.
fn whole(pool: &Value) -> Value {
    let mut whole = Map::new();
    whole.insert("apiVersion".into(), "karpenter.sh/v1".into());
    whole.insert("kind".into(), "NodePool".into());
    whole.insert("metadata".into(), json!({"name": "general"}));
    whole.extend(pool.as_object().cloned().unwrap_or_default());
    Value::Object(whole)
}

/// Ledgers as the gate and the reconciler write them, and one of a later release.
pub fn ledgers(_: &[PathBuf]) -> Vec<String> {
    let parts = [
        json!({}),
        json!({"reservations": {"7f9c1a": 1, "b": 2}}),
        json!({"closed": true, "closedOver": 12}),
        json!({"limit": {"mode": "Hard", "nodes": 5, "poolVersion": 3, "later": [1]}}),
        json!({"denied": {"at": 1, "claim": "c", "total": 2, "later": {"x": 1}}}),
        json!({"surged": ["b"], "termination": {"began": 4, "victims": ["z", "y"]}}),
        json!({"replacement": {"claim": "a", "newest": 1, "node": "a", "reason": "Drifted", "uid": "a", "later": null}}),
        json!({"stopped": {"at": 1, "template": 7, "later": "x"}}),
        json!({"later": {"a": [1]}}),
    ];
    let all = parts.iter().filter_map(Value::as_object).flatten();
    let all: Map<String, Value> = all.map(|(key, value)| (key.clone(), value.clone())).collect();
    let ledgers = parts.iter().cloned().chain([Value::Object(all)]).map(|part| {
        let mut ledger = json!({"version": 1, "seen": 7, "reservations": {}});
        if let (Some(ledger), Value::Object(part)) = (ledger.as_object_mut(), part) {
            ledger.extend(part);
        }
        ledger.to_string()
    });
    ledgers.collect()
}

/// All fields of the corpora with their values.
pub fn words() -> &'static [(String, Value)] {
    static WORDS: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words = Vec::new();
        for (new, old) in objects(&[]) {
            collect("", &new, &mut words);
            collect("", &old.unwrap_or_default(), &mut words);
        }
        for text in policies(&[]).into_iter().chain(ledgers(&[])) {
            collect("", &serde_json::from_str(&text).unwrap_or_default(), &mut words);
        }
        words.sort_by_cached_key(|(key, value)| (key.clone(), value.to_string()));
        words.dedup();
        words
    })
}

fn collect(key: &str, value: &Value, into: &mut Vec<(String, Value)>) {
    into.push((key.to_owned(), value.clone()));
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(key, value, into)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(key, value, into)),
        _ => {}
    }
}
