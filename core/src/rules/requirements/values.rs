//! The values of a requirement: how many its operator takes, and the syntax of each.

use super::{Scope, misspelt_values};
use crate::diagnostic::{ErrorType, Suggestion, quoted};
use crate::json::Json;
use crate::karpenter::{Field, Operator, Requirement, integer};
use crate::rules::findings::Findings;
use crate::rules::origins::by_runtime;
use crate::rules::rule::Rule;
use crate::value::label::{corrected_value, label_value};

pub static REQUIREMENT_VALUES: Rule = rule!("requirement-values", Error, [Schema]);
pub static REQUIREMENT_NUMBER: Rule = rule!("requirement-number", Error, [Schema]);
pub static REQUIREMENT_VALUE: Rule = rule!("requirement-value", Error, [Runtime, Silent], Read);

/// Returns the values of a requirement if each is a legal label value and the operator takes so many.
pub fn check<'a>(
    requirement: &Requirement<'a>,
    operator: Operator,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<Vec<&'a str>> {
    let list = match requirement.values {
        Field::Present(list) => list,
        Field::Absent => &[],
        Field::Mistyped => return None,
    };
    let values: Vec<&str> = list.iter().map(Json::as_str).collect::<Option<_>>()?;
    let index = requirement.index;
    if !check_count(index, operator, &values, scope, findings) {
        return None;
    }
    match values.first() {
        Some(number) if operator.is_numeric() => {
            check_number(index, number, scope, findings).then_some(values)
        }
        _ => check_syntax(requirement, &values, scope, findings).then_some(values),
    }
}

