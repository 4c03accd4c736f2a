//! The annotation with which a pool chooses what happens to its nodes above the limit.

use super::choices::check_word;
use super::findings::Findings;
use crate::api::{OVER_LIMIT_ANNOTATION, OverLimit};
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;

pub static OVER_LIMIT: Rule = rule!("over-limit", Error, Poolgate);

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    check_word(
        &OVER_LIMIT,
        pool,
        OVER_LIMIT_ANNOTATION,
        OverLimit::ANNOTATED,
        "write Report, or Terminate to delete the cheapest nodes above the limit",
        findings,
    );
}
