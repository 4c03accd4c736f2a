//! What holds for `review` of every object, however strange.

#![cfg(test)]

use poolgate_core::defaults::DefaultValue;
use poolgate_core::diagnostic::{Diagnostic, FieldPath, MAX_KEPT, Report, Segment, Severity};
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Review, Subject, review};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn review_of(version: ApiVersion, object: &Value, old: Option<&Value>) -> Review {
    review_as(Subject::NodePool(version), object, old)
}

fn review_as(subject: Subject, object: &Value, old: Option<&Value>) -> Review {
    let old = old.map(Json::from);
    let request = Request {
        subject,
        object: &Json::from(object),
        old: old.as_ref(),
        claims: None,
        at: jiff::Timestamp::default(),
    };
    review(&request, &Policy::default(), &TargetKarpenter::default())
}

/// Writes a default as the API server would.
fn write(object: &mut Value, default: &DefaultValue) {
    let (last, above) = default
        .path
        .segments()
        .split_last()
        .expect("no default is at the root");
    let mut parent = object;
    for segment in above {
        let Segment::Key(key) = segment else {
            panic!("no default is in a list")
        };
        parent = parent.get_mut(key.as_ref()).expect("a default's parent exists");
    }
    let Segment::Key(key) = last else {
        panic!("no default is in a list")
    };
    parent
        .as_object_mut()
        .expect("a default's parent is an object")
        .insert(key.to_string(), default.value.clone());
}

fn completed(version: ApiVersion, object: &Value) -> Value {
    let mut object = object.clone();
    for default in review_of(version, &object, None).defaults {
        write(&mut object, &default);
    }
    object
}

fn any_version() -> impl Strategy<Value = ApiVersion> {
    prop_oneof![Just(ApiVersion::V1), Just(ApiVersion::V1Beta1)]
}

