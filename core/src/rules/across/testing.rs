//! Helpers for the tests of these rules.

use serde_json::Value;

use super::{ClassSource, NodeClasses, Together, check};
use crate::facts::{ApiVersion, LabelSets};
use crate::json::Json;
use crate::pool::NodePool;
use crate::review::Subject;
use crate::rules::testing::completed;

/// The pool that a rule reports, the message, and the other pools.
pub type FoundAcross = (usize, String, Vec<usize>);

/// The findings of a rule on these pools, with no node classes known.
pub fn found(pools: &[Value], rule: &str) -> Vec<FoundAcross> {
    found_of(pools, &NodeClasses::new(ClassSource::Cluster), rule)
}

/// The findings of a rule on these pools, with these node classes.
pub fn found_of(pools: &[Value], classes: &NodeClasses, rule: &str) -> Vec<FoundAcross> {
    found_with(LabelSets::BUILT_IN, pools, classes, rule)
}

/// The findings of a rule on these pools, with these node classes, where these labels are known.
pub fn found_with(
    labels: &LabelSets,
    pools: &[Value],
    classes: &NodeClasses,
    rule: &str,
) -> Vec<FoundAcross> {
    let subject = Subject::NodePool(ApiVersion::V1);
    let pools: Vec<Value> = pools.iter().map(|pool| completed(subject, pool)).collect();
    let objects: Vec<Json<'_>> = pools.iter().map(Json::from).collect();
    let pools: Vec<_> = objects
        .iter()
        .map(|object| NodePool::view(ApiVersion::V1, object))
        .collect();
    let together = Together {
        pools: &pools,
        labels: &vec![labels; pools.len()],
        classes,
        is_complete: true,
    };
    let findings = check(together).into_iter();
    findings
        .filter(|finding| finding.diagnostic.rule.as_str() == rule)
        .map(|finding| (finding.pool, finding.diagnostic.to_string(), finding.others))
        .collect()
}
