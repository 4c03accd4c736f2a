//! Repetitions: of a value in one requirement, or of a whole requirement.

use std::collections::HashMap;

use super::groups::Group;
use super::{Entry, Scope};
use crate::diagnostic::ErrorType;
use crate::json::FewMap;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_VALUE_TWICE: Rule = rule!("requirement-value-twice", Warning, Silent);
pub static REQUIREMENT_TWICE: Rule = rule!("requirement-twice", Warning, Silent);

/// Reports only the first repetition: a list that is pasted twice is one mistake.
pub fn warn_of_values(entry: &Entry<'_>, findings: &mut Findings<'_>) {
    let mut sorted = entry.values.clone();
    sorted.sort_unstable();
    if sorted.is_sorted_by(|value, next| value < next) {
        return;
    }
    let mut seen = FewMap::default();
    let twice = entry
        .values
        .iter()
        .enumerate()
        .find(|(_, value)| seen.insert(**value, ()).is_some());
    if let Some((position, value)) = twice {
        findings
            .report(
                &REQUIREMENT_VALUE_TWICE,
                Scope::value(entry.index, position),
                *value,
                "is already in the list",
            )
            .suggest("remove it, or replace it with the value that you want");
    }
}

/// Reports entries of one label that say the same.
pub fn warn_of_entries(group: &Group<'_>, findings: &mut Findings<'_>) {
    let entries: Vec<&Entry<'_>> = group.entries().collect();
    if entries.len() < 2 {
        return;
    }
    let mut seen = HashMap::new();
    for entry in entries {
        let mut values = entry.values.clone();
        values.sort_unstable();
        values.dedup();
        let first: &mut usize = seen.entry((entry.operator, values)).or_insert(entry.index);
        if *first != entry.index {
            let earlier = Scope::entry(*first);
            findings
                .report(
                    &REQUIREMENT_TWICE,
                    Scope::entry(entry.index),
                    ErrorType::showing(entry.to_string()),
                    format!("says the same as {earlier}"),
                )
                .related(earlier)
                .suggest("remove one of them");
        }
    }
}
