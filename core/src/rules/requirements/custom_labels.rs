//! Requirements on custom labels for which Karpenter has to choose a value itself.

use super::Scope;
use super::groups::Group;
use crate::diagnostic::ErrorType;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_RANDOM_LABEL: Rule = rule!("requirement-random-label", Warning, Silent);

pub fn check(group: &Group<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    if !group.is_custom() || !group.selection(scope).is_open() {
        return;
    }
    let Some(entry) = group.entries().next() else {
        return;
    };
    findings
        .report(
            &REQUIREMENT_RANDOM_LABEL,
            Scope::entry(entry.index),
            ErrorType::showing(entry.to_string()),
            "if pods select no value, it gets a random number",
        )
        .suggest("give it a value in template.metadata.labels, or list values with operator In");
}
