//! Taints and startup taints: each by itself, all together, and those that Karpenter or agents use.

use super::findings::Findings;
use crate::diagnostic::Origin;
use crate::json::FewMap;
use crate::karpenter::{DISRUPTED_TAINT, KarpenterVersion, Taint, TaintList, Template};
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

pub static TAINT: Rule = rule!("taint", Error, Schema);
pub static TAINT_RESERVED: Rule = rule!("taint-reserved", Warning, Silent);
pub static TAINT_STARTUP: Rule = rule!("taint-startup", Warning, Silent);

/// Karpenter's taint on nodes that it is about to remove; v1beta1 had the second name.
const DISRUPTED: &[&str] = &[DISRUPTED_TAINT, "karpenter.sh/disruption"];
/// Karpenter's taint on nodes that it has not yet registered.
const UNREGISTERED: &str = "karpenter.sh/unregistered";
/// Karpenter's taint on nodes that it reboots to repair them, from 1.15 on.
const REBOOTING: &str = "karpenter.sh/rebooting";

/// Taints that an agent removes from every node once it runs there.
const REMOVED_BY_AGENTS: &[(&str, &str)] = &[
    ("node.cilium.io/agent-not-ready", "Cilium"),
    ("ebs.csi.aws.com/agent-not-ready", "the EBS CSI driver"),
    ("efs.csi.aws.com/agent-not-ready", "the EFS CSI driver"),
];

/// Checks all but the effects, which the check of the definition's constraints reports.
pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    for taint in template.all_taints() {
        check_key(taint, findings);
        check_value(taint, findings);
    }
    check_repeated(template, findings);
    for taint in template.all_taints() {
        check_reserved(taint, findings);
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

fn check_repeated(template: &Template<'_>, findings: &mut Findings<'_>) {
    let mut first: FewMap<(&str, &str), &Taint<'_>> = FewMap::default();
    for taint in template.all_taints() {
        let (Some(key), Some(effect)) = (taint.key.present(), taint.effect.present()) else {
            continue;
        };
        let Some(earlier) = first.insert((key, effect), taint) else {
            continue;
        };
        let title = format!("{} already has this key and effect", earlier.here());
        let finding = findings
            .report(&TAINT, taint.path("key"), key, title)
            .origin(Origin::Runtime)
            .consequence("Karpenter accepts the pair only once, startup taints included, whatever the value")
            .suggest("remove one of them");
        if earlier.list != taint.list {
            finding.related(earlier.here());
        }
    }
}

fn check_reserved(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present() else { return };
    let is_reserved = DISRUPTED.contains(&key)
        || (key == UNREGISTERED && taint.list == TaintList::Taints)
        || (key == REBOOTING && findings.context.release.has(KarpenterVersion::UNHEALTHY));
    if is_reserved {
        findings
            .report(
                &TAINT_RESERVED,
                taint.path("key"),
                key,
                "Karpenter sets and removes this taint itself",
            )
            .consequence("here it keeps pods off the nodes, or is removed")
            .suggest("use a key of your own");
    }
}

fn check_startup(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present().filter(|_| taint.list == TaintList::Taints) else {
        return;
    };
    if let Some((_, agent)) = REMOVED_BY_AGENTS.iter().find(|(known, _)| *known == key) {
        findings
            .report(
                &TAINT_STARTUP,
                taint.path("key"),
                key,
                format!("{agent} removes it, but Karpenter expects it to stay"),
            )
            .consequence("Karpenter launches nothing for pods that do not tolerate it")
            .suggest("move it to startupTaints");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
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
