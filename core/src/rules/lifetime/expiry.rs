//! `expireAfter`: how long nodes live.

use std::time::Duration;

use super::parse;
use crate::diagnostic::FieldPath;
use crate::karpenter::{Field, NodePool, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::duration::NillableDuration;

/// How long Karpenter gives a machine to register as a node (`registrationTTL` of its liveness controller).
const REGISTRATION: Duration = Duration::from_mins(15);

pub static EXPIRE_AFTER: Rule = rule!("expire-after", Error, Schema);
pub static EXPIRE_AFTER_ZERO: Rule = rule!("expire-after-zero", Error, Silent);
pub static EXPIRE_AFTER_SHORT: Rule = rule!("expire-after-short", Warning, Silent);

/// Checks the text, and returns the parsed duration.
pub fn check(
    field: Field<&str>,
    template: &Template<'_>,
    findings: &mut Findings<'_>,
) -> Option<NillableDuration> {
    let text = field.present()?;
    let path = || NodePool::expire_after_path(template.version);
    let duration = parse(text, &EXPIRE_AFTER, path, findings)?;
    if let NillableDuration::After(length) = duration
        && length < REGISTRATION
    {
        check_short(length, path(), text, findings);
    }
    Some(duration)
}

fn check_short(length: Duration, path: FieldPath, text: &str, findings: &mut Findings<'_>) {
    let (rule, reason, suggestion) = if length.is_zero() {
        let reason = "every node would expire as soon as it is created and be replaced by the next, for ever";
        (&EXPIRE_AFTER_ZERO, reason, "write Never for no expiry")
    } else {
        let reason =
            "an instance has 15 minutes to become a node, so this one may expire before it runs a single pod";
        (&EXPIRE_AFTER_SHORT, reason, "write hours, or Never")
    };
    findings.report(rule, path, text, reason).suggest(suggestion);
}
