//! Taints and startup taints: each on its own, all together, and those that Karpenter or agents use.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use super::findings::{Findings, UNREADABLE};
use crate::diagnostic::{Origin, Severity};
use crate::facts::shape::Pattern;
use crate::facts::{DISRUPTED_TAINT, KarpenterVersion};
use crate::pool::{Taint, TaintList, Template};
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

pub static TAINT: Rule = rule!("taint", Error, Schema);
pub static TAINT_RESERVED: Rule = rule!("taint-reserved", Warning, Silent);
pub static TAINT_STARTUP: Rule = rule!("taint-startup", Warning, Silent);
pub static TAINT_VALUE: Rule = rule!("taint-value", Note, Silent);

/// Karpenter's taint on nodes that it is about to remove; v1beta1 had the second name.
// karpenter: pkg/apis/v1/taints.go DisruptedTaintKey
// karpenter 1.0.8: pkg/apis/v1beta1/taints.go DisruptionTaintKey
const DISRUPTED: &[&str] = &[DISRUPTED_TAINT, "karpenter.sh/disruption"];
/// Karpenter's taint on nodes that it has not yet registered.
// karpenter: pkg/apis/v1/taints.go UnregisteredTaintKey
const UNREGISTERED: &str = "karpenter.sh/unregistered";
/// Karpenter's taint on nodes that it reboots to repair them, from 1.15 on.
// karpenter: pkg/apis/v1/taints.go RebootingTaintKey
const REBOOTING: &str = "karpenter.sh/rebooting";

/// The times that Go reads (`time.Parse` with `RFC3339`).
static GO_TIME: Pattern = Pattern::new(
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?(Z|[+-]([01][0-9]|2[0-4]):([0-5][0-9]|60))$",
);
/// The times that the format `date-time` of a CRD accepts, in lower case (`IsDateTime` of `k8s.io/kube-openapi`).
static CRD_TIME: Pattern = Pattern::new(
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}t([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})(t|$)",
);

/// The consequence of a time that the API server rejects in a NodeClaim.
const NO_CLAIM: &str = "the API server rejects every NodeClaim, so the pool never launches a node";

/// The name that agents give the taint which they remove from every node once they run there.
const NOT_READY: &str = "agent-not-ready";
/// The agents that are known by the domain of that taint.
const AGENTS: &[(&str, &str)] = &[
    ("node.cilium.io", "Cilium"),
    ("ebs.csi.aws.com", "the EBS CSI driver"),
    ("efs.csi.aws.com", "the EFS CSI driver"),
    ("fsx.csi.aws.com", "the FSx CSI driver"),
    ("s3.csi.aws.com", "the S3 CSI driver"),
];
/// The domain of the taints that the Node Readiness Controller sets and removes.
// karpenter: pkg/scheduling/taints.go KnownEphemeralTaintKeyPrefixes
const READINESS: &str = "readiness.k8s.io";
/// The domains that are reserved for examples in documentation.
const EXAMPLES: &[&str] = &["example.com", "example.net", "example.org"];

/// Checks all but the effects, which the check of the definition's constraints reports.
pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    for taint in template.all_taints() {
        check_key(taint, findings);
        check_value(taint, findings);
        check_time(taint, findings);
    }
    check_repeated(template, findings);
    for taint in template.all_taints() {
        check_reserved(taint, template, findings);
        check_startup(taint, findings);
    }
}

fn check_key(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present() else { return };
    if let Err(error) = qualified_name(key) {
        let path = taint.path("key");
        findings
            .report_text(&TAINT, path, key, Origin::Runtime, error.to_string())
            .suggest_if_known(corrected_key(key).map(|key| format!("write {key}")));
    }
}

// karpenter: pkg/apis/v1/nodeclaim_validation.go validateTaintsField
fn check_value(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(value) = taint.value.present() else {
        return;
    };
    let path = || taint.path("value");
    let (title, suggestion) = if value.is_empty() {
        let title = "the CRD rejects an empty value".to_owned();
        (title, Some("leave value out".to_owned()))
    } else if let Err(error) = label_value(value) {
        let suggestion = corrected_value(value).map(|value| format!("write {value}"));
        (error.to_string(), suggestion)
    } else {
        check_operator(taint, value, findings);
        return;
    };
    // Karpenter accepts a value that is valid as a key.
    let otherwise = match qualified_name(value) {
        Ok(()) => Origin::Silent,
        Err(_) => Origin::Runtime,
    };
    let finding = findings
        .report_text(&TAINT, path(), value, otherwise, title)
        .suggest_if_known(suggestion);
    if !value.is_empty() && finding.origin != Origin::Schema {
        finding.consequence("no node of this pool could register");
    }
}

/// Checks the time of a taint. The API server takes some times that Go does not read, and Karpenter writes a time in UTC.
fn check_time(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(time) = taint.time_added.present() else {
        return;
    };
    let is_date = time.get(..10).is_some_and(|date| date.parse::<Date>().is_ok());
    let (origin, title, consequence) = if is_date && GO_TIME.matches(time) {
        if year_in_utc(time).is_some_and(|year| (0..=9999).contains(&year)) {
            return;
        }
        let title = "in UTC, the year of this time does not have four digits";
        (Origin::Silent, title, Some(NO_CLAIM))
    } else if is_date && CRD_TIME.matches(&time.to_ascii_lowercase()) {
        let title = "the CRD accepts this time, but Karpenter cannot read it";
        (Origin::Silent, title, Some(UNREADABLE))
    } else {
        (Origin::Schema, "a time has the form 2026-01-02T15:04:05Z", None)
    };
    let finding = findings.report(&TAINT, taint.path("timeAdded"), time, title);
    finding.consequence = consequence.map(Into::into);
    finding.origin(origin).suggest("leave timeAdded out");
}