fn check_count(
    index: usize,
    operator: Operator,
    values: &[&str],
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> bool {
    let path = || scope.field(index, "values");
    let name = operator.as_str();
    match operator {
        Operator::In if values.is_empty() => {
            findings.report(
                &REQUIREMENT_VALUES,
                path(),
                ErrorType::Required,
                "operator In needs at least one value",
            );
        }
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte if values.len() != 1 => {
            let (error_type, reason) = if values.is_empty() {
                (ErrorType::Required, format!("operator {name} needs a number"))
            } else {
                let error_type = ErrorType::TooMany { actual: values.len() };
                (error_type, format!("operator {name} compares with one number"))
            };
            findings.report(&REQUIREMENT_VALUES, path(), error_type, reason);
        }
        _ => return true,
    }
    false
}

/// The CRD requires a whole number. Karpenter also requires the syntax of a label value: no sign.
fn check_number(index: usize, text: &str, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let number = integer(text).filter(|number| *number >= 0);
    let path = || scope.value(index, 0);
    let (finding, suggestion) = match (number, label_value(text)) {
        (Some(_), Ok(())) => return true,
        (Some(number), Err(error)) => {
            let finding = findings.report(&REQUIREMENT_VALUE, path(), text, error.to_string());
            (finding.origin(by_runtime(scope.template.owner)), Some(number))
        }
        (None, _) => {
            let reason = "must be a whole number from 0 to 9223372036854775807";
            let finding = findings.report(&REQUIREMENT_NUMBER, path(), text, reason);
            (finding, integer(text.trim()))
        }
    };
    // Below 0 there is nothing.
    let suggestion = suggestion.filter(|number| *number > 0);
    finding.suggest_if_known(suggestion.map(|number| Suggestion::write(number.to_string())));
    false
}

fn check_syntax(
    requirement: &Requirement<'_>,
    values: &[&str],
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> bool {
    let index = requirement.index;
    let values = values.iter().copied().enumerate();
    let mut illegal =
        values.filter_map(|(position, value)| Some((position, value, label_value(value).err()?)));
    let Some((position, value, error)) = illegal.next() else {
        return true;
    };
    let others: Vec<&str> = illegal.map(|(_, value, _)| value).collect();
    // Karpenter rejects each value by itself, so a finding on several values is about the whole list.
    let path = if others.is_empty() {
        scope.value(index, position)
    } else {
        scope.field(index, "values")
    };
    let suggestion = if is_placeholder(value) {
        Some("fill in the template first: this is a placeholder".to_owned())
    } else {
        let key = requirement.key.present().unwrap_or_default();
        corrected_value(value)
            .and_then(|fixed| misspelt_values::existing(key, fixed, scope.capacity_types()))
            .map(|fixed| format!("write {fixed}"))
    };
    let reason = match others.len() {
        0 => error.to_string(),
        1 => format!(
            "{error}; {} is also invalid as a label value",
            quoted(others.first().copied().unwrap_or_default())
        ),
        more => format!("{error}; {more} others are also invalid as label values"),
    };
    findings
        .report(&REQUIREMENT_VALUE, path, value, reason)
        .origin(by_runtime(scope.template.owner))
        .suggest_if_known(suggestion);
    false
}

/// Whether a template engine should have replaced this value.
fn is_placeholder(value: &str) -> bool {
    [("${", "}"), ("{{", "}}"), ("<", ">"), ("$(", ")")]
        .iter()
        .any(|(start, end)| value.starts_with(start) && value.ends_with(end))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::requirements::testing::{errors, requirements};

    const CPU: &str = "karpenter.kwok.sh/instance-cpu";

    fn requirement(operator: &str, values: &Value) -> Value {
        requirements(&json!([{"key": CPU, "operator": operator, "values": values}]))
    }

    #[test]
    fn a_value_that_is_suggested_is_one_that_nodes_can_have() {
        let help = |key: &str, value: &str| {
            let denied = errors(&requirements(
                &json!([{"key": key, "operator": "In", "values": [value]}]),
            ));
            let (_, help) = denied[0].split_once("are allowed").expect("the reason");
            help.to_owned()
        };
        let capacity = "karpenter.sh/capacity-type";
        assert_eq!(help(capacity, "subscription "), " [requirement-value]");
        assert_eq!(help(capacity, "spott "), "; write spot [requirement-value]");
        assert_eq!(
            help("kubernetes.io/arch", "x86_64 "),
            "; write amd64 [requirement-value]"
        );
        assert_eq!(
            help("example.com/team", "subscription "),
            "; write subscription [requirement-value]"
        );
    }

    #[test]
    fn a_wrong_number_of_values_for_the_operator_is_denied() {
        for (operator, values) in [
            ("In", json!([])),
            ("In", json!(null)),
            ("Gt", json!([])),
            ("Lt", json!(null)),
            ("Gte", json!(["1", "2"])),
        ] {
            let denied = errors(&requirement(operator, &values));
            assert_eq!(denied.len(), 1, "{operator} {values}");
            assert!(denied[0].starts_with("spec.template.spec.requirements[0].values: "));
            assert!(denied[0].ends_with("[requirement-values]"), "{denied:?}");
        }
    }

    #[test]
    fn numbers_are_read_as_the_crd_and_then_as_karpenter_reads_them() {
        for (text, rule) in [
            ("", "requirement-number"),
            ("a", "requirement-number"),
            ("1.5", "requirement-number"),
            (" 5", "requirement-number"),
            ("-1", "requirement-number"),
            ("9223372036854775808", "requirement-number"),
            ("+5", "requirement-value"),
            ("-0", "requirement-value"),
        ] {
            let denied = errors(&requirement("Gt", &json!([text])));
            assert_eq!(denied.len(), 1, "{text}");
            assert!(denied[0].ends_with(&format!("[{rule}]")), "{denied:?}");
        }
        for text in ["0", "5", "007"] {
            assert_eq!(errors(&requirement("Gt", &json!([text]))), [""; 0], "{text}");
        }
        assert!(errors(&requirement("Gt", &json!(["+5"])))[0].contains("write \"5\""));
    }

    #[test]
    fn illegal_values_of_one_list_are_reported_together() {
        let denied = errors(&requirement("In", &json!(["4", "us east", " 8", "a".repeat(64)])));
        assert_eq!(
            denied,
            [
                "spec.template.spec.requirements[0].values: Invalid value: \"us east\": contains a space; only letters, \
                 digits, `-`, `_` and `.` are allowed; 2 others are also invalid as label values [requirement-value]"
            ]
        );
        let denied = errors(&requirement("In", &json!(["4", " 8", "+5"])));
        assert!(
            denied[0].contains("; \"+5\" is also invalid as a label value; write 8 ["),
            "{denied:?}"
        );
        let denied = errors(&requirement("In", &json!(["4", "a".repeat(64)])));
        assert!(
            denied[0].starts_with("spec.template.spec.requirements[0].values[1]: "),
            "{denied:?}"
        );
        assert!(denied[0].contains("is 64 bytes long, and the maximum is 63"));
    }

    #[test]
    fn a_placeholder_is_reported_as_one() {
        for text in ["${ARCH}", "<<AZ>>", "{{ .Values.zone }}"] {
            let denied = errors(&requirement("In", &json!([text])));
            assert!(
                denied[0].ends_with("this is a placeholder [requirement-value]"),
                "{denied:?}"
            );
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_reported_once() {
        let denied = errors(&requirement("In", &json!([4, "us east"])));
        assert_eq!(denied.len(), 1);
        assert!(denied[0].ends_with("[field-type]"));
    }
}
