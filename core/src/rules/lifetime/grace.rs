//! `terminationGracePeriod`: how long nodes may take to terminate.

use std::time::Duration;

use super::CONSEQUENCE;
use crate::diagnostic::Origin;
use crate::karpenter::{ApiVersion, Template};
use crate::rules::findings::Findings;
use crate::rules::length::too_long;
use crate::rules::rule::Rule;
use crate::value::duration::{NillableDuration, NillableDurationError};

pub static TERMINATION_GRACE_PERIOD: Rule = rule!("termination-grace-period", Error, Schema);
pub static TERMINATION_GRACE_PERIOD_ZERO: Rule = rule!("termination-grace-period-zero", Warning, Silent);

/// The suggestion for a period without end.
const FOR_EVER: &str = "leave it out to wait as long as pods take";

/// Checks the text, and returns the parsed duration.
pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) -> Option<Duration> {
    // v1beta1 has no such field, and `field-unknown` reports it.
    let text = template
        .termination_grace_period
        .present()
        .filter(|_| template.version == ApiVersion::V1)?;
    let path = || Template::path("terminationGracePeriod");
    if let Some(reason) = too_long(text) {
        findings.report_text(&TERMINATION_GRACE_PERIOD, path(), text, Origin::Poolgate, reason);
        return None;
    }
    let (reason, suggestion) = match NillableDuration::parse(text) {
        Ok(NillableDuration::After(length)) => {
            if length.is_zero() {
                let reason = "pods would be killed at once, whatever PodDisruptionBudgets say";
                findings
                    .report(&TERMINATION_GRACE_PERIOD_ZERO, path(), text, reason)
                    .suggest("write how long pods may take, or leave it out for as long as they take");
            }
            return Some(length);
        }
        Ok(NillableDuration::Never) | Err(NillableDurationError::NeverMisspelt) => {
            ("it cannot be Never".to_owned(), Some(FOR_EVER.into()))
        }
        Err(NillableDurationError::Overflow) => {
            let reason = format!("{}{}", NillableDurationError::Overflow, CONSEQUENCE);
            (reason, Some(FOR_EVER.into()))
        }
        Err(NillableDurationError::Other) => {
            ("a duration is written like 30s, 10m or 1h30m".to_owned(), None)
        }
        Err(error) => (error.to_string(), error.suggestion()),
    };
    findings
        .report_text(&TERMINATION_GRACE_PERIOD, path(), text, Origin::Silent, reason)
        .suggest_if_known(suggestion);
    None
}
