//! Every rule's examples do what the catalogue says of them.

#![cfg(test)]

use poolgate::manifest::{Limits, parse};
use poolgate_core::diagnostic::Severity;
use poolgate_core::karpenter::{ApiVersion, Release};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};
use poolgate_core::rule::Rule;
use poolgate_core::rules::CATALOGUE;
use serde_json::{Value, json};

/// Rules that speak of the release, with one that breaks them and one that does not.
const BY_RELEASE: &[(&str, Release, Release)] =
    &[("replicas-release", Release::new(1, 7, 0), Release::new(1, 8, 0))];

/// The NodePool around an example: nothing that any rule would speak of.
fn around(example: Value) -> Value {
    let version = version_of(&example);
    let node_class = match version {
        ApiVersion::V1 => json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}),
        ApiVersion::V1Beta1 => {
            json!({"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "name": "default"})
        }
    };
    let mut pool = json!({
        "apiVersion": format!("karpenter.sh/{}", version.as_str()),
        "kind": "NodePool",
        "metadata": {"name": "example"},
        "spec": {"template": {"spec": {"requirements": [], "nodeClassRef": node_class}}},
    });
    merge(&mut pool, example);
    pool
}

/// The version that an example names, or v1.
fn version_of(example: &Value) -> ApiVersion {
    let named = example.get("apiVersion").and_then(Value::as_str);
    named.map_or(ApiVersion::V1, |name| {
        let (_, version) = name.split_once('/').expect("a group and a version");
        ApiVersion::parse(version).expect("a version of the API")
    })
}

/// The NodePools of an example: where there are two, the first is stored and the second replaces it.
fn pools(example: &str) -> (Option<Value>, Value) {
    let mut pools: Vec<Value> = parse(example, &Limits::default())
        .map(|document| {
            assert_eq!(document.problems(), [], "{example}");
            around(document.into_value())
        })
        .collect();
    let object = pools.pop().expect("an example is a document or two");
    let old = pools.pop();
    assert!(pools.is_empty(), "{example}");
    (old, object)
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// The rules that speak of an example, each with its severity. Notes of other rules are passed over: what is worth
/// knowing of every static pool, say, is no fault of an example.
fn spoken(rule: &Rule, example: &str, release: Release) -> Vec<(&'static str, Severity)> {
    let (old, object) = pools(example);
    let request = Request {
        subject: Subject::NodePool(version_of(&object)),
        object: &object,
        old: old.as_ref(),
    };
    let report = review(&request, &Policy::default(), &release.into()).report;
    report
        .diagnostics()
        .iter()
        .filter(|finding| finding.rule == rule.id || finding.severity != Severity::Info)
        .map(|finding| (finding.rule.as_str(), finding.severity))
        .collect()
}

/// The releases for the bad and the good example of a rule.
fn releases(rule: &Rule) -> (Release, Release) {
    let own = BY_RELEASE.iter().find(|(id, ..)| *id == rule.id.as_str());
    own.map_or((Release::NEWEST, Release::NEWEST), |(_, bad, good)| (*bad, *good))
}

#[test]
fn a_bad_example_breaks_its_rule_and_no_other() {
    for rule in CATALOGUE {
        let (release, _) = releases(rule);
        assert_eq!(
            spoken(rule, rule.bad, release),
            [(rule.id.as_str(), rule.severity)],
            "{}",
            rule.id
        );
    }
}

#[test]
fn a_good_example_breaks_no_rule() {
    for rule in CATALOGUE {
        let (_, release) = releases(rule);
        assert_eq!(spoken(rule, rule.good, release), [], "{}", rule.id);
    }
}
