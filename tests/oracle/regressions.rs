//! Cases in which the two once differed. They are compared again in every run, before all others.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use poolgate_core::facts::ApiVersion;
use serde_json::{Value, json};

use super::case::Case;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/regressions.jsonl");

/// All of them, in the order of the file.
pub(crate) fn regressions() -> Vec<Case> {
    let text = fs::read_to_string(FILE).expect("the regressions can be read");
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(read).collect()
}

fn read(line: &str) -> Case {
    let mut entry: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert!(entry["why"].is_string(), "no reason is given: {line}");
    let object = entry["object"].take();
    let old = Some(entry["old"].take()).filter(|old| !old.is_null());
    Case {
        version: version_of(&object),
        is_behind: entry["isBehind"] == true,
        object,
        old,
    }
}

/// The version in an object's `apiVersion`; v1 if that is missing or unknown.
pub(crate) fn version_of(object: &Value) -> ApiVersion {
    match object["apiVersion"].as_str() {
        Some("karpenter.sh/v1beta1") => ApiVersion::V1Beta1,
        _ => ApiVersion::V1,
    }
}

/// A case as a line of the file.
pub(crate) fn line(case: &Case, why: &str) -> String {
    let mut entry = json!({"why": why, "object": case.object});
    if let Some(old) = &case.old {
        entry["old"] = old.clone();
    }
    if case.is_behind {
        entry["isBehind"] = true.into();
    }
    entry.to_string()
}

/// Adds lines to the file.
pub(crate) fn record(lines: &[String]) {
    let mut file = OpenOptions::new()
        .append(true)
        .open(FILE)
        .expect("the regressions can be written");
    for line in lines {
        writeln!(file, "{line}").expect("the regressions can be written");
    }
}
