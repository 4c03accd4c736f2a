//! The catalogue: every rule that poolgate knows, and the one pass that applies them.
//!
//! A file holds the rules of one part of the spec and their check. Each rule is described on its page, in `core/rules`.
//! Checks skip fields of the wrong type, which only `field-type` reports.

#[macro_use]
pub mod rule;
pub mod across;
mod annotated_limit;
mod budgets;
mod consolidation;
mod constraints;
mod context;
mod deletion;
mod drift;
mod entries;
mod fields;
mod findings;
mod kubelet;
mod label_verdict;
mod labels;
mod lifetime;
mod limits;
mod metadata;
mod moved;
mod node_class;
mod other_kinds;
mod policy;
mod poolgate_annotations;
mod ratchet;
mod removal;
mod replicas;
mod requirements;
pub(crate) mod reserved_labels;
mod schedules;
mod taints;
#[cfg(test)]
mod test_cases;
#[cfg(test)]
mod testing;

use crate::budget::Budgets;
use crate::diagnostic::Report;
use crate::facts::{ApiVersion, OtherKind};
use crate::json::Json;
use crate::pool::{NodePool, Template};
use crate::rules::rule::Rule;
pub(crate) use context::Context;
pub use drift::DriftEffect;
use findings::Findings;
pub(crate) use limits::PoolLimits;
pub use limits::room::used_up;
pub use removal::Removal;

