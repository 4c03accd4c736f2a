//! Every rule's examples do what the catalogue says of them: those of a bound under the policy that sets it, which
//! stands in `docs/examples/policy` under the rule's name.

#![cfg(test)]

use poolgate::manifest::{Limits, parse};
use poolgate_core::diagnostic::Severity;
use poolgate_core::karpenter::{ApiVersion, Release};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};
use poolgate_core::rule::Rule;
use poolgate_core::rules::CATALOGUE;
use serde_json::{Value, json};

/// The NodePool around an example: nothing that any rule would speak of.
fn around(example: &str) -> Value {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "example"},
        "spec": {"template": {"spec": {
            "requirements": [],
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        }}},
    });
    let document = parse(example, &Limits::default())
        .next()
        .expect("an example is one document");
    assert_eq!(document.problems(), [], "{example}");
    merge(&mut pool, document.into_value());
    pool
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

/// The policy under which a rule has something to say.
fn policy(rule: &Rule) -> Policy {
    if !rule.id.as_str().starts_with("policy-") {
        return Policy::default();
    }
    let path = format!(
        "{}/docs/examples/policy/{}.yaml",
        env!("CARGO_MANIFEST_DIR"),
        rule.id
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let reading = poolgate::policy_file::read(&text);
    reading
        .unwrap_or_else(|mistakes| panic!("{path}: {mistakes:?}"))
        .policy
}

/// The rules that speak of an example, each with its severity.
fn spoken(rule: &Rule, example: &str) -> Vec<(&'static str, Severity)> {
    let object = around(example);
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &object,
        old: None,
    };
    let report = review(&request, &policy(rule), Release::NEWEST).report;
    report
        .diagnostics()
        .iter()
        .map(|finding| (finding.rule.as_str(), finding.severity))
        .collect()
}

#[test]
fn a_bad_example_breaks_its_rule_and_no_other() {
    for rule in CATALOGUE {
        assert_eq!(
            spoken(rule, rule.bad),
            [(rule.id.as_str(), rule.severity)],
            "{}",
            rule.id
        );
    }
}

#[test]
fn a_good_example_breaks_no_rule() {
    for rule in CATALOGUE {
        assert_eq!(spoken(rule, rule.good), [], "{}", rule.id);
    }
}
