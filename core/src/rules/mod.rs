//! The catalogue: every rule that poolgate knows, and the one pass that applies them.
//!
//! A file holds the rules of one part of the spec and their check; what each is about is on its page, in `core/rules`.
//! Checks skip fields of the wrong type, which only `field-type` reports.

#[macro_use]
pub mod rule;
pub mod across;
mod annotations;
mod at_limit;
mod budgets;
mod choices;
mod consolidation;
mod constraints;
mod context;
mod fields;
mod findings;
mod kubelet;
mod label_domains;
mod labels;
mod lifetime;
mod limits;
mod moved;
mod node_class;
mod node_limit;
mod node_limit_mode;
mod nodeclaim;
mod nodepool_name;
mod origins;
mod over_limit;
mod policy;
mod ratchet;
mod replicas;
mod required;
mod requirements;
mod reserved_labels;
mod schedules;
mod surge;
mod taint_lists;
mod taints;
#[cfg(test)]
mod testing;
mod types;
mod unknown;
mod weight;

use crate::budget::Budgets;
use crate::diagnostic::Report;
use crate::json::Json;
use crate::karpenter::{NodeClaim, NodePool, Template};
use crate::rules::rule::Rule;
pub(crate) use context::Context;
use findings::Findings;
use limits::Limits;

/// Every rule, in the order of the documentation: general rules first, then along the spec.
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
    &budgets::list::BUDGETS_RELEASE,
    &budgets::list::BUDGETS_EMPTY,
    &budgets::list::BUDGET_BLOCKS_DRIFT,
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
    &node_limit::NODE_LIMIT,
    &node_limit::NODE_LIMIT_TWICE,
    &node_limit_mode::NODE_LIMIT_MODE,
    &over_limit::OVER_LIMIT,
    &at_limit::AT_LIMIT,
    &at_limit::AT_LIMIT_REPLACE,
    &surge::SURGE,
    &surge::SURGE_UNUSED,
    &limits::amount::LIMIT_QUANTITY,
    &limits::amount::LIMIT_NEGATIVE,
    &limits::amount::LIMIT_ZERO,
    &limits::amount::LIMIT_UNIT,
    &limits::resource::LIMIT_UNKNOWN,
    &limits::nodes::LIMIT_NODES_WHOLE,
    &limits::nodes::LIMIT_NODES_RELEASE,
    &limits::nodes::LIMIT_BELOW_NODES,
    &limits::too_small::LIMIT_TOO_SMALL,
    &weight::WEIGHT,
    &replicas::number::REPLICAS_RANGE,
    &replicas::mode::REPLICAS_RELEASE,
    &replicas::mode::REPLICAS_MODE,
    &replicas::mode::REPLICAS_GATE,
    &replicas::forbidden_fields::REPLICAS_LIMITS,
    &replicas::forbidden_fields::REPLICAS_WEIGHT,
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
    &requirements::does_not_exist::REQUIREMENT_ABSENT,
    &requirements::values::REQUIREMENT_VALUES,
    &requirements::values::REQUIREMENT_NUMBER,
    &requirements::values::REQUIREMENT_VALUE,
    &requirements::ignored_values::REQUIREMENT_VALUES_IGNORED,
    &requirements::ignored_values::REQUIREMENT_NOT_IN_NOTHING,
    &requirements::repeated::REQUIREMENT_VALUE_TWICE,
    &requirements::repeated::REQUIREMENT_TWICE,
    &requirements::closed_set::REQUIREMENT_CLOSED_SET,
    &requirements::misspelt_values::REQUIREMENT_NO_VALUE,
    &requirements::misspelt_values::REQUIREMENT_VALUE_SLIP,
    &requirements::unknown_values::REQUIREMENT_VALUE_UNKNOWN,
    &requirements::ranges::REQUIREMENT_BOUND,
    &requirements::units::REQUIREMENT_UNIT,
    &requirements::min_values::REQUIREMENT_MIN_VALUES,
    &requirements::min_values::REQUIREMENT_MIN_VALUES_DISTINCT,
    &requirements::min_values::REQUIREMENT_MIN_VALUES_CUSTOM,
    &requirements::min_values_together::REQUIREMENT_MIN_VALUES_TOGETHER,
    &requirements::capacity_type::CAPACITY_TYPE,
    &requirements::capacity_type::CAPACITY_TYPE_UNKNOWN,
    &requirements::conflicts::REQUIREMENT_CONTRADICTION,
    &requirements::conflicts::REQUIREMENT_CONTRADICTION_CUSTOM,
    &requirements::conflicts::REQUIREMENT_CONTRADICTION_DRIFT,
    &requirements::zone_region::REQUIREMENT_ZONE_REGION,
    &requirements::derived::REQUIREMENT_TYPE_CONTRADICTION,
    &requirements::custom_labels::REQUIREMENT_RANDOM_LABEL,
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
    &node_class::kind::NODE_CLASS_FORK,
    &node_class::label::NODE_CLASS_NAME,
    &node_class::label::NODE_CLASS_OBJECT_NAME,
    &node_class::fixed::NODE_CLASS_IMMUTABLE,
    &taints::TAINT_KEY,
    &taints::TAINT_EFFECT,
    &taints::TAINT_VALUE,
    &taint_lists::TAINT_REPEATED,
    &taint_lists::TAINT_RESERVED,
    &taint_lists::TAINT_STARTUP,
    &lifetime::expiry::EXPIRE_AFTER,
    &lifetime::expiry::EXPIRE_AFTER_ZERO,
    &lifetime::expiry::EXPIRE_AFTER_SHORT,
    &lifetime::grace::TERMINATION_GRACE_PERIOD,
    &lifetime::grace::TERMINATION_GRACE_PERIOD_ZERO,
    &lifetime::combinations::EKS_AUTO_MODE_LIFETIME,
    &requirements::auto_mode::EKS_AUTO_MODE_SIZE,
    &lifetime::combinations::HARD_LIMIT_DRAIN,
    &kubelet::KUBELET,
    &kubelet::TEMPLATE_RESOURCES,
    &nodeclaim::NODECLAIM_IMMUTABLE,
    &nodeclaim::NODECLAIM_REQUEST,
    &policy::limits::LIMIT_REQUIRED,
    &policy::limits::LIMIT_MAX,
    &policy::budgets::BUDGET_PERCENT,
    &policy::budgets::BUDGET_NODES,
    &policy::budgets::BUDGET_COUNT,
    &policy::budgets::BUDGET_ALWAYS,
    &policy::freeze::FREEZE_WINDOW,
    &policy::template_labels::TEMPLATE_LABELS,
    &policy::capacity_type::CAPACITY_TYPE,
    &policy::node_class::NODE_CLASS,
    &policy::durations::EXPIRE_AFTER,
    &policy::durations::TERMINATION_GRACE_PERIOD,
    &across::repeated::NODEPOOL_REPEATED,
    &across::missing_class::NODE_CLASS_MISSING,
    &across::overlap::NODEPOOL_OVERLAP,
    &across::all_frozen::NODEPOOLS_FROZEN,
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
    let limits = Limits::parse(pool, old, context.policy);
    let mut findings = Findings::new(pool.object, stored, context);
    let budgets = Budgets::parse_all(pool);
    fields::check(pool.object, &pool.template, &mut findings);
    nodepool_name::check(pool, old, &mut findings);
    consolidation::check(pool, &mut findings);
    budgets::check(pool, &budgets, &mut findings);
    node_limit::check(pool, &limits, old, &mut findings);
    node_limit_mode::check(pool, old, &mut findings);
    over_limit::check(pool, &mut findings);
    at_limit::check(pool, &mut findings);
    surge::check(pool, &limits, &mut findings);
    limits::check(pool, &limits, old, &mut findings);
    replicas::check(pool, &limits, old, &mut findings);
    check_template(&pool.template, old.map(|old| &old.template), &mut findings);
    requirements::count::check_claim(pool, &mut findings);
    lifetime::check_pool(pool, &limits, &mut findings);
    policy::check(pool, &budgets, &limits, &mut findings);
    findings.into_report()
}

