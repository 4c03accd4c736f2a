//! Reports fields that are missing, and values of the right type that are illegal. The constraints are data of
//! [`crate::facts::shape`]; their rules and texts are here, by the path of the field.

use super::findings::Findings;
use super::kubelet::KUBELET;
use super::taints::TAINT;
use crate::diagnostic::{ErrorType, FieldPath, Suggestion};
use crate::facts::shape::{ConstraintKind, entries};
use crate::json::Json;
use crate::json::whole_number;
use crate::rules::rule::Rule;

pub static FIELD_REQUIRED: Rule = rule!("field-required", Error, Schema);
pub static WEIGHT: Rule = rule!("weight", Error, Schema);

/// Reports a value that a constraint does not allow; of nested missing fields, only the outermost. A test shows that each constraint has a text.
pub fn report(
    object: &Json<'_>,
    path: FieldPath,
    value: &Json<'_>,
    kind: &ConstraintKind,
    findings: &mut Findings<'_>,
) {
    let Some(text) = text(&path.without_positions(), kind) else {
        return;
    };
    let error_type = match (kind, value) {
        (ConstraintKind::Present, _) => ErrorType::Required,
        (ConstraintKind::Within(_), Json::Number(number)) => match whole_number(number) {
            Some(number) => number.into(),
            None => return,
        },
        (ConstraintKind::AtMost(_), _) => ErrorType::TooMany {
            actual: entries(value),
        },
        (ConstraintKind::OneOf(words), Json::String(word)) => {
            findings.unsupported(text.rule, path, word, words, text.title);
            return;
        }
        _ => return,
    };
    let suggestion =
        group_of_v1beta1(object, &path).or_else(|| (text.suggestion)(value).map(Suggestion::from));
    findings
        .report(text.rule, path, error_type, text.title)
        .suggest_if_known(suggestion);
}

/// The words about one constraint.
struct ConstraintWords {
    /// The paths of the fields with the constraint, as in the table of the definition.
    fields: &'static [&'static str],
    /// The rule that reports it.
    rule: &'static Rule,
    /// Why the value is illegal: a clause without a full stop.
    title: &'static str,
    /// The help for a value, unless the object or a list of keywords suggests a better one.
    suggestion: fn(&Json<'_>) -> Option<&'static str>,
}

const UNFOUND: &str = "a reference to a node class requires group, kind and name";

const EFFECTS: &[&str] = &[
    "spec.template.spec.taints[].effect",
    "spec.template.spec.startupTaints[].effect",
];

static TEXTS: &[ConstraintWords] = &[
    ConstraintWords {
        fields: &["spec", "spec.template", "spec.template.spec"],
        rule: &FIELD_REQUIRED,
        title: "a NodePool requires spec.template.spec",
        suggestion: |_| Some("add spec.template.spec with nodeClassRef and requirements"),
    },
    ConstraintWords {
        fields: &["spec.template.spec.nodeClassRef"],
        rule: &FIELD_REQUIRED,
        title: "a NodePool requires a node class",
        suggestion: |_| Some("write the group, kind and name of your node class"),
    },
    ConstraintWords {
        fields: &["spec.template.spec.nodeClassRef.group"],
        rule: &FIELD_REQUIRED,
        title: UNFOUND,
        suggestion: |_| Some("write the group of your node class"),
    },
    ConstraintWords {
        fields: &["spec.template.spec.nodeClassRef.kind"],
        rule: &FIELD_REQUIRED,
        title: UNFOUND,
        suggestion: |_| Some("write the kind of your node class"),
    },
    ConstraintWords {
        fields: &["spec.template.spec.nodeClassRef.name"],
        rule: &FIELD_REQUIRED,
        title: UNFOUND,
        suggestion: |_| Some("write the name of your node class"),
    },
    ConstraintWords {
        fields: &["spec.template.spec.requirements"],
        rule: &FIELD_REQUIRED,
        title: "the API requires this list, even if it is empty",
        suggestion: |_| Some("write requirements: []"),
    },
    ConstraintWords {
        fields: &[
            "spec.template.spec.taints[].key",
            "spec.template.spec.startupTaints[].key",
        ],
        rule: &FIELD_REQUIRED,
        title: "a taint requires a key",
        suggestion: |_| Some("write a key such as example.com/team"),
    },
    ConstraintWords {
        fields: EFFECTS,
        rule: &FIELD_REQUIRED,
        title: "a taint requires an effect",
        suggestion: |_| Some("write NoSchedule, PreferNoSchedule or NoExecute"),
    },
    ConstraintWords {
        fields: EFFECTS,
        rule: &TAINT,
        title: "Kubernetes has no such taint effect",
        suggestion: |_| None,
    },
    ConstraintWords {
        fields: &["spec.weight"],
        rule: &WEIGHT,
        title: "a weight must be from 1 to 100",
        suggestion: instead_of_weight,
    },
    ConstraintWords {
        fields: &[
            "spec.template.spec.kubelet.imageGCHighThresholdPercent",
            "spec.template.spec.kubelet.imageGCLowThresholdPercent",
        ],
        rule: &KUBELET,
        title: "a threshold must be from 0 to 100",
        suggestion: |_| None,
    },
    ConstraintWords {
        fields: &[
            "spec.template.spec.kubelet.maxPods",
            "spec.template.spec.kubelet.podsPerCore",
        ],
        rule: &KUBELET,
        title: "a number of pods must be from 0 to 2147483647",
        suggestion: |_| None,
    },
];

