//! How long nodes live, and how long they may take to terminate: `expireAfter` and `terminationGracePeriod`, alone, together
//! with the node limit, and with the provider's maximum.

use std::time::Duration;

use super::findings::{Findings, UNREADABLE};
use super::limits::{self, PoolLimits};
use crate::api::NodeLimitMode;
use crate::diagnostic::{ErrorType, FieldPath, Origin, Severity};
use crate::facts::ApiVersion;
use crate::pool::{NodePool, Template};
use crate::rules::rule::Rule;
use crate::value::duration::{NillableDuration, NillableDurationError};

pub static EXPIRE_AFTER: Rule = rule!("expire-after", Error, Silent);
pub static EXPIRE_AFTER_SHORT: Rule = rule!("expire-after-short", Warning, Silent);
pub static TERMINATION_GRACE_PERIOD: Rule = rule!("termination-grace-period", Error, Silent);
pub static TERMINATION_GRACE_PERIOD_ZERO: Rule = rule!("termination-grace-period-zero", Warning, Silent);
pub static EKS_AUTO_MODE_LIFETIME: Rule = rule!("eks-auto-mode-lifetime", Warning, Silent);
pub static HARD_LIMIT_DRAIN: Rule = rule!("hard-limit-drain", Warning, Poolgate);

/// How long Karpenter gives a machine to register as a node (`registrationTTL` of its liveness controller).
// karpenter: pkg/controllers/nodeclaim/lifecycle/liveness.go registrationTimeout
const REGISTRATION: Duration = Duration::from_mins(15);

/// The suggestion for a grace period without end.
const FOREVER: &str = "leave terminationGracePeriod out to wait for pods without a limit";

pub fn check(pool: &NodePool<'_>, limits: &PoolLimits<'_>, findings: &mut Findings<'_>) {
    let expire_after = check_expiry(pool, findings);
    let grace = check_grace(&pool.template, findings);
    if pool.version == ApiVersion::V1 {
        if let Some(NillableDuration::After(expiry)) = expire_after {
            check_longest(pool, expiry, grace, findings);
        }
        check_hard_limit(pool, limits, expire_after, findings);
    }
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
    // The CRDs of older releases accept more, some of which Karpenter can decode.
    let is_rejected = findings.context.crd_rejects(&path, text);
    let parsed = if is_rejected {
        NillableDuration::parse(text)
    } else {
        NillableDuration::decode(text)
    };
    match parsed {
        Ok(duration) => Some(duration),
        Err(error) => {
            let finding = findings
                .report_text(rule, path, text, Origin::Silent, error.to_string())
                .suggest_if_known(error.suggestion());
            if !is_rejected {
                finding.consequence(UNREADABLE);
            }
            None
        }
    }
}

/// True if nothing bounds how long a node may drain. Some providers bound it by themselves.
pub fn drains_without_end(pool: &NodePool<'_>) -> bool {
    let settings = pool.template.settings();
    pool.template.termination_grace_period.is_absent() && settings.termination_grace_period.is_none()
}

/// Checks how long nodes live, and returns the parsed duration.
fn check_expiry(pool: &NodePool<'_>, findings: &mut Findings<'_>) -> Option<NillableDuration> {
    let text = pool.expire_after.present()?;
    let path = || NodePool::expire_after_path(pool.version);
    let duration = parse(text, &EXPIRE_AFTER, path, findings)?;
    match duration {
        NillableDuration::After(length) if length.is_zero() => {
            findings
                .report(
                    &EXPIRE_AFTER,
                    path(),
                    text,
                    "every node expires as soon as it is created",
                )
                .consequence("Karpenter replaces each node immediately and never stops")
                .suggest("write Never for no expiry");
        }
        NillableDuration::After(length) if length < REGISTRATION => {
            findings
                .report(
                    &EXPIRE_AFTER_SHORT,
                    path(),
                    text,
                    "nodes may expire before they run a pod",
                )
                .consequence("an instance has 15 minutes to become a node")
                .suggest("write hours or Never");
        }
        _ => {}
    }
    Some(duration)
}

