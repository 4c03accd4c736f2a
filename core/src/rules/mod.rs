//! The catalogue: every rule that poolgate knows, and the one pass that applies them.
//!
//! A file holds the rules of one part of the spec: first their documentation, then the check. Checks pass over
//! fields of the wrong type, of which only `field-type` speaks.

mod annotations;
mod bounds;
mod budgets;
mod consolidation;
mod context;
mod fields;
mod findings;
mod kubelet;
mod label_domains;
mod labels;
mod length;
mod lifetime;
mod lifetime_bounds;
mod limits;
mod moved;
mod node_class;
mod node_limit_mode;
mod nodeclaim;
mod nodepool_name;
mod origins;
mod over_limit;
mod replicas;
mod required;
mod requirements;
mod reserved_labels;
mod schedules;
mod spelling;
mod taint_lists;
mod taints;
#[cfg(test)]
mod testing;
mod types;
mod unknown;
mod weight;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Report};
use crate::karpenter::{ApiVersion, NodeClaim, NodePool, Template};
use crate::rule::Rule;
pub(crate) use context::Context;
use findings::Findings;

/// Every rule, in the order of the documentation: from the general to the particular, then along the spec.
pub static CATALOGUE: &[&Rule] = &[
    &types::FIELD_TYPE,
    &unknown::FIELD_UNKNOWN,
    &required::FIELD_REQUIRED,
    &nodepool_name::NODEPOOL_NAME,
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
    &budgets::redundant::BUDGET_REDUNDANT,
    &budgets::coverage::BUDGET_ALLOW_WINDOW,
    &budgets::coverage::BUDGET_UNCOVERED_HOURS,
    &budgets::uncovered::BUDGET_UNCOVERED_REASON,
    &budgets::list::BUDGET_BLOCKS_DRIFT,
    &node_limit_mode::NODE_LIMIT_MODE,
    &over_limit::OVER_LIMIT,
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
    &requirements::count::REQUIREMENTS_COUNT,
    &requirements::count::NODECLAIM_REQUIREMENTS,
    &requirements::keys::REQUIREMENT_KEY,
    &requirements::keys::REQUIREMENT_KEY_LENGTH,
    &requirements::restricted::REQUIREMENT_KEY_RESTRICTED,
    &requirements::labels::REQUIREMENT_LABEL_MISSPELT,
    &requirements::labels::REQUIREMENT_LABEL_UNKNOWN,
    &requirements::labels::REQUIREMENT_LABEL_FOREIGN,
    &requirements::operators::REQUIREMENT_OPERATOR,
    &requirements::operators::REQUIREMENT_OPERATOR_NUMERIC,
    &requirements::values::REQUIREMENT_VALUES,
    &requirements::values::REQUIREMENT_NUMBER,
    &requirements::values::REQUIREMENT_VALUE,
    &requirements::unused::REQUIREMENT_VALUES_IGNORED,
    &requirements::unused::REQUIREMENT_NOT_IN_NOTHING,
    &requirements::twice::REQUIREMENT_VALUE_TWICE,
    &requirements::slips::REQUIREMENT_VALUE_SLIP,
    &requirements::bounds::REQUIREMENT_BOUND,
    &requirements::min_values::REQUIREMENT_MIN_VALUES,
    &requirements::min_values::REQUIREMENT_MIN_VALUES_DISTINCT,
    &requirements::min_values::REQUIREMENT_MIN_VALUES_CUSTOM,
    &requirements::min_values_together::REQUIREMENT_MIN_VALUES_TOGETHER,
    &requirements::capacity_type::CAPACITY_TYPE,
    &requirements::capacity_type::CAPACITY_TYPE_UNKNOWN,
    &requirements::conflicts::REQUIREMENT_CONTRADICTION,
    &requirements::conflicts::REQUIREMENT_CONTRADICTION_CUSTOM,
    &requirements::twice::REQUIREMENT_TWICE,
    &requirements::custom::REQUIREMENT_RANDOM_LABEL,
    &labels::LABELS_COUNT,
    &labels::LABEL_KEY,
    &labels::LABEL_KEY_LENGTH,
    &labels::LABEL_VALUE,
    &label_domains::LABEL_RESTRICTED,
    &label_domains::LABEL_PROVIDER_MISSPELT,
    &label_domains::LABEL_PROVIDER_UNKNOWN,
    &annotations::TEMPLATE_ANNOTATIONS,
    &annotations::DO_NOT_DISRUPT_TEMPLATE,
    &node_class::texts::NODE_CLASS_REF,
    &node_class::kind::NODE_CLASS_KIND,
    &node_class::label::NODE_CLASS_NAME,
    &node_class::fixed::NODE_CLASS_IMMUTABLE,
    &taints::TAINT_KEY,
    &taints::TAINT_VALUE,
    &taints::TAINT_EFFECT,
    &taints::TAINT_TIME_ADDED,
    &taint_lists::TAINT_REPEATED,
    &taint_lists::TAINT_RESERVED,
    &taint_lists::TAINT_STARTUP,
    &lifetime::expiry::EXPIRE_AFTER,
    &lifetime::expiry::EXPIRE_AFTER_ZERO,
    &lifetime::expiry::EXPIRE_AFTER_SHORT,
    &lifetime::grace::TERMINATION_GRACE_PERIOD,
    &lifetime::grace::TERMINATION_GRACE_PERIOD_ZERO,
    &lifetime_bounds::EKS_AUTO_MODE_LIFETIME,
    &lifetime_bounds::HARD_LIMIT_DRAIN,
    &kubelet::KUBELET,
    &kubelet::TEMPLATE_RESOURCES,
    &nodeclaim::NODECLAIM_IMMUTABLE,
    &nodeclaim::NODECLAIM_REQUEST,
    &bounds::LIMIT_REQUIRED,
    &bounds::LIMIT_MAX,
    &bounds::BUDGET_PERCENT,
    &bounds::BUDGET_NODES,
    &bounds::BUDGET_COUNT,
    &bounds::BUDGET_ALWAYS,
    &bounds::FREEZE_WINDOW,
    &bounds::TEMPLATE_LABELS,
    &bounds::CAPACITY_TYPE,
    &bounds::NODE_CLASS,
    &bounds::EXPIRE_AFTER,
    &bounds::TERMINATION_GRACE_PERIOD,
];