/// Applies to a scaled pool the rules that compare its replicas with its limit. `old` is the view of the stored pool.
pub(crate) fn check_scale<'a>(
    pool: &NodePool<'a>,
    old: &NodePool<'a>,
    stored: &'a Json<'a>,
    context: Context<'a>,
) -> Report {
    let mut findings = Findings::new(pool.object, Some(stored), context);
    if let Some(replicas) = pool.replicas.present() {
        let limits = Limits::parse(pool, Some(old), context.policy);
        replicas::limit::check(pool, replicas, &limits, Some(old), &mut findings);
    }
    findings.into_report()
}

/// Applies every rule about NodeClaims to one, like [`check`].
pub(crate) fn check_claim<'a>(
    claim: &NodeClaim<'a>,
    old: Option<&NodeClaim<'a>>,
    stored: Option<&'a Json<'a>>,
    context: Context<'a>,
) -> Report {
    let mut findings = Findings::new(claim.object, stored, context);
    fields::check(claim.object, &claim.template, &mut findings);
    check_template(&claim.template, None, &mut findings);
    lifetime::check_claim(claim, &mut findings);
    nodeclaim::check(claim, old, &mut findings);
    findings.into_report()
}

/// Applies the rules about the fields that a NodeClaim shares with the template of a NodePool.
fn check_template(template: &Template<'_>, old: Option<&Template<'_>>, findings: &mut Findings<'_>) {
    requirements::check(template, findings);
    labels::check(template, findings);
    annotations::check(template, findings);
    node_class::check(template, old, findings);
    taints::check(template, findings);
    taint_lists::check(template, findings);
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
