//! What shows only where several objects are seen at once, all that a cluster has of NodePools and node classes. No
//! review asks these rules: a webhook sees one object.

pub(super) mod frozen;
pub(super) mod missing_class;
mod node_classes;
pub(super) mod overlap;
pub(super) mod repeated;
#[cfg(test)]
mod testing;

use super::context::Context;
use super::findings::Findings;
use crate::diagnostic::{Diagnostic, FieldPath};
use crate::json::Json;
use crate::karpenter::{Karpenter, NodePool};
use crate::policy::Policy;
use crate::rule::Rule;

pub use node_classes::{ClassSource, NodeClasses};

/// The objects of one cluster.
#[derive(Debug, Clone, Copy)]
pub struct Together<'a> {
    /// Its NodePools, in the order in which they would be applied.
    pub pools: &'a [NodePool<'a>],
    /// Its node classes.
    pub classes: &'a NodeClasses,
    /// Whether there surely are no other NodePools.
    pub is_complete: bool,
}

/// A finding on one NodePool that rests on others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcrossFinding {
    /// The place of the NodePool among those given.
    pub pool: usize,
    /// What is said of it.
    pub diagnostic: Diagnostic,
    /// The places of the others.
    pub others: Vec<usize>,
}

/// All that shows across the objects.
pub fn check(together: Together<'_>) -> Vec<AcrossFinding> {
    let mut findings = Vec::new();
    let last = repeated::check(together.pools, &mut findings);
    missing_class::check(together, &mut findings);
    // What was overwritten or is on its way out takes no pods and no budgets.
    let staying: Vec<usize> = last
        .into_iter()
        .filter(|place| stays(together.pools, *place))
        .collect();
    overlap::check(together.pools, &staying, &mut findings);
    if together.is_complete {
        frozen::check(together.pools, &staying, &mut findings);
    }
    findings
}

/// The same finding with the weight that a policy leaves it; none where the policy does not want it.
pub fn weighed(
    diagnostic: Diagnostic,
    object: &Json<'_>,
    policy: &Policy,
    karpenter: &Karpenter,
) -> Option<Diagnostic> {
    let context = Context {
        claims: None,
        policy,
        karpenter,
        release: karpenter.release(),
        labels: &policy.labels,
    };
    let mut findings = Findings::new(object, None, &context);
    findings.push(diagnostic);
    findings.into_report().into_iter().next()
}

/// Whether a rule is one of these.
pub fn is_across(rule: &Rule) -> bool {
    [
        repeated::RULES,
        missing_class::RULES,
        overlap::RULES,
        frozen::RULES,
    ]
    .into_iter()
    .flatten()
    .any(|own| own.id == rule.id)
}

fn stays(pools: &[NodePool<'_>], place: usize) -> bool {
    let deletion = FieldPath::of(&["metadata", "deletionTimestamp"]);
    pools
        .get(place)
        .is_some_and(|pool| deletion.find(pool.object).is_none())
}
