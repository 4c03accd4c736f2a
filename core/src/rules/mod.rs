//! The catalogue: every rule that poolgate knows, and the one pass that applies them.
//!
//! A file holds the rules of one part of the spec: first their documentation, then the check. Checks skip fields
//! of the wrong type, which only `field-type` reports.

pub mod across;
mod annotations;
mod at_limit;
mod bounds;
mod budgets;
mod choices;
mod consolidation;
mod context;
mod demands;
mod fields;
mod findings;
mod kubelet;
mod label_domains;
mod labels;
mod length;
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

use std::sync::LazyLock;

use crate::diagnostic::Diagnostic;
use crate::karpenter::{NodeClaim, NodePool, Template};
use crate::rule::Rule;
pub(crate) use context::Context;
use findings::Findings;

/// Every rule, in the order of the documentation: general rules first, then along the spec.
pub static CATALOGUE: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    let files = [
        types::RULES,
        unknown::RULES,
        required::RULES,
        nodepool_name::RULES,
        consolidation::policy::RULES,
        consolidation::after::RULES,
        budgets::list::RULES,
        budgets::nodes::RULES,
        budgets::reasons::RULES,
        budgets::window::RULES,
        schedules::RULES,
        budgets::redundant::RULES,
        budgets::coverage::RULES,
        budgets::uncovered::RULES,
        node_limit::RULES,
        node_limit_mode::RULES,
        over_limit::RULES,
        at_limit::RULES,
        surge::RULES,
        limits::amount::RULES,
        limits::resource::RULES,
        limits::nodes::RULES,
        limits::room::RULES,
        weight::RULES,
        replicas::number::RULES,
        replicas::mode::RULES,
        replicas::beside::RULES,
        replicas::limit::RULES,
        requirements::count::RULES,
        requirements::keys::RULES,
        requirements::restricted::RULES,
        requirements::labels::RULES,
        requirements::operators::RULES,
        requirements::absent::RULES,
        requirements::values::RULES,
        requirements::unused::RULES,
        requirements::twice::RULES,
        requirements::slips::RULES,
        requirements::bounds::RULES,
        requirements::min_values::RULES,
        requirements::min_values_together::RULES,
        requirements::capacity_type::RULES,
        requirements::conflicts::RULES,
        requirements::custom::RULES,
        labels::RULES,
        label_domains::RULES,
        annotations::RULES,
        node_class::texts::RULES,
        node_class::kind::RULES,
        node_class::label::RULES,
        node_class::fixed::RULES,
        taints::RULES,
        taint_lists::RULES,
        lifetime::expiry::RULES,
        lifetime::grace::RULES,
        lifetime::beside::RULES,
        kubelet::RULES,
        nodeclaim::RULES,
        bounds::limits::RULES,
        bounds::budgets::RULES,
        bounds::freeze::RULES,
        bounds::template_labels::RULES,
        bounds::capacity_type::RULES,
        bounds::node_class::RULES,
        bounds::durations::RULES,
        across::repeated::RULES,
        across::missing_class::RULES,
        across::overlap::RULES,
        across::frozen::RULES,
    ];
    files.into_iter().flatten().copied().collect()
});

/// The rule of this name.
pub fn find(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().copied().find(|rule| rule.id.as_str() == id)
}

/// Applies every rule to a NodePool. `old` is the stored object of an update.
pub(crate) fn check<'a>(
    pool: &NodePool<'a>,
    old: Option<&NodePool<'a>>,
    context: Context<'a>,
) -> Findings<'a> {
    let mut findings = Findings::new(pool.object, old.map(|old| old.object), context);
    fields::check(pool.object, &pool.template, &mut findings);
    nodepool_name::check(pool, old, &mut findings);
    consolidation::check(pool, &mut findings);
    budgets::check(pool, &mut findings);
    node_limit::check(pool, old, &mut findings);
    node_limit_mode::check(pool, old, &mut findings);
    over_limit::check(pool, &mut findings);
    at_limit::check(pool, &mut findings);
    surge::check(pool, &mut findings);
    limits::check(pool, old, &mut findings);
    replicas::check(pool, old, &mut findings);
    check_template(&pool.template, old.map(|old| &old.template), &mut findings);
    requirements::count::check_claim(pool, &mut findings);
    lifetime::check_pool(pool, &mut findings);
    bounds::check(pool, &mut findings);
    findings
}

/// What is wrong with scaling a pool from `current` to `replicas`. Only a warning if the two are equal.
pub(crate) fn scale_finding(pool: &NodePool<'_>, current: i64, replicas: i64) -> Option<Diagnostic> {
    let finding = replicas::limit::check(replicas, pool.node_limit().as_ref())?;
    Some(if current == replicas {
        ratchet::forgiven(finding)
    } else {
        finding
    })
}

/// Applies every rule about NodeClaims to one. `old` is the stored object of an update.
pub(crate) fn check_claim<'a>(
    claim: &NodeClaim<'a>,
    old: Option<&NodeClaim<'a>>,
    context: Context<'a>,
) -> Findings<'a> {
    let mut findings = Findings::new(claim.object, old.map(|old| old.object), context);
    fields::check(claim.object, &claim.template, &mut findings);
    check_template(&claim.template, None, &mut findings);
    lifetime::check_claim(claim, &mut findings);
    nodeclaim::check(claim, old, &mut findings);
    findings
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
        for rule in CATALOGUE.iter() {
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