/// The words about a constraint of a field. A missing value and an illegal one are different rules.
fn text(field: &str, kind: &ConstraintKind) -> Option<&'static ConstraintWords> {
    let must_be_present = matches!(kind, ConstraintKind::Present);
    let mut texts = TEXTS.iter().filter(|text| text.fields.contains(&field));
    texts.find(|text| (text.rule.id == FIELD_REQUIRED.id) == must_be_present)
}

/// The group to write if it is missing and the manifest has it in `apiVersion`, as in v1beta1.
fn group_of_v1beta1(object: &Json<'_>, missed: &FieldPath) -> Option<Suggestion> {
    let api_version = missed
        .parent()
        .filter(|reference| reference.clone().key("group") == *missed)?
        .key("apiVersion");
    let (group, _) = api_version.find(object)?.as_str()?.split_once('/')?;
    let is_group = !group.is_empty() && group.len() <= 253 && !group.contains(char::is_control);
    is_group.then(|| format!("write group: {group}").into())
}

/// The help for an illegal weight.
fn instead_of_weight(weight: &Json<'_>) -> Option<&'static str> {
    Some(match weight.as_f64()? {
        0.0 => "leave weight out for the default of 0",
        ..0.0 => "write 1, or leave weight out for the lowest priority",
        _ => "write 100, the highest",
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::facts::shape::{Shape, nodepool};
    use crate::facts::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::errors_for;

    /// Fields on which a rule of its own reports the constraints, because it knows more than the table: what the cluster
    /// has installed, what poolgate writes, or what a name stands for.
    const OWN_RULES: &[&str] = &[
        "spec.disruption.budgets",
        "spec.disruption.budgets[].reasons",
        "spec.disruption.budgets[].reasons[]",
        "spec.disruption.consolidateAfter",
        "spec.disruption.consolidationPolicy",
        "spec.replicas",
        "spec.template.metadata.labels",
        "spec.template.spec.requirements",
        "spec.template.spec.requirements[].key",
        "spec.template.spec.requirements[].minValues",
        "spec.template.spec.requirements[].operator",
        "spec.template.spec.resources",
    ];

    /// Passes each constraint of a table that is not about the text of a string to `found`, with a path to its field.
    fn each(shape: &Shape, path: FieldPath, found: &mut impl FnMut(&FieldPath, &ConstraintKind)) {
        match shape {
            Shape::Constrained(constraints, shape) => {
                for constraint in *constraints {
                    match constraint.kind {
                        ConstraintKind::AtMost(_) if matches!(shape, Shape::Text) => {}
                        ConstraintKind::Present
                        | ConstraintKind::Within(_)
                        | ConstraintKind::AtMost(_)
                        | ConstraintKind::OneOf(_) => {
                            found(&path, &constraint.kind);
                        }
                        ConstraintKind::AtLeast(_)
                        | ConstraintKind::Matches(_)
                        | ConstraintKind::Default(_) => {}
                    }
                }
                each(shape, path, found);
            }
            Shape::List(element) => each(element, path.index(0), found),
            Shape::Map(entry) => each(entry, path.key("any"), found),
            Shape::Object(fields) | Shape::Open(fields) => {
                for (name, shape) in *fields {
                    each(shape, path.clone().key(*name), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn each_constraint_has_a_text_that_names_its_bounds_and_each_text_has_a_constraint() {
        let mut demanded = BTreeSet::new();
        let mut untold = BTreeSet::new();
        for version in [ApiVersion::V1, ApiVersion::V1Beta1] {
            each(nodepool(version), FieldPath::root(), &mut |path, kind| {
                let field = path.without_positions();
                let Some(text) = text(&field, kind) else {
                    assert!(OWN_RULES.contains(&&*field), "{field} has no text for {kind:?}");
                    untold.insert(field);
                    return;
                };
                let bounds = match kind {
                    ConstraintKind::Within(range) => {
                        vec![range.start().to_string(), range.end().to_string()]
                    }
                    ConstraintKind::AtMost(most) => vec![most.to_string()],
                    _ => Vec::new(),
                };
                for bound in bounds {
                    let mut words = text.title.split(' ');
                    assert!(
                        words.any(|word| word == bound),
                        "{field}: {} is not {bound}",
                        text.title
                    );
                }
                demanded.insert((field, text.rule.id));
            });
        }
        let fields = |text: &'static ConstraintWords| {
            text.fields
                .iter()
                .map(|field| ((*field).to_owned(), text.rule.id))
        };
        let mut texts: Vec<_> = TEXTS.iter().flat_map(fields).collect();
        texts.sort();
        assert_eq!(texts, Vec::from_iter(demanded));
        assert_eq!(OWN_RULES, Vec::from_iter(untold));
    }

    #[test]
    fn a_pool_of_v1_is_asked_for_what_v1_requires_even_by_a_release_that_does_not_serve_it() {
        let missing =
            json!({"spec": {"template": {"spec": {"requirements": null, "nodeClassRef": {"name": "a"}}}}});
        for release in [KarpenterVersion::OLDEST, KarpenterVersion::NEWEST] {
            let denied = errors_for(ApiVersion::V1, release, &missing, None);
            let paths: Vec<_> = denied
                .iter()
                .filter(|line| line.contains("[field-required]"))
                .filter_map(|line| line.split_once(": "))
                .map(|(path, _)| path)
                .collect();
            assert_eq!(
                paths,
                [
                    "spec.template.spec.requirements",
                    "spec.template.spec.nodeClassRef.group",
                    "spec.template.spec.nodeClassRef.kind"
                ],
                "{release}"
            );
        }
    }

    #[test]
    fn only_the_outermost_missing_field_is_reported() {
        let missed = |object: &Value| -> Vec<String> {
            let denied = errors_for(ApiVersion::V1Beta1, KarpenterVersion::OLDEST, object, None);
            let required = denied.iter().filter(|line| line.contains("[field-required]"));
            required
                .filter_map(|line| Some(line.split_once(": ")?.0.to_owned()))
                .collect()
        };
        assert_eq!(missed(&json!({"spec": null})), ["spec"]);
        assert_eq!(missed(&json!({"spec": {"template": null}})), ["spec.template"]);
        assert_eq!(
            missed(
                &json!({"spec": {"template": {"spec": {"taints": [{}], "requirements": null, "nodeClassRef": null}}}})
            ),
            [
                "spec.template.spec.requirements",
                "spec.template.spec.taints[0].key",
                "spec.template.spec.taints[0].effect",
                "spec.template.spec.nodeClassRef"
            ]
        );
    }
}
