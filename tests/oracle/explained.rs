//! Intended differences, each with its reason and an example that proves that it still exists.

use poolgate_core::api::NODE_LIMIT_ANNOTATION;
use poolgate_core::diagnostic::{Diagnostic, FieldPath, Origin, Segment};
use poolgate_core::facts::ApiVersion;
use poolgate_core::value::label::{domain_of, is_within};
use serde_json::{Value, json};

use super::case::Case;
use super::judgement::{at, has_whole_float, is_about_float};
use super::mismatch::{Kind, Mismatch};
use super::reasons::is_together;
use super::symptoms::indexes;

/// An intended difference.
pub(crate) struct Explained {
    /// Its name in the results.
    pub(crate) name: &'static str,
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
        name: "ratchet-unevaluated",
        why: "The API server forgives an update what it leaves alone, but not a rule that it cannot evaluate. poolgate \
              forgives by field, warns, and leaves the denial to the API server: it may not be the one that keeps \
              Karpenter from removing its finalizer.",
        covers: |_, mismatch| is_stricter(mismatch, |detail| detail.contains("evaluating rule: ")),
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
        name: "ratchet-float",
        why: "A whole number with a decimal point, or a list in which there is one, is another value to the API server \
              than the stored one, so it forgives nothing in it. Only who writes JSON by hand can send one.",
        covers: |case, mismatch| {
            is_stricter(mismatch, |detail| !is_about_float(detail))
                && mismatch.theirs.as_ref().is_some_and(|theirs| {
                    let outermost = theirs.field.split('[').next().unwrap_or_default();
                    at(&case.object, outermost).is_some_and(has_whole_float)
                })
        },
        example: || {
            let requirement = json!({"key": "a=b", "operator": "Exists", "minValues": 39.0});
            // Nothing left to fill in: a patch would make the API server write the object again, without the
            // decimal point.
            let disruption = json!({
                "consolidateAfter": "0s", "consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "10%"}],
            });
            let object = pool(json!({"disruption": disruption}), &json!([requirement]));
            Case {
                old: Some(object.clone()),
                ..v1(object)
            }
        },
    },
    Explained {
        name: "ratchet-together",
        why: "A rule over an object or a map is looked at again when anything in it changes. poolgate goes field by \
              field, and warns of what stayed as it was.",
        covers: |_, mismatch| {
            is_stricter(mismatch, |detail| !detail.contains("evaluating rule: "))
                && mismatch.theirs.as_ref().is_some_and(is_together)
        },
        example: || {
            let with = |value: &str| {
                let mut object = pool(json!({}), &json!([]));
                object["spec"]["template"]["metadata"] =
                    json!({"labels": {"karpenter.sh/managed": "true", "example.com/team": value}});
                object
            };
            Case {
                old: Some(with("blue")),
                ..v1(with("green"))
            }
        },
    },
    Explained {
        name: "ratchet-replicas",
        why: "The scale subresource looks at the replicas of a stored object on every update, also where they stay what \
              they are. poolgate warns of replicas that were stored before.",
        covers: |_, mismatch| {
            is_stricter(mismatch, |_| true)
                && mismatch
                    .theirs
                    .as_ref()
                    .is_some_and(|theirs| theirs.field == ".spec.replicas")
        },
        example: || {
            let with = |weight: &str| {
                pool(
                    json!({"replicas": 2_147_483_648_u32, "limits": {"nodes": weight}}),
                    &json!([]),
                )
            };
            Case {
                old: Some(with("1")),
                ..v1(with("2"))
            }
        },
    },
    Explained {
        name: "limit-asked-for",
        why: "An update that changes the annotation of the node limit asks for a `limits.nodes`, and with it the API \
              server looks again at rules over all of the spec. Without a change, poolgate writes nothing into a spec \
              that an update leaves as it is.",
        covers: |case, mismatch| {
            let limit = |object: &Value| {
                let annotations = object.pointer("/metadata/annotations");
                annotations
                    .and_then(|annotations| annotations.get(NODE_LIMIT_ANNOTATION))
                    .cloned()
            };
            let old = case.old.as_ref();
            mismatch.kind == Kind::DefaultRejected && old.is_some_and(|old| limit(old) != limit(&case.object))
        },
        example: || {
            let object = pool(json!({"replicas": 3, "limits": {"memory": "1Gi"}}), &json!([]));
            let mut limited = object.clone();
            limited["metadata"]["annotations"] = json!({NODE_LIMIT_ANNOTATION: "5"});
            Case {
                old: Some(object),
                ..v1(limited)
            }
        },
    },
    Explained {
        name: "pruned-unknown",
        why: "The API server prunes unknown fields before any webhook is called, so only the offline side sees them, and \
              whatever else is said of a `resources` that holds nothing but one.",
        covers: |_, mismatch| {
            is_pruned(mismatch, |line| {
                let is_around = line.contains("[template-resources]")
                    && mismatch.what.contains("spec.template.spec.resources.");
                line.contains("[field-unknown]") || is_around
            })
        },
        example: || v1(pool(json!({"ttlSecondsAfterEmpty": 30}), &json!([]))),
    },
    Explained {
        name: "pruned-mode",
        why: "Karpenter's own definition lacks nodeLimitMode, so there it is pruned like any unknown field, whatever \
              it holds. The definition that `poolgate crd patch` writes has it.",
        covers: |_, mismatch| {
            is_pruned(mismatch, |line| {
                line.contains("[field-unknown]") || line.starts_with("spec.disruption.nodeLimitMode: ")
            })
        },
        example: || with_node_limit_mode(&json!("hard")),
    },
    Explained {
        name: "whole-float",
        why: "Only who writes JSON by hand can send `9.0` for `9`: kubectl and all else that uses Kubernetes' own \
              libraries leaves the point out (tests/live/kubernetes/numbers.rs). A webhook is shown `9`, and the API server \
              rejects the float by itself, so nothing gets past.",
        covers: |case, mismatch| {
            let Some(theirs) = mismatch
                .theirs
                .as_ref()
                .filter(|theirs| is_about_float(&theirs.detail))
            else {
                return false;
            };
            let is_missed =
                [Kind::MissedSchema, Kind::MissedReason, Kind::Misclassified].contains(&mismatch.kind);
            is_missed && at(&case.object, &theirs.field).is_some_and(has_whole_float)
        },
        example: || {
            let requirement = json!({
                "key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"], "minValues": 1.0,
            });
            // An update with nothing left to fill in: a patch would make the API server write the object again,
            // without the decimal point.
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
        name: "beyond-the-door",
        why: "A list or map that is too long gets the finding of its count. Nothing in it is judged, so another mistake in \
              it is reported once it is short enough.",
        covers: |case, mismatch| {
            let Some(theirs) = &mismatch.theirs else {
                return false;
            };
            let list = theirs.field.split('[').next().unwrap_or_default();
            let length = at(&case.object, list).and_then(|list| Some(list.as_array()?.len()));
            length.is_some_and(|length| length > 100)
        },
        example: || {
            let taint = |number| json!({"key": format!("k{number}"), "effect": "NoSchedule"});
            let mut taints: Vec<Value> = (0..101).map(taint).collect();
            taints[7]["effect"] = json!(7);
            let mut object = pool(json!({}), &json!([]));
            object["spec"]["template"]["spec"]["taints"] = taints.into();
            v1(object)
        },
    },
    Explained {
        name: "other-providers-label",
        why: "The oracle is Karpenter with the kwok provider. Every provider has Karpenter's runtime validation reject \
              the labels of its domain that it does not know, and so does poolgate where one is misspelt; of other \
              providers' domains the oracle knows nothing. Their definitions reject labels, too: `definitions.rs` compares \
              those.",
        covers: |case, mismatch| {
            let is_label = ["requirement-key-restricted", "label-restricted"].contains(&mismatch.rule());
            let is_runtime = |finding: &Diagnostic| is_label && finding.origin == Origin::Runtime;
            let key = mismatch
                .ours
                .as_ref()
                .and_then(|finding| label_at(case, &finding.path));
            let is_elsewhere = |key: &str| {
                mismatch.ours.as_ref().is_some_and(is_runtime) && !is_within(domain_of(key), LINKED_PROVIDER)
            };
            mismatch.kind == Kind::Invented
                && key.is_some_and(|key| is_elsewhere(key) || is_closed_elsewhere(key))
        },
        example: || {
            let requirement =
                json!({"key": "karpenter.k8s.aws/instance-famly", "operator": "In", "values": ["c"]});
            let mut object = pool(json!({}), &json!([requirement]));
            object["spec"]["template"]["spec"]["nodeClassRef"] =
                json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
            v1(object)
        },
    },
    Explained {
        name: "reasons-repeated-before",
        why: "Where the stored object repeats a reason anywhere, the API server checks the new one for none. poolgate \
              forgives only lists that stay as they are, so a new repetition does not slip in behind an old one.",
        covers: |case, mismatch| {
            mismatch.kind == Kind::Invented
                && mismatch.rule() == "budget-reason"
                && case.old.as_ref().is_some_and(repeats_a_reason)
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
    Explained {
        name: "static-limit-of-many-digits",
        why: "Karpenter takes `limits.nodes` of a static pool for no limit where its digits, without point and exponent, \
              are more than 64 bits hold. poolgate denies what is below zero however it is written.",
        covers: |case, mismatch| {
            let nodes = case.object.pointer("/spec/limits/nodes").and_then(Value::as_str);
            let digits = nodes.map_or(0, |text| {
                let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
                mantissa.bytes().filter(u8::is_ascii_digit).count()
            });
            mismatch.kind == Kind::Unfounded
                && mismatch.rule() == "limit-amount"
                && case.object.pointer("/spec/replicas").is_some()
                && digits > 18
        },
        example: || {
            let spec = json!({
                "replicas": 5, "disruption": {"consolidateAfter": "1m"},
                "limits": {"nodes": "-16656456098677175087E-2"},
            });
            v1(pool(spec, &json!([])))
        },
    },
    Explained {
        name: "bound-beside-another",
        why: "Karpenter draws a value for the label, or overflows, only where nothing else bounds the label from the \
              other side or lower: no other requirement, and no label of the template. poolgate denies the number \
              for itself: whoever takes the other one away must not crash Karpenter.",
        covers: |case, mismatch| {
            let requirements = case.object.pointer("/spec/template/spec/requirements");
            let requirements = requirements.and_then(Value::as_array);
            let key = mismatch.ours.as_ref().and_then(|finding| {
                // Of a requirement's value: its operator is about all values.
                let [index, _] = indexes(&finding.path)[..] else {
                    return None;
                };
                requirements?.get(index)?["key"].as_str()
            });
            let same = requirements
                .into_iter()
                .flatten()
                .filter(|entry| entry["key"].as_str() == key);
            let labels = case.object.pointer("/spec/template/metadata/labels");
            let has_label = labels
                .zip(key)
                .is_some_and(|(labels, key)| labels.get(key).is_some());
            mismatch.kind == Kind::Unfounded
                && mismatch.rule() == "requirement-unsatisfiable"
                && (same.count() > 1 || has_label)
        },
        example: || {
            let requirement =
                |value: &str| json!({"key": "example.com/n", "operator": "Lte", "values": [value]});
            let requirements = json!([requirement("4"), requirement("9223372036854775807")]);
            v1(pool(
                json!({"disruption": {"consolidateAfter": "1m"}}),
                &requirements,
            ))
        },
    },
];

/// The provider that the oracle has.
const LINKED_PROVIDER: &str = "karpenter.kwok.sh";

/// Whether a label is in a domain of which the definition of another provider takes only listed labels, in every release.
fn is_closed_elsewhere(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or(key);
    let mut closed = ["karpenter.k8s.aws", "karpenter.azure.com"].into_iter();
    closed.any(|end| domain.ends_with(end))
}

/// Whether the API server rejects an update because of something of this kind that poolgate tolerates.
fn is_stricter(mismatch: &Mismatch, is_meant: impl FnOnce(&str) -> bool) -> bool {
    let detail = mismatch.theirs.as_ref().map_or("", |theirs| &theirs.detail);
    mismatch.kind == Kind::RatchetStricter && is_meant(detail)
}

/// Whether poolgate differs only in fields that the API server prunes.
fn is_pruned(mismatch: &Mismatch, is_pruned: impl Fn(&str) -> bool) -> bool {
    mismatch.kind == Kind::ViewsDiffer && mismatch.what.lines().all(is_pruned)
}

/// The key of the label that a finding points at: of the template, or in the field of a requirement.
fn label_at<'v>(case: &'v Case, path: &'v FieldPath) -> Option<&'v str> {
    match path.segments().last()? {
        Segment::Key(field) if field == "key" => path.find_value(&case.object)?.as_str(),
        Segment::Key(label) => Some(label),
        Segment::Index(_) => None,
    }
}

/// Whether some budget repeats a reason.
fn repeats_a_reason(object: &Value) -> bool {
    let budgets = object
        .pointer("/spec/disruption/budgets")
        .and_then(Value::as_array);
    budgets.into_iter().flatten().any(|budget| {
        let reasons = budget["reasons"].as_array().map_or(&[][..], Vec::as_slice);
        (1..reasons.len()).any(|end| reasons[..end].contains(&reasons[end]))
    })
}

/// The intended difference that explains this one, if any.
pub(crate) fn explained(case: &Case, mismatch: &Mismatch) -> Option<&'static str> {
    let mut explained = EXPLAINED.iter();
    let explained = explained.find(|explained| (explained.covers)(case, mismatch))?;
    Some(explained.name)
}

fn with_node_limit_mode(mode: &Value) -> Case {
    let disruption = json!({"consolidateAfter": "1m", "nodeLimitMode": mode});
    v1(pool(json!({"disruption": disruption}), &json!([])))
}

fn v1(object: Value) -> Case {
    Case {
        version: ApiVersion::V1,
        is_behind: false,
        object,
        old: None,
    }
}

fn object(api_version: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": "NodePool", "metadata": {"name": "example"}, "spec": spec})
}

/// A v1 NodePool with these requirements and this `spec`.
fn pool(mut spec: Value, requirements: &Value) -> Value {
    spec["template"] = json!({"spec": {
        "requirements": requirements,
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
    }});
    object("karpenter.sh/v1", &spec)
}
