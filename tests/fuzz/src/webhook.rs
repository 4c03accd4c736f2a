//! The bytes of an AdmissionReview through the webhook, and its object through `lint`.
#![no_main]

use std::collections::BTreeSet;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use poolgate::fuzzing::Webhook;
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::manifest::has_variable;
use poolgate_fuzz::commands::Commands;
use poolgate_fuzz::corpus::admission_review;
use poolgate_fuzz::{corpus, mutate, values};
use serde_json::Value;

struct Programs {
    webhook: Webhook,
    commands: Commands,
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::json(data, size, max_size, seed)
});

fuzz_target!(init: corpus::write(corpus::admission_reviews), |data: &[u8]| -> Corpus {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| Programs {
        webhook: Webhook::default(),
        commands: Commands::about("pool.json"),
    });
    let [mutated, validated] = [programs.webhook.mutate(data), programs.webhook.validate(data)];
    assert_eq!(mutated.is_ok(), validated.is_ok());
    let values = values(data);
    let Some([review]) = values.as_deref() else {
        return if mutated.is_ok() { Corpus::Keep } else { Corpus::Reject };
    };
    if let (Ok(mutated), Ok(validated)) = (mutated, validated) {
        answers(&programs.webhook, review, [&mutated, &validated]);
    }
    agree(programs, &review["request"]["object"]);
    Corpus::Keep
});

/// Both answers are answers to the review, and the patch of the patched object is empty.
fn answers(webhook: &Webhook, review: &Value, answers: [&[u8]; 2]) {
    let [mutated, validated] =
        answers.map(|answer| serde_json::from_slice::<Value>(answer).expect("an answer is JSON"));
    for answer in [&mutated, &validated] {
        assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
        let is_allowed = answer["response"]["allowed"].as_bool().expect("a verdict");
        assert!(
            is_allowed || answer["response"]["status"]["message"].is_string(),
            "{answer}"
        );
    }
    let Some(patch) = mutated["response"]["patch"].as_str() else {
        return;
    };
    // An update that leaves the spec as it was gets no defaults in it, and a number that poolgate restores changes it.
    let (old, new) = (&review["request"]["oldObject"], &review["request"]["object"]);
    if old.is_object() && old["spec"] == new["spec"] {
        return;
    }
    let patch = STANDARD.decode(patch).expect("a patch in base64");
    let patch: json_patch::Patch = serde_json::from_slice(&patch).expect("a patch");
    let mut once = review.clone();
    json_patch::patch(&mut once["request"]["object"], &patch).expect("it applies");
    let again = webhook.mutate(once.to_string().as_bytes()).expect("an answer");
    let again: Value = serde_json::from_slice(&again).expect("an answer is JSON");
    assert!(again["response"]["patch"].is_null(), "{again}\n{once}");
}

/// The webhook denies a new object exactly for the errors that `lint` finds in the same text.
fn agree(programs: &Programs, object: &Value) {
    // lint checks v1beta1 for another release.
    let is_pool = object["apiVersion"] == "karpenter.sh/v1" && object["kind"] == "NodePool";
    // The API server reads these before it calls a webhook.
    let are_texts = |map: &Value| {
        map.as_object()
            .is_none_or(|map| map.values().all(Value::is_string))
    };
    let metadata = &object["metadata"];
    if !is_pool
        || ![&metadata["annotations"], &metadata["labels"]]
            .map(are_texts)
            .iter()
            .all(|are| *are)
    {
        return;
    }
    // A file may have variables, whose values are not known.
    if is_open(object) {
        return;
    }
    let stored = TargetKarpenter::default().completed(object, ApiVersion::V1);
    let review = admission_review(&stored, None).to_string();
    let answer = programs.webhook.validate(review.as_bytes()).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
    let causes = answer["response"]["status"]["details"]["causes"].as_array();
    let denied: BTreeSet<&str> = causes
        .into_iter()
        .flatten()
        .filter_map(|cause| cause["field"].as_str())
        .collect();

    let found = programs.commands.lint(&stored.to_string());
    let rule = |result: &Value| result["rule"].as_str().unwrap_or_default().to_owned();
    // What the API server itself rejects, and texts that are not read.
    let is_of_text = |result: &Value| rule(result).starts_with("manifest-");
    let is_read = !found
        .results
        .iter()
        .any(|result| rule(result) == "manifest-syntax");
    if found.summary["encrypted"] != 0 || !is_read {
        return;
    }
    let errors = found
        .results
        .iter()
        .filter(|result| result["severity"] == "error");
    let errors = errors.filter(|result| !is_of_text(result));
    let errors: BTreeSet<&str> = errors.filter_map(|result| result["field"].as_str()).collect();
    // Both show a part of very many.
    let is_whole = !denied.contains("") && found.summary["omitted"] == 0;
    assert!(
        if is_whole {
            denied == errors
        } else {
            denied.is_empty() == errors.is_empty()
        },
        "{denied:?}\n{errors:?}\n{stored}"
    );
}

/// Whether a key or a text has a variable.
fn is_open(value: &Value) -> bool {
    match value {
        Value::String(text) => has_variable(text),
        Value::Array(items) => items.iter().any(is_open),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| has_variable(key) || is_open(value)),
        _ => false,
    }
}
