//! The catalogue: every rule that poolgate knows, and the one pass that applies them.
//!
//! A file holds the rules of one part of the spec: first their documentation, then the check. Checks pass over
//! fields of the wrong type, of which only `field-type` speaks.

mod budgets;
mod findings;
mod limits;
mod node_limit_mode;
mod requirements;
mod schedules;
#[cfg(test)]
mod testing;
mod types;

use serde_json::Value;

use crate::diagnostic::Report;
use crate::karpenter::{Karpenter, NodePool, Release};
use crate::rule::Rule;
use findings::Findings;

/// Every rule, in the order of the documentation: from the general to the particular, then along the spec.
pub static CATALOGUE: &[&Rule] = &[
    &types::FIELD_TYPE,
    &budgets::BUDGET_NODES,
    &budgets::BUDGET_SCHEDULE_DURATION,
    &budgets::BUDGET_DURATION,
    &budgets::BUDGET_EMPTY_WINDOW,
    &budgets::BUDGET_ALWAYS_ACTIVE,
    &schedules::SCHEDULE_SYNTAX,
    &schedules::SCHEDULE_NEVER_FIRES,
    &schedules::SCHEDULE_EVERY,
    &node_limit_mode::NODE_LIMIT_MODE,
    &limits::LIMIT_QUANTITY,
    &limits::LIMIT_NEGATIVE,
    &limits::LIMIT_NODES_WHOLE,
    &limits::LIMIT_UNKNOWN,
    &limits::LIMIT_UNQUOTED,
    &requirements::REQUIREMENTS_COUNT,
    &requirements::NODECLAIM_REQUIREMENTS,
];

/// The rule of this name.
pub fn find(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().find(|rule| rule.id.as_str() == id).copied()
}

/// What a verdict rests on beside the object itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The stored object that is replaced, on an update.
    pub old: Option<&'a Value>,
    /// Which Karpenter will read the object.
    pub karpenter: &'a Karpenter,
    /// Its release.
    pub release: Release,
}

/// Applies every rule to a NodePool, which is a view of `object`.
pub(crate) fn check(pool: &NodePool<'_>, object: &Value, context: &Context<'_>) -> Report {
    let mut findings = Findings::new(object, context);
    types::check(pool.version, object, &mut findings);
    budgets::check(pool, &mut findings);
    node_limit_mode::check(pool, &mut findings);
    limits::check(pool, &mut findings);
    requirements::check(pool, context, &mut findings);
    findings.into_report()
}

/// Longest schedule or duration, in bytes, that is read. Nobody writes one by hand that is a tenth as long, and
/// what is longer would only cost time.
const LONGEST_TEXT: usize = 1_024;

/// What to say of a text that is too long to be read.
fn too_long(text: &str) -> Option<String> {
    (text.len() > LONGEST_TEXT).then(|| {
        format!(
            "it is {} bytes long, poolgate reads at most {LONGEST_TEXT}",
            text.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn rule_names_are_unique_kebab_case_and_found_again() {
        let mut seen = HashSet::new();
        for rule in CATALOGUE {
            let id = rule.id.as_str();
            assert!(seen.insert(id), "{id} stands twice");
            assert!(
                id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{id}"
            );
            assert_eq!(find(id).map(|found| found.id), Some(rule.id));
        }
        assert!(find("no-such-rule").is_none());
    }
}
