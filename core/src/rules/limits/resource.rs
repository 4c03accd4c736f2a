//! Which resources a limit may name.

use super::path;
use crate::diagnostic::Suggestion;
use crate::json::{Json, Object};
use crate::karpenter::{is_resource, likely_resource};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static LIMIT_UNKNOWN: Rule = rule!("limit-unknown", Warning, Silent);

pub fn check(resource: &str, value: &Json<'_>, limits: &Object<'_>, findings: &mut Findings<'_>) {
    if is_resource(resource) {
        return;
    }
    let likely = likely_resource(resource).filter(|likely| !limits.contains_key(likely));
    findings
        .report(
            &LIMIT_UNKNOWN,
            path(resource),
            value,
            "nodes have no resource of this name",
        )
        .consequence("this limits nothing")
        .suggest_if_known(likely.map(Suggestion::did_you_mean));
}
