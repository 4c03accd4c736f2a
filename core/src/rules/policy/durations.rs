//! Bounds on how long nodes live and drain.

use std::time::Duration;

use crate::diagnostic::{ErrorType, FieldPath};
use crate::karpenter::{ApiVersion, Field, NodePool, Provider, ProviderSettings, Template};
use crate::policy::{DurationBounds, TemplateBounds};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::duration::GoDuration;

/// The default of Karpenter's CRD for `expireAfter`.
const DEFAULT_EXPIRY: Duration = Duration::from_hours(720);

/// The value for no end.
const NEVER: &str = "Never";

pub static EXPIRE_AFTER: Rule = rule!("policy-expire-after", Error, Poolgate);
pub static TERMINATION_GRACE_PERIOD: Rule = rule!("policy-termination-grace-period", Error, Poolgate);

pub fn check(pool: &NodePool<'_>, bounds: &TemplateBounds, findings: &mut Findings<'_>) {
    let provider = pool.template.node_class_group().and_then(Provider::of_group);
    let own = |setting: fn(&ProviderSettings) -> Option<Duration>| {
        provider.and_then(|provider| Some((provider.name, setting(&provider.settings)?)))
    };
    check_duration(
        &EXPIRE_AFTER,
        || NodePool::expire_after_path(pool.version),
        pool.expire_after,
        Some(own(|settings| settings.expire_after).unwrap_or(("Karpenter's CRD", DEFAULT_EXPIRY))),
        &bounds.expire_after,
        findings,
    );
    if pool.version == ApiVersion::V1 {
        let path = || Template::path("terminationGracePeriod");
        let grace = pool.template.termination_grace_period;
        let bounds = &bounds.termination_grace_period;
        let otherwise = own(|settings| settings.termination_grace_period);
        check_duration(
            &TERMINATION_GRACE_PERIOD,
            path,
            grace,
            otherwise,
            bounds,
            findings,
        );
    }
}

/// Checks one field. `otherwise` is the value of an absent field, and who sets it; `None` means no end.
fn check_duration(
    rule: &'static Rule,
    path: impl FnOnce() -> FieldPath,
    found: Field<&str>,
    otherwise: Option<(&str, Duration)>,
    bounds: &DurationBounds,
    findings: &mut Findings<'_>,
) {
    let duration = match found {
        Field::Mistyped => return,
        Field::Absent => otherwise.map(|(_, length)| GoDuration::from(length)),
        Field::Present(NEVER) => None,
        Field::Present(text) => match GoDuration::parse(text) {
            Ok(duration) => Some(duration),
            Err(_) => return,
        },
    };
    let over = bounds
        .max
        .as_ref()
        .filter(|max| duration.is_none_or(|duration| duration > max.value));
    let under = bounds
        .min
        .as_ref()
        .filter(|min| duration.is_some_and(|duration| duration < min.value));
    let (bound, word, suggestion) = match (over, under) {
        (Some(max), _) => (max, "at most", "or less"),
        (None, Some(min)) => (min, "at least", "or more"),
        (None, None) => return,
    };
    let reason = match (found.present(), otherwise) {
        (Some(_), _) => format!("the policy allows {word} {}", bound.text),
        (None, Some((who, length))) => format!(
            "{who} defaults it to {}h, and the policy allows {word} {}",
            length.as_secs() / 3_600,
            bound.text
        ),
        (None, None) => format!(
            "without it the time is unlimited, and the policy allows {word} {}",
            bound.text
        ),
    };
    let error_type = found.present().map_or(ErrorType::Required, ErrorType::from);
    findings
        .report(rule, path(), error_type, reason)
        .suggest(format!("write {} {suggestion}", bound.text));
}
