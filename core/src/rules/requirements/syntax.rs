//! The parts of a requirement: its key, its operator, and the values that the operator takes. Karpenter rejects mistakes in
//! them.

use super::demand::{At, Demand};
use super::scope::{Scope, named};
use super::{labels, min_values, slips};
use crate::diagnostic::{Diagnostic, ErrorType, FieldPath, Origin, Suggestion};
use crate::facts::{Availability, Operator, integer};
use crate::json::Json;
use crate::pool::{Field, Requirement};
use crate::rules::findings::Findings;
use crate::rules::label_verdict::Place;
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

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

pub static REQUIREMENT_KEY: Rule = rule!("requirement-key", Error, Schema);
pub static REQUIREMENT_OPERATOR: Rule = rule!("requirement-operator", Error, Schema);
pub static REQUIREMENT_VALUES: Rule = rule!("requirement-values", Error, Schema);

/// Reads a requirement and reports mistakes in its parts. `None` unless all of them are right.
pub fn read<'a>(
    requirement: &Requirement<'a>,
    scope: &Scope<'a>,
    findings: &mut Findings<'_>,
) -> Option<Demand<'a>> {
    let at = At::Requirement(requirement.index);
    let key = key(requirement, at, scope, findings);
    let operator = operator(requirement, at, scope, findings);
    let label = key.and_then(|key| Some((key, labels::kind(key, at, scope, findings)?)));
    let least = min_values::read(requirement, operator, at, scope, findings);
    let operator = operator?;
    let values = values(requirement, operator, at, scope, findings)?;
    let (written, kind) = label?;
    Some(Demand::new(at, written, kind, (operator, values), least, scope))
}

/// Reports a string that breaks a grammar.
pub fn report_syntax<'f>(
    findings: &'f mut Findings<'_>,
    rule: &'static Rule,
    path: FieldPath,
    text: &str,
    error: &str,
) -> &'f mut Diagnostic {
    findings.report(rule, path, text, error)
}

fn key<'a>(
    requirement: &Requirement<'a>,
    at: At<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<&'a str> {
    let path = || at.field("key");
    let key = match requirement.key {
        Field::Present(key) => key,
        Field::Mistyped | Field::Beyond => return None,
        Field::Absent => {
            let title = "a requirement must name a label";
            findings.report(&REQUIREMENT_KEY, path(), ErrorType::Required, title);
            return None;
        }
    };
    let finding = match qualified_name(key) {
        Err(error) => {
            // CEL rules reject the reserved ones, and they are not in the table.
            let is_rejected = findings.context.crd_rejects(&path(), key)
                || scope.labels.is_rejected(key, Place::RequirementKeys);
            let finding = report_syntax(findings, &REQUIREMENT_KEY, path(), key, &error);
            if !is_rejected {
                finding.origin(Origin::Runtime);
            }
            finding
        }
        Ok(()) if key.len() > findings.context.longest_key => {
            let (length, longest) = (key.len(), findings.context.longest_key);
            let title = format!("a key must have at most {longest} bytes, not {length}");
            findings.report(&REQUIREMENT_KEY, path(), key, title)
        }
        Ok(()) => return Some(key),
    };
    let fixed = corrected_key(key).filter(|fixed| scope.labels.may_propose(fixed, Place::RequirementKeys));
    finding.suggest_if_known(fixed.map(|fixed| format!("write {fixed}")));
    None
}

