//! What Karpenter compares to find the drift of a NodeClaim, and what `poolgate_core::drift` computes for the same templates,
//! requirements and labels.

use std::collections::BTreeMap;

use poolgate_core::drift::{Demanded, template_hash};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::pool::NodePool;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::effort::Effort;
use super::pools;
use super::program::{Answer, Oracle};
use super::words::one_of;

/// How many questions are sent at once.
const BATCH: u64 = 1_000;

/// The keys of labels and requirements, two of them by their old names.
const KEYS: [&str; 7] = [
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "beta.kubernetes.io/arch",
    "example.com/team",
    "example.com/cpu",
    "karpenter.sh/capacity-type",
];

const VALUES: [&str; 10] = [
    "",
    "a",
    "b",
    "zone-a",
    "0",
    "3",
    "4",
    "007",
    "-1",
    "9223372036854775807",
];

#[derive(Default)]
struct Seen {
    hashes: u64,
    unknown: u64,
    matches: u64,
    mismatches: u64,
}

#[test]
fn drift_is_what_karpenter_compares() {
    let effort = Effort::wanted(20_000, 1_000_000);
    let mut oracle = Oracle::start();
    let mut seen = Seen::default();
    let mut failures = Vec::new();
    let end = effort.first + effort.cases;
    let mut first = effort.first;
    while first < end {
        let numbers = first..end.min(first + BATCH);
        let cases: Vec<(Value, BTreeMap<String, String>)> =
            numbers.map(|number| case(effort.seed, number)).collect();
        let questions: Vec<Value> = cases
            .iter()
            .map(|(object, labels)| json!({"kind": "drift", "object": object, "labels": labels}))
            .collect();
        for (number, ((object, labels), answer)) in (first..).zip(cases.iter().zip(oracle.ask(&questions))) {
            if let Err(why) = compare(object, labels, &answer, &mut seen) {
                failures.push(format!("case {number}: {why}: {object} {labels:?}"));
            }
        }
        first += BATCH;
    }
    failures.sort_by_key(String::len);
    failures.truncate(10);
    assert!(
        failures.is_empty(),
        "seed {}:\n{}",
        effort.seed,
        failures.join("\n")
    );
    if effort.is_whole() && effort.cases >= 1_000 {
        let Seen {
            hashes,
            unknown,
            matches,
            mismatches,
        } = seen;
        let least = hashes.min(matches).min(mismatches);
        assert!(
            least > effort.cases / 20 && unknown > 0,
            "{hashes}, {unknown}, {matches}, {mismatches}"
        );
    }
}

fn compare(
    object: &Value,
    labels: &BTreeMap<String, String>,
    answer: &Answer,
    seen: &mut Seen,
) -> Result<(), String> {
    let Answer::Given(answer) = answer else {
        return Ok(());
    };
    let view = Json::from(object);
    let ours = view
        .get("spec")
        .and_then(|spec| template_hash(spec.get("template")?));
    let theirs = answer["hash"].as_str();
    match (ours.map(|hash| hash.to_string()), theirs) {
        (None, _) => seen.unknown += 1,
        (Some(ours), Some(theirs)) if ours == theirs => seen.hashes += 1,
        (ours, theirs) => return Err(format!("our hash is {ours:?}, Karpenter's {theirs:?}")),
    }
    let pool = NodePool::view(ApiVersion::V1, &view);
    let demanded = Demanded::of(&pool.template, None);
    match (demanded.map(|demanded| demanded.matches(labels)), theirs) {
        (None, _) | (_, None) => {}
        (Some(ours), Some(_)) if answer["matches"] == ours => {
            seen.matches += u64::from(ours);
            seen.mismatches += u64::from(!ours);
        }
        (Some(ours), Some(_)) => return Err(format!("we say that the labels match: {ours}")),
    }
    Ok(())
}

fn case(seed: u64, number: u64) -> (Value, BTreeMap<String, String>) {
    let mut rng = StdRng::seed_from_u64(seed.rotate_left(24) ^ number);
    let mut object = pools::nodepool(&mut rng, ApiVersion::V1);
    if rng.random_bool(0.7) {
        let requirements = (0..rng.random_range(0..4)).map(|_| requirement(&mut rng));
        object["spec"]["template"]["spec"]["requirements"] = requirements.collect();
    }
    for _ in 0..rng.random_range(0..4) {
        edit(&mut rng, &mut object["spec"]["template"]);
    }
    let labels = (0..rng.random_range(0..6)).map(|_| {
        let key = one_of(&mut rng, &KEYS);
        (key, one_of(&mut rng, &VALUES))
    });
    (object, labels.collect())
}

fn requirement(rng: &mut StdRng) -> Value {
    let operator = one_of(
        rng,
        &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"],
    );
    let values: Vec<String> = match &*operator {
        "Exists" | "DoesNotExist" => Vec::new(),
        "In" | "NotIn" => (0..rng.random_range(0..4))
            .map(|_| one_of(rng, &VALUES))
            .collect(),
        _ => vec![one_of(rng, &["0", "3", "4", "9223372036854775807"])],
    };
    json!({"key": one_of(rng, &KEYS), "operator": operator, "values": values})
}

/// Changes one field to something that the definition may or may not accept.
fn edit(rng: &mut StdRng, template: &mut Value) {
    let taint = json!({"key": "example.com/a", "value": "", "effect": "NoSchedule"});
    let values = [
        ("/metadata", json!({})),
        ("/metadata", Value::Null),
        ("/metadata", json!({"labels": {}})),
        ("/metadata", json!({"labels": null, "annotations": {}})),
        (
            "/metadata",
            json!({"labels": {"a": "", "b": "a"}, "annotations": {"b": "a"}}),
        ),
        ("/spec/taints", json!([])),
        ("/spec/taints", json!([taint, taint])),
        ("/spec/taints", json!([taint, taint, taint])),
        ("/spec/taints", json!([{}, {"key": "a"}, {"effect": "NoExecute"}])),
        (
            "/spec/taints",
            json!([{"key": "a", "timeAdded": "2026-01-01T00:00:00Z"}]),
        ),
        ("/spec/startupTaints", json!([taint])),
        ("/spec/startupTaints", Value::Null),
        ("/spec/nodeClassRef", Value::Null),
        ("/spec/nodeClassRef", json!({})),
        (
            "/spec/nodeClassRef",
            json!({"group": "karpenter.kwok.sh", "kind": "", "name": "other"}),
        ),
        ("/spec/terminationGracePeriod", "0s".into()),
        ("/spec/terminationGracePeriod", "1h30m".into()),
        ("/spec/terminationGracePeriod", Value::Null),
        ("/spec/expireAfter", "0s".into()),
        ("/spec/expireAfter", "Never".into()),
        ("/spec/expireAfter", "2562047h47m".into()),
        ("/spec/expireAfter", "30d".into()),
        ("/spec/requirements", json!([])),
        ("/spec", json!({})),
        ("/spec", json!({"requirements": []})),
        ("/spec/kubelet", json!({"maxPods": 5})),
    ];
    let (pointer, value) = &values[rng.random_range(0..values.len())];
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
    if let Some(Value::Object(parent)) = template.pointer_mut(parent) {
        parent.insert(field.to_owned(), value.clone());
    }
}