/// Checks how long nodes may take to terminate, and returns the parsed duration.
fn check_grace(template: &Template<'_>, findings: &mut Findings<'_>) -> Option<Duration> {
    // v1beta1 has no such field, and `field-unknown` reports it.
    let text = template
        .termination_grace_period
        .present()
        .filter(|_| template.version == ApiVersion::V1)?;
    let path = || Template::path("terminationGracePeriod");
    let (title, suggestion) = match NillableDuration::parse(text) {
        Ok(NillableDuration::After(length)) => {
            if length.is_zero() {
                let title = "pods are killed immediately, regardless of PodDisruptionBudgets";
                findings
                    .report(&TERMINATION_GRACE_PERIOD_ZERO, path(), text, title)
                    .suggest(
                        "write the time that pods need, or leave terminationGracePeriod out for no limit",
                    );
            }
            return Some(length);
        }
        Ok(NillableDuration::Never) | Err(NillableDurationError::NeverMisspelt) => (
            "terminationGracePeriod cannot be Never".to_owned(),
            Some(FOREVER.into()),
        ),
        Err(error @ NillableDurationError::Overflow) => {
            let path = path();
            findings
                .report_text(
                    &TERMINATION_GRACE_PERIOD,
                    path,
                    text,
                    Origin::Silent,
                    error.to_string(),
                )
                .consequence(UNREADABLE)
                .suggest(FOREVER);
            return None;
        }
        Err(NillableDurationError::Other) => {
            ("a duration has a form such as 30s, 10m or 1h30m".to_owned(), None)
        }
        Err(error) => (error.to_string(), error.suggestion()),
    };
    findings
        .report_text(&TERMINATION_GRACE_PERIOD, path(), text, Origin::Silent, title)
        .suggest_if_known(suggestion);
    None
}

fn check_longest(
    pool: &NodePool<'_>,
    expiry: Duration,
    own_grace: Option<Duration>,
    findings: &mut Findings<'_>,
) {
    let provider = findings.context.provider_of(&pool.template);
    let Some((name, settings, longest)) =
        provider.and_then(|of| Some((of.name, of.settings, of.settings.longest_life?)))
    else {
        return;
    };
    let grace = own_grace
        .or(settings.termination_grace_period)
        .unwrap_or_default();
    let total = expiry.saturating_add(grace);
    if total > longest {
        let title = format!(
            "nodes may live {}, but {name} allows {}",
            written(total),
            written(longest)
        );
        let consequence = if own_grace.is_some() {
            "terminationGracePeriod is added to expireAfter".to_owned()
        } else {
            format!(
                "terminationGracePeriod is added to expireAfter and is {} by default",
                written(grace)
            )
        };
        let most = longest.saturating_sub(grace);
        let suggestion = if most.is_zero() {
            "write a shorter terminationGracePeriod".to_owned()
        } else {
            format!("write at most {}", written(most))
        };
        findings
            .report(
                &EKS_AUTO_MODE_LIFETIME,
                NodePool::expire_after_path(pool.version),
                pool.expire_after.present().unwrap_or_default(),
                title,
            )
            .consequence(consequence)
            .related(Template::path("terminationGracePeriod"))
            .suggest(suggestion);
    }
}

/// A duration as a NodePool has it: `480h30m`.
fn written(length: Duration) -> String {
    let seconds = length.as_secs();
    let parts = [
        (seconds / 3_600, 'h'),
        (seconds / 60 % 60, 'm'),
        (seconds % 60, 's'),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, unit)| format!("{count}{unit}")).collect();
    parts.concat()
}

fn check_hard_limit(
    pool: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    expire_after: Option<NillableDuration>,
    findings: &mut Findings<'_>,
) {
    // If it is left out, the CRD writes 720h; if it cannot be read, another rule has reported it.
    let expires = pool.expire_after.is_absent() || matches!(expire_after, Some(NillableDuration::After(_)));
    // Set in the object, by field or annotation, valid or not.
    let written = pool
        .node_limit_mode_field()
        .or_else(|| pool.node_limit_mode_annotation());
    let is_hard = limits.mode.unwrap_or(NodeLimitMode::UNWRITTEN) == NodeLimitMode::Hard
        && written.is_none_or(|text| NodeLimitMode::parse(text).is_some());
    let is_limited = || {
        let limit = limits.most_nodes();
        limit.is_some_and(|limit| limit.is_whole() && !limit.is_negative())
    };
    if expires && drains_without_end(pool) && is_hard && is_limited() {
        // A pool without a mode may be in a cluster without the gate, where nothing blocks the replacement.
        let (severity, consequence) = if written.is_some() {
            (
                Severity::Warning,
                "poolgate's gate denies the replacement until the node is gone",
            )
        } else {
            (
                Severity::Note,
                "this matters only with poolgate's gate, which denies the replacement until the node is gone",
            )
        };
        findings
            .report(
                &HARD_LIMIT_DRAIN,
                Template::path("terminationGracePeriod"),
                ErrorType::Required,
                "a PodDisruptionBudget may block the drain of an expired node forever",
            )
            .consequence(consequence)
            .related(limits::path("nodes"))
            .severity(severity)
            // A webhook warning has no room for more.
            .suggest("set terminationGracePeriod (drift then overrides do-not-disrupt)");
    }
}
