//! Near misses: a NodePool with one or a few things wrong, or merely different.

use poolgate_core::facts::ApiVersion;
use rand::seq::IndexedRandom as _;
use rand::{Rng, RngExt as _};
use serde_json::{Map, Value, json};

use super::{pools, words};

/// Fields of another version, with a typo, or of this version with a value that has consequences.
const FOREIGN: &[(&str, &str, &str)] = &[
    ("/spec/disruption", "expireAfter", r#""720h""#),
    (
        "/spec/disruption",
        "consolidationPolicy",
        r#""WhenUnderutilized""#,
    ),
    ("/spec/disruption", "nodeLimitMode", r#""hard""#),
    ("/spec/disruption", "budget", "[]"),
    ("/spec/disruption", "budgets", "[]"),
    ("/spec/disruption", "budgets", "null"),
    ("/spec/disruption", "budgets", "[null]"),
    ("/spec/disruption", "budgets", "[{}]"),
    ("/spec", "disruption", "{}"),
    ("/spec", "disruption", "null"),
    ("/spec", "ttlSecondsAfterEmpty", "30"),
    ("/spec", "replicas", "3"),
    ("/spec", "replicas", "2147483648"),
    ("/spec", "replicas", "-1"),
    ("/spec", "weight", "0"),
    ("/spec", "weight", "101"),
    ("/spec", "weight", "10.0"),
    ("/spec", "limits", r#"{"nodes": "5"}"#),
    ("/spec", "limits", "{}"),
    ("/spec", "limits", r#"{"cpu": null}"#),
    ("/spec/template/spec", "kubelet", r#"{"maxPods": 10}"#),
    (
        "/spec/template/spec",
        "resources",
        r#"{"requests": {"cpu": "1"}}"#,
    ),
    ("/spec/template/spec", "expireAfter", r#""2562048h""#),
    ("/spec/template/spec", "terminationGracePeriod", r#""Never""#),
    ("/spec/template/spec", "requirements", "null"),
    (
        "/spec/template/spec",
        "taints",
        r#"[{"key": "a", "effect": "NoSchedule"}]"#,
    ),
    (
        "/spec/template/spec",
        "startupTaints",
        r#"[{"key": "a", "effect": "NoSchedule"}]"#,
    ),
    (
        "/spec/template/spec",
        "taints",
        r#"[{"key": "a", "effect": "NoSchedule", "timeAdded": "2026-01-02t03:04:05z"}]"#,
    ),
    (
        "/spec/template/spec/nodeClassRef",
        "apiVersion",
        r#""karpenter.k8s.aws/v1beta1""#,
    ),
    (
        "/spec/template/metadata",
        "labels",
        r#"{"kubernetes.io/hostname": "a"}"#,
    ),
    ("/spec/template/metadata", "annotations", r#"{"bad key": "x"}"#),
    ("/spec/template/metadata", "name", r#""x""#),
];

/// Spoils `object` in place.
pub(crate) fn mutate(rng: &mut impl Rng, object: &mut Value, version: ApiVersion) {
    let pointer = any_pointer(rng, object);
    match rng.random_range(0..20) {
        0..7 => reword(rng, object, &pointer),
        7 => remar(rng, object, &pointer),
        8..10 => remove(object, &pointer),
        10 => repeat(rng, object, &pointer),
        11 => {
            let other = any_pointer(rng, object);
            exchange(object, &pointer, &other);
        }
        12 | 13 => set(object, &pointer, mistyped(rng)),
        14 | 15 => add_foreign(rng, object),
        16 => rename(rng, object, &pointer),
        17 => add_element(rng, object, version),
        18 => add_entry(rng, object),
        _ if rng.random_bool(0.2) => flood(rng, object, version),
        _ => nudge(rng, object, &pointer),
    }
}

/// The JSON pointers of everything under `spec`, itself included.
pub(crate) fn pointers(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(spec) = object.get("spec") {
        collect(spec, "/spec".into(), &mut found);
    }
    found
}

fn collect(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(value, format!("{pointer}/{key}"), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect(value, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(pointer);
}

fn any_pointer(rng: &mut impl Rng, object: &Value) -> String {
    pointers(object)
        .choose(rng)
        .cloned()
        .unwrap_or_else(|| "/spec".into())
}

/// Parent and last key of a pointer, the key as it is in the object.
pub(crate) fn split(pointer: &str) -> (&str, String) {
    let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    (parent, last.replace("~1", "/").replace("~0", "~"))
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = object.pointer_mut(pointer) {
        *place = value;
    }
}

/// Removes the value at `pointer`.
pub(crate) fn remove(object: &mut Value, pointer: &str) {
    let (parent, last) = split(pointer);
    match object.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.remove(&last);
        }
        Some(Value::Array(elements)) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < elements.len()) {
                elements.remove(index);
            }
        }
        _ => {}
    }
}

/// Replaces the value by another in the grammar of the field.
fn reword(rng: &mut impl Rng, object: &mut Value, pointer: &str) {
    let (above, field) = split(pointer);
    let (_, parent) = split(above);
    // An element of a list is treated like the list's field.
    let (field, parent) = if field.parse::<usize>().is_ok() {
        (parent.clone(), parent)
    } else {
        (field, parent)
    };
    let value = match (field.as_str(), parent.as_str()) {
        ("weight" | "replicas" | "minValues", _) => number(rng),
        (_, "limits") if rng.random_bool(0.1) => number(rng),
        _ => words::for_field(rng, &field, &parent).into(),
    };
    if object
        .pointer(pointer)
        .is_some_and(|old| !old.is_object() && !old.is_array())
    {
        set(object, pointer, value);
    }
}

fn number(rng: &mut impl Rng) -> Value {
    match rng.random_range(0..8) {
        0 => json!(rng.random_range(-2..=102)),
        1 => json!(i64::from(rng.random_range(i32::MAX - 1..=i32::MAX)) + rng.random_range(0..2)),
        2 => json!(u64::MAX),
        3 => json!(i64::MIN),
        4 => json!(f64::from(rng.random_range(0..100)) + 0.5),
        5 => json!(f64::from(rng.random_range(0..100))),
        _ => json!(rng.random_range(0..60)),
    }
}

fn remar(rng: &mut impl Rng, object: &mut Value, pointer: &str) {
    if let Some(Value::String(text)) = object.pointer_mut(pointer) {
        *text = words::marred(rng, text);
    }
}

fn mistyped(rng: &mut impl Rng) -> Value {
    match rng.random_range(0..9) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(5),
        3 => json!(1.5),
        4 => json!("text"),
        5 => json!([]),
        6 => json!({}),
        7 => json!([null]),
        _ => json!({"a": {"b": []}}),
    }
}

fn exchange(object: &mut Value, one: &str, other: &str) {
    let (Some(first), Some(second)) = (object.pointer(one).cloned(), object.pointer(other).cloned()) else {
        return;
    };
    set(object, one, second);
    // `other` is gone if it was inside `one`.
    set(object, other, first);
}

fn repeat(rng: &mut impl Rng, object: &mut Value, pointer: &str) {
    let (parent, last) = split(pointer);
    if let (Some(Value::Array(list)), Ok(index)) = (object.pointer_mut(parent), last.parse::<usize>())
        && let Some(element) = list.get(index).cloned()
    {
        list.insert(rng.random_range(0..=list.len()), element);
    }
}

fn add_foreign(rng: &mut impl Rng, object: &mut Value) {
    let (parent, key, value) = FOREIGN.choose(rng).expect("the list is not empty");
    if let Some(Value::Object(map)) = object.pointer_mut(parent) {
        map.insert(
            (*key).into(),
            serde_json::from_str(value).expect("the list holds JSON"),
        );
    }
}

fn rename(rng: &mut impl Rng, object: &mut Value, pointer: &str) {
    let (parent, last) = split(pointer);
    if let Some(Value::Object(map)) = object.pointer_mut(parent)
        && let Some(value) = map.remove(&last)
    {
        let is_free = ["labels", "annotations", "limits"]
            .iter()
            .any(|name| parent.ends_with(name));
        let key = if is_free && rng.random_bool(0.7) {
            words::key(rng)
        } else {
            words::marred(rng, &last)
        };
        map.insert(key, value);
    }
}

fn add_element(rng: &mut impl Rng, object: &mut Value, version: ApiVersion) {
    let (pointer, element) = match rng.random_range(0..3) {
        0 => ("/spec/disruption/budgets", pools::budget(rng, version)),
        1 => ("/spec/template/spec/requirements", pools::requirement(rng)),
        _ => {
            let values: Vec<String> = (0..rng.random_range(0..3))
                .map(|_| words::label_value(rng))
                .collect();
            let mut element = json!({
                "key": words::key(rng), "operator": words::for_field(rng, "operator", ""), "values": values,
            });
            if rng.random_bool(0.3) {
                element["minValues"] = number(rng);
            }
            ("/spec/template/spec/requirements", element)
        }
    };
    if let Some(Value::Array(list)) = object.pointer_mut(pointer) {
        list.push(element);
    }
}

fn add_entry(rng: &mut impl Rng, object: &mut Value) {
    let (pointer, key, value) = match rng.random_range(0..4) {
        0 => (
            "/spec/template/metadata/labels",
            words::key(rng),
            words::label_value(rng),
        ),
        1 => (
            "/spec/template/metadata/annotations",
            words::key(rng),
            words::noise(rng),
        ),
        2 => ("/spec/limits", words::key(rng), words::quantity(rng)),
        _ => {
            let resource = words::one_of(rng, &["cpu", "memory", "nodes", "pods", "CPU", "gpu"]);
            ("/spec/limits", resource, words::quantity(rng))
        }
    };
    if let Some(Value::Object(map)) = object.pointer_mut(pointer) {
        map.insert(key, value.into());
    }
}

/// More of something than the definition allows, or exactly the maximum.
fn flood(rng: &mut impl Rng, object: &mut Value, version: ApiVersion) {
    let around = |rng: &mut _, limit: usize| limit + rand::RngExt::random_range::<usize, _>(rng, 0..3) - 1;
    let (parent, key, value) = match rng.random_range(0..5) {
        0 => {
            let count = around(rng, 50);
            (
                "/spec/disruption",
                "budgets",
                (0..count).map(|_| pools::budget(rng, version)).collect(),
            )
        }
        1 => {
            let count = around(rng, 50);
            (
                "/spec/disruption/budgets/0",
                "reasons",
                vec!["Drifted"; count].into(),
            )
        }
        2 => {
            let count = if rng.random_bool(0.5) {
                around(rng, 100)
            } else {
                around(rng, 96)
            };
            let requirement =
                |index| json!({"key": format!("example.com/k{index}"), "operator": "In", "values": ["a"]});
            (
                "/spec/template/spec",
                "requirements",
                (0..count).map(requirement).collect(),
            )
        }
        3 => {
            let count = around(rng, 100);
            let labels: Map<String, Value> = (0..count)
                .map(|index| (format!("l{index}"), json!("v")))
                .collect();
            ("/spec/template/metadata", "labels", labels.into())
        }
        _ => {
            let count = around(rng, 100);
            let taint = |index| json!({"key": format!("t{index}"), "effect": "NoSchedule"});
            ("/spec/template/spec", "taints", (0..count).map(taint).collect())
        }
    };
    if let Some(Value::Object(map)) = object.pointer_mut(parent) {
        map.insert(key.into(), value);
    }
}

/// A slightly different number, or a number and text exchanged.
fn nudge(rng: &mut impl Rng, object: &mut Value, pointer: &str) {
    let Some(place) = object.pointer_mut(pointer) else {
        return;
    };
    *place = match &*place {
        Value::Number(number) if rng.random_bool(0.5) => number.to_string().into(),
        Value::Number(number) => json!(
            number
                .as_i64()
                .unwrap_or(0)
                .saturating_add(rng.random_range(-1..=1))
        ),
        Value::String(text) => text
            .parse::<i64>()
            .map_or_else(|_| json!(text.len()), |number| json!(number)),
        other => json!([other]),
    };
}
