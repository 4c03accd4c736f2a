//! Which pods a new node of a pool takes: Karpenter's functions and scheduler, and `poolgate_core::pods`, for the same pools and
//! pods.

use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::pods::{Comparison, Facts, InstanceType, Machines, Needs, NodeTemplate, PodSpec, Unknown};
use poolgate_core::policy::Policy;
use poolgate_core::pool::NodePool;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::effort::Effort;
use super::program::Oracle;

/// How many questions are sent at once.
const BATCH: u64 = 500;

/// Labels, two of them by their old names, and the values that they have in pools, pods, or kwok's machines.
const LABELS: [(&str, &[&str]); 13] = [
    (
        "topology.kubernetes.io/zone",
        &["test-zone-a", "test-zone-b", "test-zone-c", "elsewhere"],
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        &["test-zone-a", "test-zone-d"],
    ),
    ("kubernetes.io/arch", &["amd64", "arm64"]),
    ("beta.kubernetes.io/arch", &["amd64", "arm64"]),
    ("karpenter.sh/capacity-type", &["spot", "on-demand"]),
    (
        "node.kubernetes.io/instance-type",
        &["c-1x-amd64-linux", "s-2x-arm64-linux", "m-4x-amd64-linux", "none"],
    ),
    ("karpenter.kwok.sh/instance-family", &["c", "m", "s"]),
    ("karpenter.kwok.sh/instance-cpu", &["1", "4", "16"]),
    ("example.com/team", &["red", "blue"]),
    ("example.com/tier", &["1", "2", "3", "007"]),
    ("karpenter.sh/nodepool", &["general", "other"]),
    ("kubernetes.io/hostname", &["node-1"]),
    ("kubernetes.io/os", &["linux", "windows"]),
];

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn one_of<'w>(of: &mut StdRng, words: &[&'w str]) -> &'w str {
    words[of.random_range(0..words.len())]
}

