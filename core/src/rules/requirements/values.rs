//! The values of a requirement: how many its operator takes, and the syntax of each.

use super::{Scope, misspelt_values};
use crate::diagnostic::{ErrorType, Suggestion, quoted};
use crate::json::Json;
use crate::karpenter::{Field, Operator, Requirement, integer};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::label::{corrected_value, label_value};

pub static REQUIREMENT_VALUES: Rule = rule!("requirement-values", Error, Schema);
pub static REQUIREMENT_NUMBER: Rule = rule!("requirement-number", Error, Schema);
pub static REQUIREMENT_VALUE: Rule = rule!("requirement-value", Error, Runtime);

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
    if !check_count(index, operator, &values, findings) {
        return None;
    }
    match values.first() {
        Some(number) if operator.is_numeric() => check_number(index, number, findings).then_some(values),
        _ => check_syntax(requirement, &values, scope, findings).then_some(values),
    }
}

fn check_count(index: usize, operator: Operator, values: &[&str], findings: &mut Findings<'_>) -> bool {
    let path = || Scope::field(index, "values");
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
fn check_number(index: usize, text: &str, findings: &mut Findings<'_>) -> bool {
    let number = integer(text).filter(|number| *number >= 0);
    let path = || Scope::value(index, 0);
    let (finding, suggestion) = match (number, label_value(text)) {
        (Some(_), Ok(())) => return true,
        (Some(number), Err(error)) => {
            let finding = findings.report(&REQUIREMENT_VALUE, path(), text, error.to_string());
            (finding, Some(number))
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
        Scope::value(index, position)
    } else {
        Scope::field(index, "values")
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
        .suggest_if_known(suggestion);
    false
}

/// Whether a template engine should have replaced this value.
fn is_placeholder(value: &str) -> bool {
    [("${", "}"), ("{{", "}}"), ("<", ">"), ("$(", ")")]
        .iter()
        .any(|(start, end)| value.starts_with(start) && value.ends_with(end))
}