fn any_leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[-+0-9eE.%smhKMGTPEinu ]{0,12}".prop_map(Value::from),
        "[*?/,0-9a-z@ -]{0,20}".prop_map(Value::from),
        proptest::sample::select(KNOWN_WORDS).prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    any_leaf().prop_recursive(4, 32, 6, |inside| {
        prop_oneof![
            vec(inside.clone(), 0..6).prop_map(Value::from),
            btree_map(any_key(), inside, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Values that the rules know.
const KNOWN_WORDS: &[&str] = &[
    "0",
    "1",
    "10%",
    "100%",
    "8h",
    "24h",
    "0 2 * * *",
    "0 9 * * mon-fri",
    "@monthly",
    "Drifted",
    "Empty",
    "Underutilized",
    "Never",
    "30s",
    "WhenEmpty",
    "WhenUnderutilized",
    "WhenEmptyOrUnderutilized",
];

/// Keys that rules check.
const KNOWN_KEYS: &[&str] = &[
    "metadata",
    "annotations",
    "labels",
    "spec",
    "disruption",
    "budgets",
    "nodes",
    "schedule",
    "duration",
    "reasons",
    "consolidateAfter",
    "consolidationPolicy",
    "nodeLimitMode",
    "limits",
    "cpu",
    "template",
    "requirements",
    "key",
    "operator",
    "values",
    "nodeClassRef",
    "apiVersion",
    "name",
    "taints",
    "startupTaints",
    "value",
    "effect",
    "timeAdded",
    "expireAfter",
    "terminationGracePeriod",
    "kubelet",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "resources",
    "requests",
    "group",
    "kind",
    "weight",
    "replicas",
    "poolgate.dev/node-limit",
    "poolgate.dev/node-limit-mode",
];

/// Keys that rules check, among others.
fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(KNOWN_KEYS).prop_map(str::to_owned), 1 => ".{0,8}"]
}

/// Objects in which most fields have a sensible value.
fn any_pool() -> impl Strategy<Value = Value> {
    let inside = prop_oneof![3 => any_leaf(), 1 => vec(any_leaf(), 0..4).prop_map(Value::from)];
    let budget = btree_map(any_key(), inside, 0..5);
    let disruption =
        (vec(budget, 0..4), btree_map(any_key(), any_leaf(), 0..5)).prop_map(|(budgets, rest)| {
            let mut disruption: Map<String, Value> = rest.into_iter().collect();
            disruption.insert(
                "budgets".into(),
                budgets
                    .into_iter()
                    .map(|b| b.into_iter().collect::<Value>())
                    .collect(),
            );
            Value::Object(disruption)
        });
    let limits = btree_map(any_key(), any_leaf(), 0..4).prop_map(|map| map.into_iter().collect::<Value>());
    let replicas = prop::option::of(prop_oneof![any_leaf(), (0_i64..20).prop_map(Value::from)]);
    let rest = (any_template(), any_json(), replicas);
    (prop::option::of(disruption), limits, rest).prop_map(
        |(disruption, limits, (template, metadata, replicas))| {
            let spec =
                json!({"disruption": disruption, "limits": limits, "template": template, "replicas": replicas});
            json!({"metadata": metadata, "spec": spec})
        },
    )
}

/// Templates in which most fields have a sensible value.
fn any_template() -> impl Strategy<Value = Value> {
    let fields = || btree_map(any_key(), any_leaf(), 0..5).prop_map(|map| map.into_iter().collect::<Value>());
    let taints = || vec(fields(), 0..4);
    let lifetime = (any_leaf(), any_leaf());
    let template = (fields(), taints(), taints(), fields(), lifetime).prop_map(
        |(labels, taints, startup, reference, (expiry, grace))| {
            json!({"metadata": {"labels": labels, "annotations": labels}, "spec": {
                "requirements": [], "taints": taints, "startupTaints": startup, "nodeClassRef": reference,
                "expireAfter": expiry, "terminationGracePeriod": grace,
            }})
        },
    );
    prop_oneof![3 => template, 1 => any_json()]
}

fn any_object() -> impl Strategy<Value = Value> {
    prop_oneof![any_json(), any_pool()]
}

/// Objects as they are stored: with what Karpenter and poolgate write into them, too.
fn any_stored() -> impl Strategy<Value = Value> {
    let text = || (0_i64..20).prop_map(|number| Value::from(number.to_string()));
    let number = || prop_oneof![(0_i64..20).prop_map(Value::from), text()];
    let mode = || prop_oneof![Just(json!("Hard")), Just(json!("Soft"))];
    let class =
        prop_oneof![Just("A"), Just("B")].prop_map(|name| json!({"group": name, "kind": name, "name": name}));
    let conditions = vec(any_leaf(), 0..2).prop_map(|status| json!([{"type": "Ready", "status": status}]));
    let field = prop_oneof![
        1 => Just(("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))),
        4 => text().prop_map(|limit| ("/metadata/annotations/poolgate.dev~1node-limit", limit)),
        4 => mode().prop_map(|mode| ("/metadata/annotations/poolgate.dev~1node-limit-mode", mode)),
        4 => mode().prop_map(|mode| ("/spec/disruption/nodeLimitMode", mode)),
        4 => number().prop_map(|limit| ("/spec/limits/nodes", limit)),
        4 => number().prop_map(|replicas| ("/spec/replicas", replicas)),
        4 => class.prop_map(|class| ("/spec/template/spec/nodeClassRef", class)),
        4 => number().prop_map(|nodes| ("/status/nodes", nodes)),
        4 => number().prop_map(|nodes| ("/status/resources/nodes", nodes)),
        4 => conditions.prop_map(|conditions| ("/status/conditions", conditions)),
    ];
    (any_object(), vec(field, 0..8)).prop_map(|(mut object, fields)| {
        for (pointer, value) in fields {
            put(&mut object, pointer, value);
        }
        object
    })
}

/// Writes a value, and an object wherever there is none above it.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for key in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[key.replace("~1", "/")];
    }
    *at = value;
}

/// Fields that an update may change.
const CHANGED: &[&[&str]] = &[
    &["metadata"],
    &["spec", "disruption"],
    &["spec", "disruption", "budgets"],
    &["spec", "limits"],
    &["spec", "limits", "nodes"],
    &["spec", "replicas"],
    &["spec", "template"],
    &["spec", "template", "spec", "taints"],
];

/// Sets or removes the value at the path, if its parent exists.
fn replace(object: &mut Value, path: &FieldPath, value: Option<&Value>) {
    let keys: Vec<&str> = keys_of(path).collect();
    let (last, above) = keys.split_last().expect("no update changes all");
    let parent = above.iter().try_fold(object, |object, key| object.get_mut(*key));
    let Some(Value::Object(parent)) = parent else {
        return;
    };
    match value {
        Some(value) => parent.insert((*last).to_owned(), value.clone()),
        None => parent.remove(*last),
    };
}

/// The path up to the first list, which counts as one value.
fn keys_of(path: &FieldPath) -> impl Iterator<Item = &str> {
    path.segments().iter().map_while(|segment| match segment {
        Segment::Key(key) => Some(key.as_ref()),
        Segment::Index(_) => None,
    })
}

/// Whether one of the two paths continues the other.
fn is_within(path: &FieldPath, changed: &FieldPath) -> bool {
    keys_of(path)
        .zip(keys_of(changed))
        .all(|(left, right)| left == right)
}

/// The findings of a report; the severity of endless drains is ignored, because it is higher if a node limit mode
/// is written.
fn without_weight(report: Report) -> Vec<Diagnostic> {
    let findings = report.into_iter().map(|mut finding| {
        if finding.rule.as_str() == "hard-limit-drain" {
            finding.severity = Severity::Note;
            finding.own_severity = Severity::Note;
        }
        finding
    });
    findings.collect()
}

proptest! {
    #[test]
    fn review_answers_whatever_it_is_given(version in any_version(), object in any_object(), old in prop::option::of(any_object())) {
        let review = review_of(version, &object, old.as_ref());
        prop_assert!(review.report.diagnostics().len() <= 3 * MAX_KEPT);
        for diagnostic in review.report.diagnostics() {
            prop_assert!(!diagnostic.to_string().chars().any(char::is_control), "{:?}", diagnostic.to_string());
        }
    }

    #[test]
    fn a_claim_is_answered_whatever_it_is_and_never_written_to(version in any_version(), object in any_object(), old in prop::option::of(any_object())) {
        let subject = Subject::NodeClaim(version);
        let review = review_as(subject, &object, old.as_ref());
        prop_assert_eq!(review.defaults, vec![]);
        for diagnostic in review.report.diagnostics() {
            prop_assert!(!diagnostic.to_string().chars().any(char::is_control), "{:?}", diagnostic.to_string());
        }
        prop_assert!(!review_as(subject, &object, Some(&object)).report.denies());
    }

    #[test]
    fn a_completed_object_needs_no_completion(version in any_version(), object in any_object()) {
        let once = completed(version, &object);
        prop_assert_eq!(review_of(version, &once, None).defaults, vec![]);
    }

    #[test]
    fn defaults_never_touch_the_template_or_a_value_that_is_there(version in any_version(), object in any_object()) {
        for default in review_of(version, &object, None).defaults {
            let path = default.path.to_string();
            let is_the_mode = ["metadata.annotations", "metadata.annotations[poolgate.dev/node-limit-mode]"].contains(&&*path);
            let is_the_limit = ["spec.limits", "spec.limits.nodes"].contains(&&*path);
            prop_assert!(path.starts_with("spec.disruption") || is_the_mode || is_the_limit, "{path}");
            prop_assert_eq!(default.path.find_value(&object), None);
        }
        let template = FieldPath::of(&["spec", "template"]);
        let after = completed(version, &object);
        prop_assert_eq!(template.find_value(&after), template.find_value(&object));
    }

    #[test]
    fn a_completed_update_needs_no_completion(version in any_version(), object in any_object(), old in any_object()) {
        let mut once = object.clone();
        for default in review_of(version, &object, Some(&old)).defaults {
            write(&mut once, &default);
        }
        prop_assert_eq!(review_of(version, &once, Some(&old)).defaults, vec![]);
        let template = FieldPath::of(&["spec", "template"]);
        prop_assert_eq!(template.find_value(&once), template.find_value(&object));
    }

    #[test]
    fn completing_an_object_adds_no_mistake(version in any_version(), object in any_object()) {
        let before = review_of(version, &object, None).report;
        let after = review_of(version, &completed(version, &object), None).report;
        prop_assert_eq!(without_weight(after), without_weight(before));
    }

    #[test]
    fn an_update_that_changes_nothing_is_never_denied_and_its_spec_is_left_alone(
        version in any_version(), object in prop_oneof![any_object(), any_stored()],
    ) {
        let review = review_of(version, &object, Some(&object));
        prop_assert!(!review.report.denies());
        for default in review.defaults {
            prop_assert!(default.path.to_string().starts_with("metadata.annotations"), "{}", default.path);
        }
    }

    #[test]
    fn an_update_is_denied_only_for_what_rests_on_a_field_that_it_changes(
        version in any_version(), old in any_pool(), other in any_pool(), changed in proptest::sample::select(CHANGED),
    ) {
        let changed = FieldPath::of(changed);
        let mut new = old.clone();
        replace(&mut new, &changed, changed.find_value(&other));
        for diagnostic in review_of(version, &new, Some(&old)).report.diagnostics() {
            let mut rests_on = std::iter::once(&diagnostic.path).chain(&diagnostic.related);
            prop_assert!(
                diagnostic.severity < Severity::Error || rests_on.any(|path| is_within(path, &changed)),
                "{diagnostic} rests on {:?} and not on {changed}", diagnostic.related
            );
        }
    }

    #[test]
    fn an_object_that_is_being_deleted_is_left_in_peace(object in any_object()) {
        let stored = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        prop_assert_eq!(review_of(ApiVersion::V1, &object, Some(&stored)), Review::default());
    }
}
