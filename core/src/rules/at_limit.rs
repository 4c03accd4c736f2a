//! The annotation with which a pool chooses which of its nodes are replaced although it is at its limit.

use super::choices::{check_word, is_set, path};
use super::findings::Findings;
use super::lifetime::combinations::drains_without_end;
use crate::api::{AT_LIMIT_ANNOTATION, AtLimit, NODE_LIMIT_ANNOTATION};
use crate::diagnostic::ErrorType;
use crate::json::Json;
use crate::karpenter::{ApiVersion, NodePool, Template};
use crate::rules::rule::Rule;

pub static AT_LIMIT: Rule = rule!("at-limit", Error, Poolgate);
pub static AT_LIMIT_REPLACE: Rule = rule!("at-limit-replace", Warning, Poolgate);

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    check_word(
        &AT_LIMIT,
        pool,
        AT_LIMIT_ANNOTATION,
        AtLimit::VALUES,
        "write Repair, Replace to also replace drifted nodes, or Block to replace none",
        findings,
    );
    if let Some(written) = pool.annotation(AT_LIMIT_ANNOTATION)
        && AtLimit::annotated(pool) == Some(AtLimit::Replace)
    {
        check_replace(pool, written, findings);
    }
}

fn check_replace(pool: &NodePool<'_>, written: &Json<'_>, findings: &mut Findings<'_>) {
    let has_limit = is_set(pool, NODE_LIMIT_ANNOTATION);
    let has_end = pool.version != ApiVersion::V1 || !drains_without_end(pool);
    let missing = match (has_limit, has_end) {
        (true, true) => return,
        (false, true) => "the annotation poolgate.dev/node-limit",
        (true, false) => "a terminationGracePeriod",
        (false, false) => "the annotation poolgate.dev/node-limit and a terminationGracePeriod",
    };
    let reason = format!("no drifted node is replaced at the limit without {missing}");
    findings
        .report(
            &AT_LIMIT_REPLACE,
            path(AT_LIMIT_ANNOTATION),
            ErrorType::note(written),
            reason,
        )
        .related(path(NODE_LIMIT_ANNOTATION))
        .related(Template::path("terminationGracePeriod"))
        .suggest("add what is missing, or write Repair");
}