/// The year in UTC of a time that Go reads; `None` after 9999.
fn year_in_utc(time: &str) -> Option<i16> {
    let clock: DateTime = time.get(..19)?.parse().ok()?;
    if time.ends_with('Z') {
        return Some(clock.year());
    }
    // `+09:00`
    let (before, minutes) = time.rsplit_once(':')?;
    let at = before.rfind(['+', '-'])?;
    let hours: i64 = before.get(at..)?.parse().ok()?;
    let minutes: i64 = minutes.parse().ok()?;
    let ahead = hours * 60
        + if before.get(at..)?.starts_with('-') {
            -minutes
        } else {
            minutes
        };
    Some(clock.checked_sub(SignedDuration::from_mins(ahead)).ok()?.year())
}

/// Reports an operator of tolerations that is taken for a value.
fn check_operator(taint: &Taint<'_>, value: &str, findings: &mut Findings<'_>) {
    if ["Exists", "Equal"].contains(&value) {
        findings
            .report(
                &TAINT_VALUE,
                taint.path("value"),
                value,
                format!("{value} is an operator of tolerations, but only a plain value in a taint"),
            )
            .consequence("a toleration that compares values must have the same value")
            .suggest("leave value out");
    }
}

// karpenter: pkg/apis/v1/nodeclaim_validation.go NodeClaimTemplateSpec.validateTaints
// karpenter: pkg/apis/v1/nodeclaim_validation.go validateTaintsField
fn check_repeated(template: &Template<'_>, findings: &mut Findings<'_>) {
    let mut first: Vec<((&str, &str), &Taint<'_>)> = Vec::new();
    for taint in template.all_taints() {
        let (Some(key), Some(effect)) = (taint.key.present(), taint.effect.present()) else {
            continue;
        };
        let Some((_, earlier)) = first.iter().find(|(pair, _)| *pair == (key, effect)) else {
            first.push(((key, effect), taint));
            continue;
        };
        let title = format!("{} already has this key and effect", earlier.here());
        let finding = findings
            .report(&TAINT, taint.path("key"), key, title)
            .origin(Origin::Runtime)
            .consequence("Karpenter accepts each pair once in taints and startupTaints, whatever the value")
            .suggest("remove one of them");
        if earlier.list != taint.list {
            finding.related(earlier.here());
        }
    }
}

fn check_reserved(taint: &Taint<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present() else { return };
    let release = findings.context.release;
    let is_startup = taint.list == TaintList::StartupTaints;
    let is_reserved = DISRUPTED.contains(&key)
        || (key == UNREGISTERED && !is_startup)
        || (key == REBOOTING && release.has(KarpenterVersion::UNHEALTHY));
    if is_reserved {
        findings
            .report(
                &TAINT_RESERVED,
                taint.path("key"),
                key,
                "Karpenter sets and removes this taint itself",
            )
            .consequence(
                "a template with this taint keeps pods off the nodes, or Karpenter removes the taint",
            )
            .suggest("use a key of your own");
    } else if key == UNREGISTERED
        && release.has(KarpenterVersion::V1_STORED)
        && let Some(provider) = findings.context.provider_of(template)
        && provider.adds_unregistered_taint
    {
        let title = format!(
            "Karpenter for {} adds and removes this taint itself",
            provider.name
        );
        findings
            .report(&TAINT_RESERVED, taint.path("key"), key, title)
            .severity(Severity::Note)
            .consequence("the taint has no effect in a template")
            .suggest("remove it. User data of your own must register the node with this taint");
    }
}

fn check_startup(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present() else { return };
    let Some((domain, name)) = key.split_once('/') else {
        return;
    };
    if taint.list == TaintList::StartupTaints {
        if EXAMPLES.contains(&domain) {
            findings
                .report(
                    &TAINT_STARTUP,
                    taint.path("key"),
                    key,
                    format!("no agent removes a taint of the example domain {domain}"),
                )
                .severity(Severity::Note)
                .consequence("no node of this pool is ever initialized")
                .suggest("remove it, or write the taint that your agent removes");
        }
        return;
    }
    let agent = match domain {
        READINESS => "the Node Readiness Controller",
        _ if name != NOT_READY => return,
        _ => AGENTS
            .iter()
            .find_map(|(known, agent)| (*known == domain).then_some(*agent))
            .unwrap_or("an agent"),
    };
    findings
        .report(
            &TAINT_STARTUP,
            taint.path("key"),
            key,
            format!("{agent} removes this taint"),
        )
        .consequence("Karpenter expects the taint to stay, so pods without a toleration get no node")
        .suggest("move it to startupTaints");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::facts::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::errors_for;

    fn pool(taints: &Value, startup: &Value) -> Value {
        json!({"spec": {"template": {"spec": {"taints": taints, "startupTaints": startup}}}})
    }

    fn taint(key: &str, effect: &str) -> Value {
        json!({"key": key, "effect": effect})
    }

    #[test]
    fn thousands_of_repeated_taints_cost_little_on_an_update() {
        let many: Vec<Value> = (0..10_000).map(|_| taint("a", "NoSchedule")).collect();
        let object = pool(&json!(many), &json!(many));
        assert_eq!(
            errors_for(ApiVersion::V1, KarpenterVersion::NEWEST, &object, Some(&object)),
            [""; 0]
        );
    }
}