/// Every rule, in the order of the documentation: general rules first, then along the spec.
pub static CATALOGUE: &[&Rule] = &[
    &fields::FIELD_TYPE,
    &fields::FIELD_UNKNOWN,
    &constraints::FIELD_REQUIRED,
    &entries::ENTRIES_COUNT,
    &metadata::NODEPOOL_NAME,
    &consolidation::CONSOLIDATION_POLICY,
    &consolidation::CONSOLIDATE_AFTER,
    &consolidation::CONSOLIDATE_AFTER_CONVERSION,
    &consolidation::CONSOLIDATE_AFTER_NEVER,
    &budgets::list::BUDGETS_COUNT,
    &budgets::list::BUDGETS_EMPTY,
    &budgets::list::BUDGET_BLOCKS_DRIFT,
    &budgets::alone::BUDGET_NODES,
    &budgets::alone::BUDGET_REASON,
    &budgets::alone::BUDGET_REASONS_EMPTY,
    &budgets::alone::BUDGET_DURATION,
    &budgets::alone::BUDGET_WINDOWS_JOIN,
    &schedules::SCHEDULE_SYNTAX,
    &schedules::SCHEDULE_NEVER_FIRES,
    &schedules::SCHEDULE_EVERY,
    &schedules::SCHEDULE_EITHER_DAY,
    &budgets::redundant::BUDGET_REDUNDANT,
    &budgets::coverage::BUDGET_ALLOW_WINDOW,
    &budgets::coverage::BUDGET_UNCOVERED_HOURS,
    &budgets::coverage::BUDGET_UNCOVERED_REASON,
    &budgets::coverage::BUDGET_OF_ALL,
    &poolgate_annotations::POOLGATE_ANNOTATION,
    &poolgate_annotations::POOLGATE_ANNOTATION_EFFECT,
    &limits::amount::LIMIT_AMOUNT,
    &limits::amount::LIMIT_ZERO,
    &limits::amount::LIMIT_UNIT,
    &limits::LIMIT_UNKNOWN,
    &limits::nodes::LIMIT_NODES_RELEASE,
    &limits::nodes::LIMIT_BELOW_USE,
    &limits::room::LIMIT_TOO_SMALL,
    &constraints::WEIGHT,
    &replicas::REPLICAS,
    &replicas::REPLICAS_GATE,
    &replicas::REPLICAS_ABOVE_LIMIT,
    &replicas::REPLICAS_AT_LIMIT,
    &requirements::count::REQUIREMENTS_COUNT,
    &requirements::count::NODECLAIM_REQUIREMENTS,
    &requirements::REQUIREMENT_KEY,
    &requirements::REQUIREMENT_KEY_RESTRICTED,
    &requirements::REQUIREMENT_LABEL_UNKNOWN,
    &requirements::REQUIREMENT_OPERATOR,
    &requirements::REQUIREMENT_VALUES,
    &requirements::REQUIREMENT_NO_VALUE,
    &requirements::REQUIREMENT_VALUE_SLIP,
    &requirements::REQUIREMENT_VALUE_UNKNOWN,
    &requirements::REQUIREMENT_UNIT,
    &requirements::REQUIREMENT_UNSATISFIABLE,
    &requirements::REQUIREMENT_MIN_VALUES,
    &requirements::REQUIREMENT_MIN_VALUES_CUSTOM,
    &requirements::REQUIREMENT_MIN_VALUES_UNMET,
    &requirements::REQUIREMENT_CONTRADICTION,
    &requirements::REQUIREMENT_REDUNDANT,
    &requirements::REQUIREMENT_ZONE_REGION,
    &requirements::REQUIREMENT_TYPE_CONTRADICTION,
    &requirements::REQUIREMENT_RANDOM_LABEL,
    &requirements::REQUIREMENT_GENERATION,
    &labels::LABELS_COUNT,
    &labels::LABEL_KEY,
    &labels::LABEL_VALUE,
    &labels::LABEL_RESTRICTED,
    &labels::LABEL_UNKNOWN,
    &metadata::TEMPLATE_ANNOTATIONS,
    &metadata::DO_NOT_DISRUPT_TEMPLATE,
    &node_class::NODE_CLASS_REF,
    &node_class::NODE_CLASS_KIND,
    &node_class::NODE_CLASS_FORK,
    &node_class::NODE_CLASS_IMMUTABLE,
    &taints::TAINT,
    &taints::TAINT_RESERVED,
    &taints::TAINT_STARTUP,
    &taints::TAINT_VALUE,
    &lifetime::EXPIRE_AFTER,
    &lifetime::EXPIRE_AFTER_SHORT,
    &lifetime::TERMINATION_GRACE_PERIOD,
    &lifetime::TERMINATION_GRACE_PERIOD_ZERO,
    &lifetime::EKS_AUTO_MODE_LIFETIME,
    &requirements::EKS_AUTO_MODE_SIZE,
    &lifetime::HARD_LIMIT_DRAIN,
    &drift::DRIFT,
    &deletion::DELETION,
    &kubelet::KUBELET,
    &kubelet::KUBELET_CONVERSION,
    &kubelet::TEMPLATE_RESOURCES,
    &policy::limits::LIMIT_REQUIRED,
    &policy::limits::LIMIT_MAX,
    &policy::budgets::BUDGET_PERCENT,
    &policy::budgets::BUDGET_NODES,
    &policy::budgets::BUDGET_COUNT,
    &policy::budgets::BUDGET_ALWAYS,
    &policy::budgets::FREEZE_WINDOW,
    &drift::DRIFT_ACKNOWLEDGED,
    &deletion::DELETION_ACKNOWLEDGED,
    &policy::template::TEMPLATE_LABELS,
    &policy::template::CAPACITY_TYPE,
    &policy::template::NODE_CLASS,
    &policy::template::EXPIRE_AFTER,
    &policy::template::TERMINATION_GRACE_PERIOD,
    &other_kinds::NODE_OVERLAY,
    &other_kinds::CAPACITY_BUFFER,
    &across::NODEPOOL_REPEATED,
    &across::node_classes::NODE_CLASS_MISSING,
    &across::reservations::CAPACITY_RESERVATIONS,
    &across::overlap::NODEPOOL_OVERLAP,
    &across::NODEPOOLS_FROZEN,
];