/// The rule of this name.
pub fn find(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().find(|rule| rule.id.as_str() == id).copied()
}

/// Applies every rule to a NodePool, which is a view of `object`.
pub(crate) fn check(pool: &NodePool<'_>, object: &Value, context: &Context<'_>) -> Report {
    let mut findings = Findings::new(object, context);
    fields::check_pool(pool, object, context.release, &mut findings);
    nodepool_name::check(object, context.old, &mut findings);
    consolidation::check(pool, context, &mut findings);
    budgets::check(pool, context, &mut findings);
    node_limit_mode::check(pool, &mut findings);
    over_limit::check(pool, &mut findings);
    limits::check(pool, context, &mut findings);
    weight::check(pool, &mut findings);
    replicas::check(pool, context, &mut findings);
    check_template(&pool.template, pool.version, context, &mut findings);
    requirements::count::check_claim(pool, context, &mut findings);
    let lifetime = lifetime::check_pool(pool, context, &mut findings);
    lifetime_bounds::check(pool, lifetime, context, &mut findings);
    bounds::check(pool, object, &context.policy.bounds, &mut findings);
    findings.into_report()
}

/// What is wrong with scaling a pool, which now has `current` replicas, to `replicas`. No error for a number that
/// it has already.
pub(crate) fn scale_finding(pool: &NodePool<'_>, current: i64, replicas: i64) -> Option<Diagnostic> {
    let finding = replicas::limit::judge(replicas, pool.node_limit().as_ref())?;
    Some(if current == replicas {
        findings::forgiven(finding)
    } else {
        finding
    })
}

/// Applies every rule that concerns them to a NodeClaim, which is a view of `object`.
pub(crate) fn check_claim(claim: &NodeClaim<'_>, object: &Value, context: &Context<'_>) -> Report {
    let mut findings = Findings::new(object, context);
    fields::check_claim(claim, object, context.release, &mut findings);
    check_template(&claim.template, claim.version, context, &mut findings);
    lifetime::check_claim(claim, context, &mut findings);
    nodeclaim::check(claim, context.old, &mut findings);
    findings.into_report()
}

/// Applies the rules on what a NodeClaim shares with the template of a NodePool.
fn check_template(
    template: &Template<'_>,
    version: ApiVersion,
    context: &Context<'_>,
    findings: &mut Findings<'_>,
) {
    requirements::check(template, version, context, findings);
    labels::check(template, version, context, findings);
    annotations::check(template, findings);
    node_class::check(template, version, context, findings);
    taints::check(template, findings);
    taint_lists::check(template, context.release, findings);
    kubelet::check(template, version, context.release, findings);
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
