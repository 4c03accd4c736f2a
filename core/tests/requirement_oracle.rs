//! Compares our verdict on each set of requirements with Karpenter's recorded one; see `data/README.md`.

#![cfg(test)]

use std::collections::BTreeMap;

use poolgate_core::diagnostic::{Origin, Severity};
use poolgate_core::facts::{ApiVersion, Operator, Selection, TargetKarpenter, canonical_label};
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};
use serde_json::{Value, json};

const LISTS: &str = include_str!("data/requirement-oracle.jsonl");

/// The values that the recording program tested with Karpenter.
const UNIVERSE: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "007",
    "amd64",
    "arm64",
    "spot",
    "on-demand",
    "reserved",
    "blue",
    "",
    "9223372036854775806",
    "9223372036854775807",
];

fn rows() -> impl Iterator<Item = (usize, Value)> {
    (1..)
        .zip(LISTS.lines())
        .map(|(number, line)| (number, serde_json::from_str(line).unwrap()))
}

/// The origins of the errors about a row's requirements.
fn origins(row: &Value) -> Vec<Origin> {
    let object = json!({"spec": {"template": {
        "metadata": {"labels": row["labels"]},
        "spec": {
            "requirements": row["requirements"],
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        },
    }}});
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(&object),
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let report = review(&request, &Policy::default(), &TargetKarpenter::default()).report;
    report
        .with_severity(Severity::Error)
        .filter(|finding| finding.path.to_string().contains("requirements"))
        .map(|finding| finding.origin)
        .collect()
}

/// Whether Karpenter rejects a key that is in none of our lists; poolgate only warns of it.
fn has_unknown_label(row: &Value) -> bool {
    let unknown = ["karpenter.kwok.sh/chipset", "a.karpenter.kwok.sh/x"];
    let mut requirements = row["requirements"].as_array().unwrap().iter();
    requirements.any(|requirement| unknown.contains(&requirement["key"].as_str().unwrap()))
}

#[test]
fn what_karpenter_marks_not_ready_is_rejected() {
    let mut rejected = 0;
    for (number, row) in rows().filter(|(_, row)| row["rejected"] == true) {
        let origins = origins(&row);
        assert!(
            origins.into_iter().any(Origin::is_karpenters) || has_unknown_label(&row),
            "line {number}: {row}"
        );
        rejected += 1;
    }
    assert!(rejected > 1_000, "{rejected}");
}

#[test]
fn what_karpenter_takes_is_rejected_only_by_the_crd_or_for_what_happens_later() {
    let mut taken = 0;
    for (number, row) in rows().filter(|(_, row)| row["rejected"] == false) {
        assert!(!origins(&row).contains(&Origin::Runtime), "line {number}: {row}");
        taken += 1;
    }
    assert!(taken > 1_000, "{taken}");
}

/// A row's selection for each label, under the name that Karpenter uses for it.
fn selections(row: &Value) -> BTreeMap<&str, Selection<'_>> {
    let mut sources: BTreeMap<&str, Vec<Selection<'_>>> = BTreeMap::new();
    for requirement in row["requirements"].as_array().unwrap() {
        let key = canonical_label(requirement["key"].as_str().unwrap(), None);
        let operator = Operator::parse(requirement["operator"].as_str().unwrap()).unwrap();
        let values: Vec<&str> = requirement["values"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        sources
            .entry(key)
            .or_default()
            .push(Selection::new(operator, &values));
    }
    for (key, value) in row["labels"].as_object().unwrap() {
        let label = Selection::new(Operator::In, &[value.as_str().unwrap()]);
        sources.entry(canonical_label(key, None)).or_default().push(label);
    }
    let together = |(key, selections)| (key, Selection::all(selections));
    sources.into_iter().map(together).collect()
}

#[test]
fn requirements_allow_together_what_karpenters_scheduler_says() {
    let mut absent = 0;
    for (number, row) in rows().filter(|(_, row)| row["rejected"] == false) {
        let recorded = row["allowed"].as_object().unwrap();
        let ours = selections(&row);
        assert_eq!(ours.len(), recorded.len(), "line {number}");
        for (key, selection) in ours {
            let allowed: Vec<&str> = UNIVERSE
                .iter()
                .copied()
                .filter(|value| selection.has(value))
                .collect();
            assert_eq!(json!(allowed), recorded[key], "line {number}: {key}");
            let is_absent = row["absent"]
                .as_array()
                .is_some_and(|absent| absent.contains(&json!(key)));
            absent += usize::from(is_absent);
            // If every number of a range is excluded, the selection is empty for us and an empty range for
            // Karpenter.
            assert!(
                selection.is_empty() == is_absent || (selection.is_empty() && allowed.is_empty()),
                "line {number}: {key}"
            );
        }
    }
    assert!(absent > 300, "{absent}");
}
