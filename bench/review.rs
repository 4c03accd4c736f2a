//! `cargo bench --bench review`: what one review costs, without the network: an ordinary NodePool, the largest
//! legal one, and hostile ones of 1 MiB, each made to hit the part of the catalogue that could grow worst.
//!
//! Bounded: each line is the median of at most `--reviews=N` reviews (default 50) or two seconds.

// A benchmark prints, and numbers of bytes are far below what a float holds exactly.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

mod largest;
mod table;

use std::hint::black_box;
use std::time::{Duration, Instant};

use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Review, Subject, review};
use serde_json::{Map, Value, json};

use crate::largest::{Largest, largest};
use crate::table::Table;

/// The size of a hostile object.
const MIB: usize = 1 << 20;

/// The longest that any review may take. The API server gives up after three seconds.
const BOUND: Duration = Duration::from_millis(500);

fn main() -> std::io::Result<()> {
    let mut table = Table::new("review", &["NodePool", "bytes", "findings", "median µs"]);
    let reviews = table::argument("--reviews", 50);
    let mut slowest = Duration::ZERO;
    for (name, object) in legal().into_iter().chain(hostile()) {
        let (findings, median) = measure(&object, reviews);
        let bytes = object.to_string().len();
        table.push(name, &[bytes as f64, findings as f64, median.as_secs_f64() * 1e6]);
        slowest = slowest.max(median);
    }
    assert!(slowest <= BOUND, "{slowest:?} is beyond the bound of {BOUND:?}");
    println!("every review took less than {BOUND:?}");
    table::leave(vec![table])
}

/// The number of findings, and the median time. Updates, because an update is compared with the stored object, too.
fn measure(object: &Value, reviews: usize) -> (usize, Duration) {
    let (policy, karpenter) = (Policy::default(), TargetKarpenter::default());
    let object = Json::from(object);
    let old = object.clone();
    let judge = || -> Review {
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object: black_box(&object),
            old: Some(&old),
            claims: None,
            at: jiff::Timestamp::default(),
        };
        review(&request, &policy, &karpenter)
    };
    let report = judge().report;
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < reviews && begun.elapsed() < Duration::from_secs(2) {
        let begun = Instant::now();
        black_box(judge());
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    (report.diagnostics().len(), median)
}

fn pool(spec: Value, template: Value) -> Value {
    let mut whole = json!({
        "metadata": {"name": "bench"},
        "spec": {"template": {"spec": {
            "requirements": [],
            "expireAfter": "Never",
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        }}},
    });
    merge(&mut whole, under("spec", spec));
    merge(&mut whole, under("spec", under("template", template)));
    whole
}

/// An object with one field.
fn under(field: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(field.to_owned(), value)]))
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

fn with_requirements(list: Vec<Value>) -> Value {
    pool(json!({}), under("spec", under("requirements", Value::from(list))))
}