/// The rule of this name.
pub fn find(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().copied().find(|rule| rule.id.as_str() == id)
}

/// Applies every rule to a NodePool. On an update, `old` is the view of the stored object, and errors are compared with
/// `stored`.
pub(crate) fn check<'a>(
    pool: &NodePool<'a>,
    old: Option<&NodePool<'a>>,
    stored: Option<&'a Json<'a>>,
    context: Context<'a>,
) -> Report {
    let limits = PoolLimits::parse(pool, old, context.policy);
    let mut findings = Findings::new(pool.object, stored, context);
    let budgets = Budgets::parse_all(pool);
    fields::check(pool, &mut findings);
    entries::check(pool, old, &mut findings);
    metadata::check_name(pool, old, &mut findings);
    kubelet::check_conversion(pool, &mut findings);
    consolidation::check(pool, &mut findings);
    budgets::check(pool, &budgets, &mut findings);
    annotated_limit::check(pool, &limits, old, &mut findings);
    poolgate_annotations::check(pool, &limits, old, &mut findings);
    limits::check(pool, &limits, old, &mut findings);
    replicas::check(pool, &limits, old, &mut findings);
    check_template(&pool.template, old.map(|old| &old.template), &mut findings);
    requirements::count::check_in_nodeclaim(pool, &mut findings);
    lifetime::check(pool, &limits, &mut findings);
    if let Some(old) = old {
        drift::check(pool, old, &limits, &mut findings);
    }
    policy::check(pool, &budgets, &limits, &mut findings);
    findings.into_report()
}

/// Applies to a scaled pool the rules about its replicas. `old` is the view of the stored pool.
pub(crate) fn check_scale<'a>(
    pool: &NodePool<'a>,
    old: &NodePool<'a>,
    stored: &'a Json<'a>,
    context: Context<'a>,
) -> Report {
    let mut findings = Findings::new(pool.object, Some(stored), context);
    if let Some(replicas) = pool.replicas.present() {
        let limits = PoolLimits::parse(pool, Some(old), context.policy);
        replicas::check_limit(pool, replicas, &limits, Some(old), &mut findings);
        drift::check_scaled(pool, old, &limits, &mut findings);
    }
    findings.into_report()
}

/// Applies the rules about the deletion of a NodePool.
pub(crate) fn check_deletion<'a>(pool: &NodePool<'a>, context: Context<'a>) -> Report {
    let mut findings = Findings::new(pool.object, None, context);
    deletion::check(pool, &mut findings);
    findings.into_report()
}

/// Applies the one rule about NodeClaims to one, like [`check`].
pub(crate) fn check_nodeclaim<'a>(
    claim: &'a Json<'a>,
    version: ApiVersion,
    stored: Option<&'a Json<'a>>,
    context: Context<'a>,
) -> Report {
    let mut findings = Findings::new(claim, stored, context);
    requirements::count::check_nodeclaim(claim, version, &mut findings);
    findings.into_report()
}

/// Applies the rules about another kind that Karpenter reads.
pub(crate) fn check_other<'a>(
    object: &'a Json<'a>,
    kind: OtherKind,
    stored: Option<&'a Json<'a>>,
    context: Context<'a>,
) -> Report {
    let mut findings = Findings::new(object, stored, context);
    other_kinds::check(object, kind, &mut findings);
    findings.into_report()
}

/// Applies the rules about the template.
fn check_template(template: &Template<'_>, old: Option<&Template<'_>>, findings: &mut Findings<'_>) {
    requirements::check(template, findings);
    labels::check(template, findings);
    metadata::check(template, findings);
    node_class::check(template, old, findings);
    taints::check(template, findings);
    kubelet::check(template, findings);
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
            assert!(seen.insert(id), "{id} is twice");
            assert!(
                id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{id}"
            );
            assert_eq!(find(id).map(|found| found.id), Some(rule.id));
        }
        assert!(find("no-such-rule").is_none());
    }
}