fn expression(of: &mut StdRng, is_pod: bool) -> Value {
    // Pools may not name the last ones but one, and few pods do.
    let usual = if of.random_ratio(1, 40) && is_pod { 13 } else { 10 };
    let (key, values) = LABELS[of.random_range(0..usual)];
    let operator = if of.random_ratio(1, 2) {
        "In"
    } else {
        one_of(of, &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    };
    let chosen: Vec<&str> = match operator {
        "Gt" | "Lt" => vec![one_of(of, &["0", "1", "2", "3", "4"])],
        "In" | "NotIn" => (0..of.random_range(1..3)).map(|_| one_of(of, values)).collect(),
        _ => Vec::new(),
    };
    json!({"key": key, "operator": operator, "values": chosen})
}

fn taint(of: &mut StdRng) -> Value {
    let effect = one_of(of, &["NoSchedule", "NoExecute", "PreferNoSchedule"]);
    json!({"key": one_of(of, &["gpu", "team"]), "value": one_of(of, &["", "red", "4"]), "effect": effect})
}

fn toleration(of: &mut StdRng) -> Value {
    let operator = one_of(of, &["Exists", "Equal", "", "Gt", "Lt"]);
    let mut toleration = json!({"operator": operator, "key": one_of(of, &["gpu", "team"])});
    if operator != "Exists" {
        toleration["value"] = one_of(of, &["", "red", "3", "5", "05"]).into();
    } else if of.random_ratio(1, 4) {
        toleration["key"] = "".into();
    }
    if of.random_ratio(1, 2) {
        toleration["effect"] = one_of(of, &["NoSchedule", "NoExecute", "PreferNoSchedule"]).into();
    }
    toleration
}

fn list(of: &mut StdRng, most: usize, make: impl Fn(&mut StdRng) -> Value) -> Vec<Value> {
    (0..of.random_range(0..=most)).map(|_| make(of)).collect()
}

fn pool(of: &mut StdRng) -> Value {
    let mut labels = json!({});
    for key in ["example.com/team", "example.com/tier"] {
        if of.random_ratio(1, 3) {
            labels[key] = one_of(of, &["red", "blue", "2"]).into();
        }
    }
    let mut requirements = list(of, 3, |of| expression(of, false));
    for requirement in &mut requirements {
        if of.random_ratio(1, 20) && requirement["operator"] != "DoesNotExist" {
            requirement["minValues"] = of.random_range(1..3).into();
        }
    }
    let mut spec = json!({"template": {
        "metadata": {"labels": labels},
        "spec": {
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            "requirements": requirements,
            "taints": if of.random_ratio(1, 3) { list(of, 2, taint) } else { Vec::new() },
        },
    }});
    if of.random_ratio(1, 10) {
        spec["limits"] = json!({one_of(of, &["cpu", "memory", "nodes", "example.com/gpu"]): one_of(of, &["0", "2", "1Ti"])});
    }
    json!({"metadata": {"name": "general"}, "spec": spec})
}

fn pod(of: &mut StdRng) -> Value {
    let requests = json!({"cpu": one_of(of, &["100m", "900m", "1", "3900m", "300"]), "memory": one_of(of, &["1Mi", "16Gi"])});
    let mut spec = json!({
        "containers": [{"name": "main", "resources": {"requests": requests}}],
        "tolerations": list(of, 3, toleration),
    });
    if of.random_ratio(1, 3) {
        let (key, values) = LABELS[of.random_range(0..10)];
        spec["nodeSelector"] = json!({key: one_of(of, values)});
    }
    let terms = |of: &mut StdRng| json!({"matchExpressions": list(of, 2, |of| expression(of, true))});
    let mut affinity = json!({});
    if of.random_ratio(1, 2) {
        let mut all = list(of, 2, terms);
        all.push(terms(of));
        if of.random_ratio(1, 100) {
            all[0]["matchFields"] = json!([{"key": "metadata.name", "operator": "In", "values": ["n"]}]);
        }
        affinity[REQUIRED] = json!({"nodeSelectorTerms": all});
    }
    if of.random_ratio(1, 3) {
        let weights = list(
            of,
            2,
            |of| json!({"weight": of.random_range(1..100), "preference": terms(of)}),
        );
        affinity[PREFERRED] = json!(weights);
    }
    spec["affinity"] = json!({"nodeAffinity": affinity});
    json!({"spec": spec})
}

fn template(pool: &Value) -> NodeTemplate {
    let pool = Json::from(pool);
    let view = NodePool::view(ApiVersion::V1, &pool);
    NodeTemplate::new("general", &view.template, &Policy::default())
}

fn needs(pod: &Value) -> Needs {
    let spec: PodSpec = serde_json::from_value(pod["spec"].clone()).expect("a spec");
    spec.needs(&mut |name| name.into())
}

/// Asks about pairs of a pool and a pod; `compare` says what is wrong with an answer.
fn run(
    effort: Effort,
    more: impl Fn(&mut StdRng) -> Value,
    mut compare: impl FnMut(&Value, &Value) -> Result<(), String>,
) {
    let mut oracle = Oracle::start();
    let mut failures = Vec::new();
    let end = effort.first + effort.cases;
    let mut first = effort.first;
    while first < end {
        let questions: Vec<Value> = (first..end.min(first + BATCH))
            .map(|number| {
                let mut of = StdRng::seed_from_u64(effort.seed.wrapping_mul(1 << 32) + number);
                let mut question = json!({"kind": "pod", "object": pool(&mut of), "pod": pod(&mut of)});
                for (key, value) in more(&mut of).as_object().into_iter().flatten() {
                    question[key] = value.clone();
                }
                question
            })
            .collect();
        for (number, (question, answer)) in (first..).zip(questions.iter().zip(oracle.ask(&questions))) {
            if let Err(why) = compare(question, &answer.given()) {
                failures.push(format!("case {number}: {why}: {question}"));
            }
        }
        first += BATCH;
    }
    failures.sort_by_key(String::len);
    let count = failures.len();
    failures.truncate(10);
    assert!(
        failures.is_empty(),
        "seed {}: {count} fail\n{}",
        effort.seed,
        failures.join("\n")
    );
}

#[test]
fn labels_and_taints_let_a_pod_on_a_node_where_karpenters_functions_do() {
    let effort = Effort::wanted(20_000, 100_000);
    let mut counts = [0_u64; 2];
    run(
        effort,
        |_| json!({}),
        |question, answer| {
            let (template, needs) = (template(&question["object"]), needs(&question["pod"]));
            let is_ignored = answer.get("ignored").is_some();
            for (ignores, said) in [(false, "compatible"), (true, "ignoring")] {
                let facts = Facts {
                    ignores_preferences: Some(ignores),
                    ..Facts::default()
                };
                let ours = template.comparer(facts).compare(&needs);
                let theirs = !is_ignored && answer[said] == true;
                counts[usize::from(theirs)] += 1;
                if matches!(ours, Comparison::Conflicts(_)) == theirs {
                    return Err(format!("{said}: {answer}, but {ours:?}"));
                }
            }
            let is_refused = matches!(
                template.comparer(Facts::default()).compare(&needs),
                Comparison::Conflicts(_)
            );
            if is_refused && !is_ignored && answer["ignoring"] == true {
                return Err("refused, and Karpenter may ignore preferences".to_owned());
            }
            Ok(())
        },
    );
    if effort.is_whole() && effort.cases >= 1_000 {
        assert!(
            counts.iter().all(|count| *count > effort.cases / 10),
            "{counts:?}"
        );
    }
}

#[test]
fn a_pool_takes_a_pod_where_karpenters_scheduler_launches_a_node() {
    let effort = Effort::wanted(500, 2_000);
    let types = Oracle::start().ask_one(json!({"kind": "machines"})).given();
    let types = InstanceType::parse(&types["machines"].to_string()).expect("instance types");
    let (mut open, mut taken, mut refused) = (0_u64, 0_u64, 0_u64);
    let daemons = |of: &mut StdRng| {
        let daemons = list(of, 2, |of| {
            let mut daemon = pod(of);
            daemon["metadata"] = json!({"name": format!("daemon-{}", of.random_range(0..u32::MAX))});
            daemon["spec"]["containers"][0]["resources"]["requests"] =
                json!({"cpu": one_of(of, &["10m", "500m"]), "memory": "10Mi"});
            daemon
        });
        json!({"solve": true, "daemons": daemons})
    };
    run(effort, daemons, |question, answer| {
        let daemons: Vec<Needs> = question["daemons"]
            .as_array()
            .into_iter()
            .flatten()
            .map(needs)
            .collect();
        let object = Json::from(&question["object"]);
        let view = NodePool::view(ApiVersion::V1, &object);
        let left = poolgate_core::pods::left(&view);
        let facts = Facts {
            ignores_preferences: Some(false),
            machines: Machines {
                types: Some(&types),
                daemons: Some(&daemons),
                left: Some(&left),
                relaxes_min_values: Some(false),
            },
            volumes: None,
        };
        let ours = template(&question["object"])
            .comparer(facts)
            .compare(&needs(&question["pod"]));
        let is_launched = answer["scheduled"] == true;
        match (&ours, is_launched) {
            (Comparison::Fits, true) => taken += 1,
            (Comparison::Conflicts(_), false) => refused += 1,
            (Comparison::Open(unknown), _) if !unknown.contains(&Unknown::Machines) => open += 1,
            _ => return Err(format!("{answer}, but {ours:?}")),
        }
        Ok(())
    });
    if effort.is_whole() && effort.cases >= 100 {
        assert!(open * 10 <= effort.cases, "{open} of {} are open", effort.cases);
        assert!(
            taken.min(refused) * 10 >= effort.cases,
            "{taken} taken, {refused} refused"
        );
        super::effort::tell(&format!("pods: {taken} taken, {refused} refused, {open} open"));
    }
}
