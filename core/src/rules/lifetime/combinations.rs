//! A node's lifetime together with other fields: the node limit, and the provider's maximum.

use std::time::Duration;

use crate::api::NodeLimitMode;
use crate::diagnostic::{ErrorType, Severity};
use crate::karpenter::{ApiVersion, NodePool, Provider, Template};
use crate::rules::findings::Findings;
use crate::rules::limits::{self, Limits};
use crate::rules::rule::Rule;
use crate::value::duration::NillableDuration;

pub static EKS_AUTO_MODE_LIFETIME: Rule = rule!("eks-auto-mode-lifetime", Warning, Silent);
pub static HARD_LIMIT_DRAIN: Rule = rule!("hard-limit-drain", Warning, Poolgate);

/// Checks a pool with its parsed `expireAfter` and `terminationGracePeriod`: `None` if absent or wrong.
pub fn check(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    expire_after: Option<NillableDuration>,
    grace: Option<Duration>,
    findings: &mut Findings<'_>,
) {
    if pool.version == ApiVersion::V1 {
        if let Some(NillableDuration::After(expiry)) = expire_after {
            check_longest(pool, expiry, grace, findings);
        }
        check_hard_limit(pool, limits, expire_after, findings);
    }
}

fn check_longest(
    pool: &NodePool<'_>,
    expiry: Duration,
    written: Option<Duration>,
    findings: &mut Findings<'_>,
) {
    let provider = pool.template.node_class_group().and_then(Provider::of_group);
    let Some((name, settings, longest)) =
        provider.and_then(|of| Some((of.name, of.settings, of.settings.longest_life?)))
    else {
        return;
    };
    let grace = written.or(settings.termination_grace_period).unwrap_or_default();
    let total = expiry.saturating_add(grace);
    if total > longest {
        let hours = |length: Duration| length.as_secs() / 3_600;
        let source = if written.is_some() {
            String::new()
        } else {
            format!(", which is {}h there if left out", hours(grace))
        };
        let reason = format!(
            "with terminationGracePeriod{source}, nodes would live {}h, and {name} allows {}h",
            hours(total),
            hours(longest)
        );
        let most = longest.saturating_sub(grace);
        let suggestion = if hours(most) == 0 {
            "write a shorter terminationGracePeriod".to_owned()
        } else {
            format!("write at most {}h", hours(most))
        };
        findings
            .report(
                &EKS_AUTO_MODE_LIFETIME,
                NodePool::expire_after_path(pool.version),
                pool.expire_after.present().unwrap_or_default(),
                reason,
            )
            .related(Template::path("terminationGracePeriod"))
            .suggest(suggestion);
    }
}

/// Whether nothing bounds how long a node may drain. Some providers bound it by themselves.
pub fn drains_without_end(pool: &NodePool<'_>) -> bool {
    let settings = Provider::settings_of(pool.template.node_class_group());
    pool.template.termination_grace_period.is_absent() && settings.termination_grace_period.is_none()
}

fn check_hard_limit(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
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
        // Who writes no mode may have no gate, and without it no limit blocks a replacement.
        let severity = if written.is_some() {
            Severity::Warning
        } else {
            Severity::Info
        };
        let reason = "a node that has expired counts against limits.nodes for as long as a PodDisruptionBudget \
                      blocks its drain, even for ever";
        findings
            .report(
                &HARD_LIMIT_DRAIN,
                Template::path("terminationGracePeriod"),
                ErrorType::Required,
                reason,
            )
            .related(limits::path("nodes"))
            .severity(severity)
            // A warning of a webhook has room for no more.
            .suggest("limit the drain; drift then overrides do-not-disrupt");
    }
}
