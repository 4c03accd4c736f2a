//! The operator of a requirement, and whether it fits the label.

use super::{Entry, Scope};
use crate::diagnostic::{ErrorType, Suggestion};
use crate::karpenter::{
    Availability, Field, LabelKind, Operator, Provider, REGION_LABEL, Requirement, WINDOWS_BUILD_LABEL,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// Common wrong names of operators in lower case, with the right ones.
const SYNONYMS: &[(&str, Operator)] = &[
    ("=", Operator::In),
    ("==", Operator::In),
    ("eq", Operator::In),
    ("equal", Operator::In),
    ("equals", Operator::In),
    ("!=", Operator::NotIn),
    ("notequal", Operator::NotIn),
    ("notequals", Operator::NotIn),
    ("not in", Operator::NotIn),
    ("exist", Operator::Exists),
    ("notexists", Operator::DoesNotExist),
    ("doesnotexists", Operator::DoesNotExist),
    (">", Operator::Gt),
    ("greaterthan", Operator::Gt),
    ("<", Operator::Lt),
    ("lessthan", Operator::Lt),
    (">=", Operator::Gte),
    ("ge", Operator::Gte),
    ("<=", Operator::Lte),
    ("le", Operator::Lte),
];

/// The path of the operator of a requirement.
const OPERATOR: &str = "spec.template.spec.requirements[].operator";

pub static REQUIREMENT_OPERATOR: Rule = rule!("requirement-operator", Error, [Schema]);
pub static REQUIREMENT_OPERATOR_NUMERIC: Rule = rule!("requirement-operator-numeric", Error, [Silent], Shown);

/// The operator of a requirement, if it is valid.
pub fn check(
    requirement: &Requirement<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<Operator> {
    let path = || scope.field(requirement.index, "operator");
    let text = match requirement.operator {
        Field::Present(text) => text,
        Field::Mistyped => return None,
        Field::Absent => {
            let suggestion = if requirement.values.is_absent() {
                "write operator: Exists"
            } else {
                "write operator: In"
            };
            findings
                .report(
                    &REQUIREMENT_OPERATOR,
                    path(),
                    ErrorType::Required,
                    "must say how the label relates to the values",
                )
                .suggest(suggestion);
            return None;
        }
    };
    let karpenter = scope.context.karpenter;
    let known = karpenter.knows(OPERATOR, scope.template.version, text);
    let operator = Operator::parse(text);
    if known == Availability::Yes {
        // An operator that only the installed definition knows is accepted, but its meaning is not checked.
        return operator;
    }
    let reason = match operator {
        Some(_) => "it needs Karpenter 1.9 or newer, and v1",
        None => "there is no such operator",
    };
    let words = karpenter.words(OPERATOR, scope.template.version);
    let finding = findings.unsupported(&REQUIREMENT_OPERATOR, path(), text, words, reason);
    if let Some(operator) = operator {
        finding.suggestion = exclusive(operator, requirement).map(Into::into);
    } else if let Some((_, synonym)) = SYNONYMS
        .iter()
        .find(|(written, _)| text.eq_ignore_ascii_case(written))
    {
        finding.suggest(Suggestion::did_you_mean(synonym.as_str()));
    }
    None
}

/// Denies numeric operators on labels whose values are not numbers.
pub fn check_kind(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let fits = !entry.operator.is_numeric()
        || !matches!(entry.kind, LabelKind::WellKnown(values) if values.are_words())
        || !is_carried(entry.key, scope.group);
    if !fits {
        let reason = format!(
            "the values of {} are not numbers, so nothing satisfies it and the pool never launches a node",
            entry.key
        );
        let path = scope.field(entry.index, "operator");
        findings
            .report(
                &REQUIREMENT_OPERATOR_NUMERIC,
                path,
                entry.operator.as_str(),
                reason,
            )
            .suggest("list the values with operator In");
    }
    fits
}

/// Whether the instance types of a provider carry this well-known label. If they do not, a requirement on it has no
/// effect.
fn is_carried(key: &str, group: Option<&str>) -> bool {
    let provider = group.and_then(Provider::of_group);
    match key {
        WINDOWS_BUILD_LABEL => provider.is_some_and(|provider| provider.label(key).is_some()),
        REGION_LABEL => provider.is_none_or(|provider| provider.label(key).is_some()),
        _ => true,
    }
}

/// The same bound with an operator that every release has.
fn exclusive(operator: Operator, requirement: &Requirement<'_>) -> Option<String> {
    let [value] = requirement.values.present()? else {
        return None;
    };
    let bound: i64 = value.as_str()?.parse().ok()?;
    let (operator, bound) = match operator {
        Operator::Gte => (Operator::Gt, bound.checked_sub(1).filter(|bound| *bound >= 0)?),
        _ => (Operator::Lt, bound.checked_add(1)?),
    };
    Some(format!("write operator {} with \"{bound}\"", operator.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::requirements::testing::{errors, errors_in, requirements, requirements_of};

    fn of_operator(operator: &str) -> Vec<String> {
        errors(&requirements(
            &json!([{"key": "example.com/n", "operator": operator, "values": ["5"]}]),
        ))
    }

    #[test]
    fn a_wrong_name_of_an_operator_gets_the_right_one_as_suggestion() {
        for (written, suggestion) in [
            ("in", "write In"),
            ("IN", "write In"),
            ("Inn", "did you mean In?"),
            ("Equals", "did you mean In?"),
            (">=", "did you mean Gte?"),
            ("doesNotExist", "write DoesNotExist"),
            (" Gt", "write Gt"),
        ] {
            let denied = of_operator(written);
            assert_eq!(denied.len(), 1, "{written}");
            assert!(
                denied[0].contains(&format!("; {suggestion} [requirement-operator]")),
                "{denied:?}"
            );
        }
        assert!(of_operator("matches")[0].ends_with("there is no such operator [requirement-operator]"));
    }

    #[test]
    fn a_missing_operator_is_one_error() {
        let object = requirements(&json!([{"key": "example.com/n", "values": ["a b"]}]));
        assert_eq!(
            errors(&object),
            [
                "spec.template.spec.requirements[0].operator: Required value: must say how the label relates to the \
                 values; write operator: In [requirement-operator]"
            ]
        );
    }

    #[test]
    fn a_bound_on_text_is_denied_if_instance_types_carry_the_label() {
        let is_denied = |key: &str, group: &str| {
            let mut object = requirements(&json!([{"key": key, "operator": "Lt", "values": ["1"]}]));
            object["spec"]["template"]["spec"]["nodeClassRef"] =
                json!({"group": group, "kind": "NodeClass", "name": "default"});
            errors(&object)
                .iter()
                .any(|error| error.ends_with("[requirement-operator-numeric]"))
        };
        let (aws, kwok) = ("karpenter.k8s.aws", "karpenter.kwok.sh");
        for (key, by_aws, by_kwok) in [
            ("node.kubernetes.io/windows-build", true, false),
            ("topology.kubernetes.io/region", true, false),
            ("topology.kubernetes.io/zone", true, true),
        ] {
            assert_eq!(
                (is_denied(key, aws), is_denied(key, kwok)),
                (by_aws, by_kwok),
                "{key}"
            );
        }
    }

    #[test]
    fn gte_and_lte_need_1_9_and_get_a_suggestion_before() {
        let object = requirements(
            &json!([{"key": "karpenter.kwok.sh/instance-cpu", "operator": "Gte", "values": ["4"]}]),
        );
        assert_eq!(
            errors_in(ApiVersion::V1, KarpenterVersion::new(1, 9, 0), &object),
            [""; 0]
        );
        let old = errors_in(ApiVersion::V1, KarpenterVersion::new(1, 8, 0), &object);
        assert!(
            old[0].ends_with(
                "it needs Karpenter 1.9 or newer, and v1; write operator Gt with \"3\" [requirement-operator]"
            ),
            "{old:?}"
        );
        assert_eq!(
            errors_in(ApiVersion::V1Beta1, KarpenterVersion::NEWEST, &object).len(),
            1
        );
    }

    #[test]
    fn a_bound_on_a_label_with_text_values_is_denied() {
        for key in [
            "topology.kubernetes.io/zone",
            "beta.kubernetes.io/arch",
            "karpenter.k8s.aws/instance-family",
        ] {
            let object = requirements_of(
                "karpenter.k8s.aws",
                &json!([{"key": key, "operator": "Gt", "values": ["1"]}]),
            );
            let denied = errors(&object);
            assert_eq!(denied.len(), 1, "{key}");
            assert!(denied[0].ends_with("[requirement-operator-numeric]"));
        }
    }
}
