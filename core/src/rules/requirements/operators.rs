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

pub static REQUIREMENT_OPERATOR: Rule = rule!("requirement-operator", Error, Schema);
pub static REQUIREMENT_OPERATOR_NUMERIC: Rule = rule!("requirement-operator-numeric", Error, Silent);

/// The operator of a requirement, if it is valid.
pub fn check(
    requirement: &Requirement<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<Operator> {
    let path = || Scope::field(requirement.index, "operator");
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
        finding.help = exclusive(operator, requirement).map(Into::into);
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
        let path = Scope::field(entry.index, "operator");
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