fn legal() -> Vec<(&'static str, Value)> {
    let usual = pool(
        json!({
            "limits": {"cpu": "1000", "memory": "1000Gi"},
            "disruption": {"consolidateAfter": "1m", "budgets": [
                {"nodes": "10%"},
                {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"},
            ]},
        }),
        json!({"metadata": {"labels": {"example.com/team": "blue"}}, "spec": {"requirements": [
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
            {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
            {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["4"]},
        ]}}),
    );
    let Largest {
        requirements,
        labels,
        budgets,
        taints,
    } = largest(60, 50);
    let whole = pool(
        json!({"disruption": {"consolidateAfter": "1m", "budgets": budgets}}),
        json!({"metadata": {"labels": labels}, "spec": {"requirements": requirements, "taints": taints}}),
    );
    vec![("usual", usual), ("largest legal", whole)]
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

fn on_cpu(operator: &str, values: Vec<String>) -> Value {
    let mut requirement = json!({"key": "karpenter.k8s.aws/instance-cpu", "operator": operator});
    merge(&mut requirement, under("values", Value::from(values)));
    requirement
}

/// About as many values as are read, all on the label for the instance type: invented names, or real ones again and again.
fn ten_lists_of_types(are_invented: bool) -> Vec<Value> {
    let families = ["c5", "c6i", "m5", "m6g", "r5d", "t3", "x2idn", "p4d"];
    let sizes = [
        "medium", "large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge", "metal",
    ];
    let types = families
        .iter()
        .flat_map(|family| sizes.iter().map(move |size| format!("{family}.{size}")));
    let types: Vec<String> = types.collect();
    let types = types.iter().cycle().take(2_900).enumerate();
    let types: Vec<String> = types
        .map(|(number, name)| {
            if are_invented {
                format!("{name}{}", number / 64)
            } else {
                name.clone()
            }
        })
        .collect();
    let list = |number: u32| {
        let operator = if number % 3 == 2 { "NotIn" } else { "In" };
        json!({"key": "node.kubernetes.io/instance-type", "operator": operator, "values": types})
    };
    (0..10).map(list).collect()
}

fn hostile() -> Vec<(&'static str, Value)> {
    let bounds = (0..98).map(|number| on_cpu("Gt", vec![number.to_string()]));
    let contradiction = std::iter::once(on_cpu("In", numbers(MIB / 9)))
        .chain(bounds)
        .chain([on_cpu("Lt", vec!["5".into()])])
        .collect();
    let lists = (0..100)
        .map(|shift| {
            let values = (shift..shift + 1_200).map(|number| number.to_string()).collect();
            on_cpu(if shift % 2 == 0 { "In" } else { "NotIn" }, values)
        })
        .collect();
    let bad_values = (0..MIB / 10).map(|number| format!("-{number}")).collect();
    let many = (0..MIB / 55)
        .map(|number| json!({"key": format!("example.com/k{number}"), "operator": "Exists"}))
        .collect();
    let map = |count: usize, value: &str| -> Map<String, Value> {
        (0..count)
            .map(|number| (format!("example.com/k{number}"), json!(value)))
            .collect()
    };
    let budgets = vec![
        json!({"nodes": "1", "reasons": ["a", "b"], "schedule": "0 9 * * sat-sun", "duration": "8h"});
        MIB / 80
    ];
    let taints = vec![json!({"key": "a", "effect": "NoSchedule"}); MIB / 35];
    let unknown: Map<String, Value> = (0..MIB / 14)
        .map(|number| (format!("field{number}"), json!(1)))
        .collect();
    vec![
        (
            "one requirement of 100,000 values",
            with_requirements(vec![on_cpu("In", numbers(MIB / 9))]),
        ),
        (
            "one requirement of 100,000 bad values",
            with_requirements(vec![on_cpu("In", bad_values)]),
        ),
        (
            "100,000 values against 99 bounds",
            with_requirements(contradiction),
        ),
        ("100 requirements of 1,200 values", with_requirements(lists)),
        (
            "ten lists of 2,900 invented instance types",
            with_requirements(ten_lists_of_types(true)),
        ),
        (
            "ten lists of 2,900 instance types, repeated",
            with_requirements(ten_lists_of_types(false)),
        ),
        ("20,000 requirements", with_requirements(many)),
        (
            "a key and an operator of 512 KiB",
            with_requirements(vec![
                json!({"key": "k".repeat(MIB / 2), "operator": "o".repeat(MIB / 2)}),
            ]),
        ),
        (
            "50,000 limits",
            pool(json!({"limits": map(MIB / 22, "1")}), json!({})),
        ),
        (
            "13,000 budgets with an unreadable schedule",
            pool(json!({"disruption": {"budgets": budgets}}), json!({})),
        ),
        (
            "40,000 labels",
            pool(json!({}), json!({"metadata": {"labels": map(MIB / 25, "a b")}})),
        ),
        (
            "30,000 equal taints",
            pool(json!({}), json!({"spec": {"taints": taints}})),
        ),
        ("70,000 unknown fields", pool(Value::Object(unknown), json!({}))),
    ]
}
