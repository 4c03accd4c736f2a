//! The catalogue: every rule that poolgate knows, and the one pass that applies them.
//!
//! A file holds the rules of one part of the spec: first their documentation, then the check. Checks pass over
//! fields of the wrong type, of which only `field-type` speaks.

mod budgets;
mod consolidation;
mod findings;
mod limits;
mod node_limit_mode;
mod replicas;
mod requirements;
mod schedules;
mod spelling;
#[cfg(test)]
mod testing;
mod types;
mod weight;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Report};
use crate::karpenter::{Karpenter, NodePool, Release};
use crate::rule::Rule;
use findings::Findings;

/// Every rule, in the order of the documentation: from the general to the particular, then along the spec.
pub static CATALOGUE: &[&Rule] = &[
    &types::FIELD_TYPE,
    &consolidation::policy::CONSOLIDATION_POLICY,
    &consolidation::after::CONSOLIDATE_AFTER,
    &consolidation::after::CONSOLIDATE_AFTER_PAIR,
    &consolidation::after::CONSOLIDATE_AFTER_CONVERSION,
    &consolidation::after::CONSOLIDATE_AFTER_NEVER,
    &budgets::list::BUDGETS_COUNT,
    &budgets::list::BUDGETS_EMPTY,
    &budgets::nodes::BUDGET_NODES,
    &budgets::reasons::BUDGET_REASON,
    &budgets::reasons::BUDGET_REASON_REPEATED,
    &budgets::reasons::BUDGET_REASONS_EMPTY,
    &budgets::window::BUDGET_SCHEDULE_DURATION,
    &budgets::window::BUDGET_DURATION,
    &budgets::window::BUDGET_EMPTY_WINDOW,
    &budgets::window::BUDGET_ALWAYS_ACTIVE,
    &schedules::SCHEDULE_SYNTAX,
    &schedules::SCHEDULE_NEVER_FIRES,
    &schedules::SCHEDULE_EVERY,
    &schedules::SCHEDULE_EITHER_DAY,
    &budgets::moot::BUDGET_MOOT,
    &budgets::coverage::BUDGET_ALLOW_WINDOW,
    &budgets::coverage::BUDGET_UNCOVERED_HOURS,
    &budgets::coverage::BUDGET_UNCOVERED_REASON,
    &budgets::list::BUDGET_BLOCKS_DRIFT,
    &node_limit_mode::NODE_LIMIT_MODE,
    &limits::amount::LIMIT_QUANTITY,
    &limits::amount::LIMIT_NEGATIVE,
    &limits::amount::LIMIT_ZERO,
    &limits::amount::LIMIT_UNQUOTED,
    &limits::resource::LIMIT_UNKNOWN,
    &limits::nodes::LIMIT_NODES_WHOLE,
    &limits::nodes::LIMIT_NODES_RELEASE,
    &limits::nodes::LIMIT_BELOW_NODES,
    &weight::WEIGHT,
    &replicas::number::REPLICAS_RANGE,
    &replicas::mode::REPLICAS_RELEASE,
    &replicas::mode::REPLICAS_MODE,
    &replicas::mode::REPLICAS_GATE,
    &replicas::beside::REPLICAS_LIMITS,
    &replicas::beside::REPLICAS_WEIGHT,
    &replicas::limit::REPLICAS_ABOVE_LIMIT,
    &replicas::limit::REPLICAS_AT_LIMIT,
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
    consolidation::check(pool, context, &mut findings);
    budgets::check(pool, context, &mut findings);
    node_limit_mode::check(pool, &mut findings);
    limits::check(pool, context, &mut findings);
    weight::check(pool, &mut findings);
    replicas::check(pool, context, &mut findings);
    requirements::check(pool, context, &mut findings);
    findings.into_report()
}

/// What is wrong with scaling a pool, which now has `current` replicas, to `replicas`. No error for a number that
/// it has already.
pub(crate) fn scale_finding(pool: &NodePool<'_>, current: i64, replicas: i64) -> Option<Diagnostic> {
    let finding = replicas::limit::judge(replicas, replicas::limit::of(pool).as_ref())?;
    Some(if current == replicas {
        findings::forgiven(finding)
    } else {
        finding
    })
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
