//! The NodePools of the corpus, most of them written by real users: starting points for mutation in addition to the
//! generated ones.

use std::fs;
use std::path::PathBuf;

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;

/// Every readable NodePool of the corpus, in the order of the files.
pub(crate) fn corpus() -> Vec<Value> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the corpus can be listed")
        .map(|entry| entry.expect("the corpus can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    let pools: Vec<Value> = files.iter().flat_map(nodepools).collect();
    assert!(pools.len() > 80, "the corpus has shrunk to {}", pools.len());
    pools
}

fn nodepools(path: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("every file of the corpus is text");
    parse(&text, &Limits::default())
        .filter(|document| document.unreadable().is_none())
        .map(|document| without_namespace(document.into_value()))
        .filter(|object| {
            let version = object["apiVersion"].as_str().unwrap_or_default();
            object["kind"] == "NodePool" && ["karpenter.sh/v1", "karpenter.sh/v1beta1"].contains(&version)
        })
        .collect()
}

/// Authors often give a NodePool a namespace; kubectl then rejects that, whatever the spec is like.
fn without_namespace(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
    }
    object
}
