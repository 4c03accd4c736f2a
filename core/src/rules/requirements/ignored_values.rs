//! Operators and values that do not belong together: legal, but probably a mistake.

use super::{Entry, Scope};
use crate::diagnostic::ErrorType;
use crate::karpenter::Operator;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_VALUES_IGNORED: Rule = rule!("requirement-values-ignored", Warning, Silent);
pub static REQUIREMENT_NOT_IN_NOTHING: Rule = rule!("requirement-not-in-nothing", Warning, Silent);

pub fn check(entry: &Entry<'_>, findings: &mut Findings<'_>) {
    let path = || Scope::field(entry.index, "values");
    match entry.operator {
        Operator::Exists | Operator::DoesNotExist if !entry.values.is_empty() => {
            let name = entry.operator.as_str();
            let likely = if entry.operator == Operator::Exists {
                "In"
            } else {
                "NotIn"
            };
            let reason = format!("operator {name} takes no values, and Karpenter drops them");
            findings
                .report(
                    &REQUIREMENT_VALUES_IGNORED,
                    path(),
                    ErrorType::showing("[…]"),
                    reason,
                )
                .suggest(format!("write operator {likely}, or remove the values"));
        }
        Operator::NotIn if entry.values.is_empty() => {
            let reason = "without values NotIn excludes nothing and acts as Exists";
            findings
                .report(&REQUIREMENT_NOT_IN_NOTHING, path(), ErrorType::Required, reason)
                .suggest("name what to exclude, or write operator Exists");
        }
        _ => {}
    }
}
