//! Fields of the wrong JSON type.

use serde_json::Value;

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Fix, Origin, Problem, RuleId, Severity};
use crate::karpenter::shape::Shape;
use crate::rule::Rule;

pub(super) static FIELD_TYPE: Rule = Rule {
    id: RuleId::new("field-type"),
    title: "Every field has the type that the API requires",
    severity: Severity::Error,
    origins: &[Origin::Schema],
    evidence: None,
    why: "The API server refuses a value of the wrong type. Most often it is a number where the API wants \
          text: budgets count nodes as `\"5\"` or `\"10%\"`, never as `5`. poolgate names the field and goes on \
          to the other mistakes.",
    seen_in: &["1066"],
    bad: "\
spec:
  disruption:
    budgets:
      - nodes: 5
",
    good: "\
spec:
  disruption:
    budgets:
      - nodes: \"5\"
",
};

/// Speaks of one value of the wrong type.
pub(super) fn report(path: FieldPath, value: &Value, expected: &Shape, findings: &mut Findings<'_>) {
    let finding = FIELD_TYPE.finding(path, Problem::mistyped(value), format!("must be {expected}"));
    findings.push(
        finding
            .suggest_if_known(suggestion(value, expected))
            .fix_if_known(fix(value, expected)),
    );
}

fn suggestion(value: &Value, expected: &Shape) -> Option<String> {
    match (value, expected) {
        (Value::Number(_) | Value::Bool(_), Shape::Text | Shape::IntegerOrText) => {
            Some(format!("write it in quotes: \"{value}\""))
        }
        (Value::String(text), Shape::Integer) => {
            let number: i64 = text.trim().parse().ok()?;
            Some(format!("write it without quotes: {number}"))
        }
        (Value::String(text), Shape::Boolean) if matches!(text.as_str(), "true" | "false") => {
            Some(format!("write it without quotes: {text}"))
        }
        (Value::Object(_), Shape::List(_)) => Some("begin each element with a dash".into()),
        _ => None,
    }
}

/// The same in quotes, or without them. A fraction can be written in many ways, of which one was meant.
fn fix(value: &Value, expected: &Shape) -> Option<Fix> {
    match (value, expected) {
        (Value::Number(number), Shape::Text | Shape::IntegerOrText) => {
            (!number.is_f64()).then(|| Fix::text(number.to_string()))
        }
        (Value::String(text), Shape::Integer) => {
            let number: i64 = text.trim().parse().ok()?;
            Some(Fix::Write(number.into()))
        }
        (Value::String(text), Shape::Boolean) => Some(Fix::Write(text.parse::<bool>().ok()?.into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::testing::errors;

    #[test]
    fn a_wrong_type_is_one_error_without_follow_ups() {
        let object = json!({"spec": {
            "disruption": {"budgets": [{"nodes": 5, "schedule": 9, "duration": "8h"}]},
            "limits": "none",
        }});
        assert_eq!(
            errors(&object),
            [
                r#"spec.disruption.budgets[0].nodes: Invalid value: 5: must be a string; write it in quotes: "5" [field-type]"#,
                r#"spec.disruption.budgets[0].schedule: Invalid value: 9: must be a string; write it in quotes: "9" [field-type]"#,
                r#"spec.limits: Invalid value: "none": must be an object [field-type]"#,
            ]
        );
    }

    #[test]
    fn numbers_in_quotes_where_a_number_belongs_are_corrected_too() {
        assert_eq!(
            errors(&json!({"spec": {"weight": "10"}})),
            [
                r#"spec.weight: Invalid value: "10": must be a whole number; write it without quotes: 10 [field-type]"#
            ]
        );
    }
}
