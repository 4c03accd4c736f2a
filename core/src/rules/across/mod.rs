//! Mistakes that show only when all NodePools and node classes of a cluster are checked together. A review does not
//! apply these rules: a webhook sees one object.

pub(crate) mod all_frozen;
pub(crate) mod missing_class;
mod node_classes;
pub(crate) mod overlap;
pub(crate) mod repeated;
#[cfg(test)]
mod testing;

use super::findings::Severities;
use jiff::Timestamp;

use crate::diagnostic::{Diagnostic, FieldPath};
use crate::json::Json;
use crate::karpenter::{LabelSets, NodePool};
use crate::policy::Policy;

pub use node_classes::{ClassSource, NodeClasses};

/// The objects of one cluster.
#[derive(Debug, Clone, Copy)]
pub struct Together<'a> {
    /// Its NodePools, in the order in which they would be applied.
    pub pools: &'a [NodePool<'a>],
    /// The labels that the policy of each of these pools knows.
    pub labels: &'a [&'a LabelSets],
    /// The node classes of the cluster, as far as they are known.
    pub classes: &'a NodeClasses,
    /// Whether it is certain that there are no other NodePools.
    pub is_complete: bool,
}

/// A finding on one NodePool that depends on others.
#[derive(Debug)]
pub struct AcrossFinding {
    /// The index of the NodePool among those given.
    pub pool: usize,
    /// What is wrong, and at which field of that NodePool.
    pub diagnostic: Diagnostic,
    /// The indexes of the others.
    pub others: Vec<usize>,
}

/// Applies all rules of this directory.
pub fn check(together: Together<'_>) -> Vec<AcrossFinding> {
    let mut findings = Vec::new();
    let last = repeated::check(together.pools, &mut findings);
    missing_class::check(together, &mut findings);
    // A pool that is overwritten or being deleted takes no pods, and its budgets do not matter.
    let staying: Vec<usize> = last
        .into_iter()
        .filter(|index| stays(together.pools, *index))
        .collect();
    overlap::check(together, &staying, &mut findings);
    if together.is_complete {
        all_frozen::check(together.pools, &staying, &mut findings);
    }
    findings
}

/// A finding of a rule with the severity that a policy gives it in `object` at this time; `None` if the policy switches the rule off.
pub fn apply_policy(
    diagnostic: Diagnostic,
    object: &Json<'_>,
    policy: &Policy,
    at: Timestamp,
) -> Option<Diagnostic> {
    Severities::new(object, None, policy, at).apply_policy(diagnostic)
}

fn stays(pools: &[NodePool<'_>], index: usize) -> bool {
    let deletion = FieldPath::of(&["metadata", "deletionTimestamp"]);
    pools
        .get(index)
        .is_some_and(|pool| deletion.find(pool.object).is_none())
}
