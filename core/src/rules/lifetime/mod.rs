//! How long nodes live, and how long they may take to terminate: `expireAfter` and `terminationGracePeriod`.

pub mod combinations;
pub mod expiry;
pub mod grace;

use super::findings::Findings;
use super::limits::Limits;
use crate::diagnostic::{FieldPath, Origin};
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;
use crate::value::duration::NillableDuration;

/// Checks the lifetime of a pool's nodes.
pub fn check_pool(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    let expire_after = expiry::check(pool.expire_after, &pool.template, findings);
    let grace = grace::check(&pool.template, findings);
    combinations::check(pool, limits, expire_after, grace, findings);
}

/// Returns a duration that may be `Never`; reports one that the CRD or Karpenter cannot read.
pub fn parse(
    text: &str,
    rule: &'static Rule,
    path: impl FnOnce() -> FieldPath,
    findings: &mut Findings<'_>,
) -> Option<NillableDuration> {
    if let Ok(duration) = NillableDuration::parse(text) {
        return Some(duration);
    }
    let path = path();
    // The CRDs of older releases accept more, of which Karpenter can decode some.
    let (parsed, consequence) = if findings.context.crd_rejects(&path, text) {
        (NillableDuration::parse(text), "")
    } else {
        (NillableDuration::decode(text), CONSEQUENCE)
    };
    match parsed {
        Ok(duration) => Some(duration),
        Err(error) => {
            let reason = format!("{error}{consequence}");
            findings
                .report_text(rule, path, text, Origin::Silent, reason)
                .suggest_if_known(error.suggestion());
            None
        }
    }
}

/// The consequence of a value that Karpenter cannot decode: it reads all objects of a kind at once.
const CONSEQUENCE: &str = ", and Karpenter could then not read any NodePool";
