//! Differences that are meant, each with its reason and an example that shows that it is still there.

use poolgate_core::diagnostic::Origin;
use poolgate_core::karpenter::ApiVersion;
use poolgate_core::rules;
use serde_json::{Value, json};

use super::case::Case;
use super::compare::{Kind, Mismatch};

/// A difference that is meant.
pub(crate) struct Explained {
    /// Why the two differ, and why that is right.
    pub(crate) why: &'static str,
    /// Whether this is the difference.
    pub(crate) covers: fn(&Case, &Mismatch) -> bool,
    /// A case with the difference.
    pub(crate) example: fn() -> Case,
}

/// All of them.
pub(crate) const EXPLAINED: &[Explained] = &[
    Explained {
        why: "The API server forgives an update what it leaves alone, but not everything: a missing required field, \
              a rule that cannot be evaluated, a label beside a changed one, the replicas behind the scale \
              subresource. poolgate forgives by field, warns, and leaves the refusal to the API server: it may not \
              be the one that keeps Karpenter from removing its finalizer.",
        covers: |_, mismatch| mismatch.kind == Kind::RatchetStricter,
        example: || {
            let object = pool(
                json!({"limits": {"cpu": "5"}}),
                &json!([{"key": "a", "operator": "In"}]),
            );
            Case {
                old: Some(object.clone()),
                ..v1(object)
            }
        },
    },
    Explained {
        why: "The API server prunes unknown fields before any webhook is called, so only the offline side sees them.",
        covers: |_, mismatch| is_pruned(mismatch),
        example: || v1(pool(json!({"ttlSecondsAfterEmpty": 30}), &json!([]))),
    },
    Explained {
        why: "Karpenter's own definition lacks nodeLimitMode, so there it is pruned like any unknown field, whatever \
              it holds. The definition that `poolgate crd patch` writes has it.",
        covers: |_, mismatch| is_pruned(mismatch),
        example: || with_node_limit_mode(&json!("hard")),
    },
    Explained {
        why: "The same of a nodeLimitMode that is no text.",
        covers: |_, mismatch| is_pruned(mismatch),
        example: || with_node_limit_mode(&json!(5)),
    },
    Explained {
        why: "Only who writes JSON by hand can send `9.0` for `9`: kubectl and all else that uses Kubernetes' own \
              libraries leaves the point out (tests/live/kubernetes/numbers.rs). A webhook is shown `9`, and the API server \
              refuses the float by itself, so nothing gets past.",
        covers: |case, mismatch| {
            mismatch.kind == Kind::MissedSchema
                && has_whole_float(&case.object["spec"])
                && mismatch.what.lines().all(is_about_float)
        },
        example: || {
            let requirement = json!({
                "key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"], "minValues": 1.0,
            });
            // An update with nothing left to fill in: a patch would have the object written anew, without the point.
            let disruption = json!({
                "consolidateAfter": "0s", "consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "10%"}],
            });
            let with = |replicas: &Value| {
                pool(
                    json!({"replicas": replicas, "disruption": disruption}),
                    &json!([requirement]),
                )
            };
            Case {
                old: Some(with(&json!(9))),
                ..v1(with(&json!(9.0)))
            }
        },
    },
    Explained {
        why: "The linked Karpenter has no types for v1beta1, so of what 1.0.8 said after its definition the oracle \
              knows nothing: neither what it could not decode nor what its runtime validation refused.",
        covers: |case, mismatch| {
            let rule = rules::find(&mismatch.signature);
            let is_more_than_schema = rule.is_some_and(|rule| rule.origins != [Origin::Schema]);
            mismatch.kind == Kind::Invented && case.version == ApiVersion::V1Beta1 && is_more_than_schema
        },
        example: || {
            let requirement = json!({"key": "example.com/team", "operator": "In", "values": ["a b"]});
            let spec = json!({
                "template": {"spec": {"requirements": [requirement], "nodeClassRef": {"name": "default"}}},
            });
            Case {
                version: ApiVersion::V1Beta1,
                object: object("karpenter.sh/v1beta1", &spec),
                old: None,
            }
        },
    },
    Explained {
        why: "The oracle is Karpenter without a provider. With one, its runtime validation refuses every label in the \
              provider's domain that the provider does not know, and so does poolgate where one is misspelt.",
        covers: |_, mismatch| {
            mismatch.kind == Kind::Invented
                && ["requirement-label-misspelt", "label-provider-misspelt"]
                    .contains(&mismatch.signature.as_str())
        },
        example: || {
            let requirement =
                json!({"key": "karpenter.kwok.sh/instance-famly", "operator": "In", "values": ["c"]});
            v1(pool(json!({}), &json!([requirement])))
        },
    },
    Explained {
        why: "Where the stored object repeats a reason anywhere, the API server checks the new one for none. poolgate \
              forgives only lists that stay as they are, so a new repetition does not slip in behind an old one.",
        covers: |case, mismatch| {
            mismatch.kind == Kind::Invented
                && case.old.is_some()
                && mismatch.signature == "budget-reason-repeated"
        },
        example: || {
            let with = |nodes| {
                let budgets = json!([{"nodes": nodes, "reasons": ["Empty", "Empty"]}]);
                pool(
                    json!({"disruption": {"consolidateAfter": "1m", "budgets": budgets}}),
                    &json!([]),
                )
            };
            Case {
                old: Some(with("1")),
                ..v1(with("2"))
            }
        },
    },
];

/// Whether poolgate differs over nothing but fields that the API server prunes.
fn is_pruned(mismatch: &Mismatch) -> bool {
    mismatch.kind == Kind::ViewsDiffer
        && mismatch.what.lines().all(|line| {
            line.ends_with("[field-unknown]") || line.starts_with("spec.disruption.nodeLimitMode: ")
        })
}

/// Whether a whole number stands anywhere with a decimal point.
fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|value| value.fract() == 0.0),
        Value::Array(list) => list.iter().any(has_whole_float),
        Value::Object(map) => map.values().any(has_whole_float),
        _ => false,
    }
}

/// Whether a finding of the API server is that it has a float where it can only compare integers.
fn is_about_float(finding: &str) -> bool {
    [
        "is of the type float64, expected int64",
        "invalid data, expected int, got float64 evaluating rule",
        "expected XIntOrString value to be either a string or integer",
    ]
    .iter()
    .any(|text| finding.contains(text))
}

/// Whether a difference is meant.
pub(crate) fn is_explained(case: &Case, mismatch: &Mismatch) -> bool {
    EXPLAINED
        .iter()
        .any(|explained| (explained.covers)(case, mismatch))
}

fn with_node_limit_mode(mode: &Value) -> Case {
    let disruption = json!({"consolidateAfter": "1m", "nodeLimitMode": mode});
    v1(pool(json!({"disruption": disruption}), &json!([])))
}

fn v1(object: Value) -> Case {
    Case {
        version: ApiVersion::V1,
        object,
        old: None,
    }
}

fn object(api_version: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": "NodePool", "metadata": {"name": "example"}, "spec": spec})
}

/// A v1 NodePool with these requirements and whatever else `spec` says.
fn pool(mut spec: Value, requirements: &Value) -> Value {
    spec["template"] = json!({"spec": {
        "requirements": requirements,
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
    }});
    object("karpenter.sh/v1", &spec)
}