fn operator(
    requirement: &Requirement<'_>,
    at: At<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<Operator> {
    let path = || at.field("operator");
    let text = match requirement.operator {
        Field::Present(text) => text,
        Field::Mistyped | Field::Beyond => return None,
        Field::Absent => {
            let suggestion = if requirement.values.is_absent() {
                "write operator: Exists"
            } else {
                "write operator: In"
            };
            let title = "a requirement must have an operator";
            findings
                .report(&REQUIREMENT_OPERATOR, path(), ErrorType::Required, title)
                .suggest(suggestion);
            return None;
        }
    };
    let known = scope.operators.knows(text);
    let operator = Operator::parse(text);
    if known == Availability::Yes {
        // An operator that only the installed definition knows is accepted, but its meaning is not checked.
        return operator;
    }
    let title = match operator {
        Some(_) => "the operator requires Karpenter 1.9 or newer, and v1",
        None => "Karpenter has no such operator",
    };
    let words = scope.operators.listed();
    let finding = findings.unsupported(&REQUIREMENT_OPERATOR, path(), text, words, title);
    if let Some(operator) = operator {
        finding.help = exclusive(operator, requirement).map(Into::into);
    } else if let Some((_, synonym)) = SYNONYMS
        .iter()
        .find(|(written, _)| text.eq_ignore_ascii_case(written))
    {
        finding.suggest(Suggestion::did_you_mean(synonym.as_str()));
    }
    None
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

/// The values, if each is a legal label value and the operator takes so many.
fn values<'a>(
    requirement: &Requirement<'a>,
    operator: Operator,
    at: At<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<Vec<&'a str>> {
    let list = match requirement.values {
        Field::Present(list) => list,
        Field::Absent => &[],
        Field::Mistyped | Field::Beyond => return None,
    };
    let values: Vec<&str> = list.iter().map(Json::as_str).collect::<Option<_>>()?;
    if let Some((error_type, title)) = miscount(operator, values.len()) {
        findings.report(&REQUIREMENT_VALUES, at.field("values"), error_type, title);
        return None;
    }
    let checked = match values.as_slice() {
        [number] if operator.is_numeric() => check_number(number, at, findings),
        values => {
            let key = requirement.key.present().unwrap_or_default();
            check_texts(values, key, at, scope, findings)
        }
    };
    checked.is_ok().then_some(values)
}

/// The mistake in the number of values.
// karpenter: pkg/apis/v1/nodepool.go NodeClaimTemplateSpec.Requirements
// karpenter: pkg/apis/v1/nodeclaim_validation.go ValidateRequirement
fn miscount(operator: Operator, actual: usize) -> Option<(ErrorType, String)> {
    let name = operator.as_str();
    match (operator, actual) {
        (Operator::In, 0) => Some((
            ErrorType::Required,
            format!("operator {name} requires at least one value"),
        )),
        (_, 1) => None,
        (operator, _) if !operator.is_numeric() => None,
        (_, 0) => Some((ErrorType::Required, format!("operator {name} requires a number"))),
        (_, actual) => Some((
            ErrorType::TooMany { actual },
            format!("operator {name} takes exactly one number"),
        )),
    }
}

/// A value that Karpenter rejects has been reported.
struct Rejected;

/// The CRD requires a whole number. Karpenter also requires the syntax of a label value: no sign.
// karpenter: pkg/apis/v1/nodeclaim_validation.go ValidateRequirement
fn check_number(text: &str, at: At<'_>, findings: &mut Findings<'_>) -> Result<(), Rejected> {
    let number = integer(text).filter(|number| *number >= 0);
    let (finding, meant) = match (number, label_value(text)) {
        (Some(_), Ok(())) => return Ok(()),
        (Some(number), Err(error)) => {
            let finding = report_syntax(findings, &REQUIREMENT_VALUES, at.value(0), text, &error);
            (finding.origin(Origin::Runtime), Some(number))
        }
        (None, _) => {
            let title = "the value must be a whole number from 0 to 9223372036854775807";
            let finding = findings.report(&REQUIREMENT_VALUES, at.value(0), text, title);
            (finding, integer(text.trim()))
        }
    };
    // No value below 0 is legal.
    let meant = meant.filter(|number| *number > 0);
    finding.suggest_if_known(meant.map(|number| Suggestion::write(number.to_string())));
    Err(Rejected)
}

fn check_texts(
    values: &[&str],
    key: &str,
    at: At<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Rejected> {
    let values = values.iter().copied().enumerate();
    let mut illegal =
        values.filter_map(|(position, value)| Some((position, value, label_value(value).err()?)));
    let Some((position, value, error)) = illegal.next() else {
        return Ok(());
    };
    let others: Vec<&str> = illegal.map(|(_, value, _)| value).collect();
    // Karpenter rejects each value on its own, so a finding on several values is about the whole list.
    let path = if others.is_empty() {
        at.value(position)
    } else {
        at.field("values")
    };
    let help = if is_placeholder(value) {
        Some("replace the placeholder with a value".to_owned())
    } else {
        corrected_value(value)
            .and_then(|fixed| slips::corrected(key, fixed, scope.capacity_types()))
            .map(|fixed| format!("write {fixed}"))
    };
    let finding = report_syntax(findings, &REQUIREMENT_VALUES, path, value, &error);
    finding.origin(Origin::Runtime).suggest_if_known(help);
    if !others.is_empty() {
        let others = named(others.into_iter());
        finding.consequence(format!("other values are illegal as well: {others}"));
    }
    Err(Rejected)
}

/// Whether a template engine should have replaced this value.
fn is_placeholder(value: &str) -> bool {
    [("${", "}"), ("{{", "}}"), ("<", ">"), ("$(", ")")]
        .iter()
        .any(|(start, end)| value.starts_with(start) && value.ends_with(end))
}
