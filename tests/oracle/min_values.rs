//! What Karpenter's `MIN_VALUES_POLICY` changes: too few values for `minValues` are enough under `BestEffort`, but none are
//! not.

use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::policy_file;
use poolgate_core::review::{Request, Subject, review};
use serde_json::{Value, json};

use super::program::Oracle;

fn pool(requirements: &Value) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
        "spec": {
            "disruption": {"consolidateAfter": "1m"},
            "template": {"spec": {
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "expireAfter": "Never",
                "requirements": requirements,
            }},
        },
    })
}

/// The rules about `minValues` that find something under a policy with this setting.
fn found(pool: &Value, setting: &str) -> Vec<&'static str> {
    let text =
        format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {{minValuesPolicy: {setting}}}\n");
    let policy = policy_file::parse(&text).expect("a policy").policy;
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(pool),
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let report = review(&request, &policy, &TargetKarpenter::default()).report;
    let rules = report.into_iter().map(|finding| finding.rule.as_str());
    rules.filter(|rule| rule.contains("min-values")).collect()
}

#[test]
fn best_effort_launches_with_too_few_values_and_not_with_none() {
    let types = ["c-4x-amd64-linux", "c-4x-amd64-linux"];
    let family = "karpenter.kwok.sh/instance-family";
    let too_few = [
        json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types, "minValues": 2}]),
        json!([
            {"key": family, "operator": "In", "values": ["c", "m", "r"], "minValues": 2},
            {"key": family, "operator": "NotIn", "values": ["m", "r"]},
        ]),
        json!([{"key": "example.com/team", "operator": "In", "values": ["blue"], "minValues": 1}]),
    ];
    let mut oracle = Oracle::start();
    for requirements in too_few {
        let pool = pool(&requirements);
        for (setting, is_best_effort) in [("Strict", false), ("BestEffort", true)] {
            let question =
                json!({"kind": "provision", "object": pool, "count": 1, "bestEffort": is_best_effort});
            let answer = oracle.ask_one(question).given();
            let launched = answer["launched"].as_array().expect("a list");
            let is_made = launched.iter().any(|node| node.get("claim").is_none());
            let found = found(&pool, setting);
            assert_eq!(found.is_empty(), is_made, "{setting}: {found:?} {answer}");
        }
    }
}
