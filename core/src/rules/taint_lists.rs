//! Taints and startup taints checked together, and taints that Karpenter or agents use.

use super::findings::Findings;
use crate::json::FewMap;
use crate::karpenter::{DISRUPTED_TAINT, KarpenterVersion, Taint, TaintList, Template};
use crate::rules::rule::Rule;

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

pub static TAINT_REPEATED: Rule = rule!("taint-repeated", Error, Runtime);
pub static TAINT_RESERVED: Rule = rule!("taint-reserved", Warning, Silent);
pub static TAINT_STARTUP: Rule = rule!("taint-startup", Warning, Silent);

pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    check_repeated(template, findings);
    for taint in template.all_taints() {
        check_reserved(taint, findings);
        check_startup(taint, findings);
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
        let reason = format!(
            "{} already has this key and effect, and Karpenter accepts the pair only once, startup taints included, whatever the value",
            earlier.here()
        );
        let finding = findings
            .report(&TAINT_REPEATED, taint.path("key"), key, reason)
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
        let reason = "Karpenter sets and removes this taint itself, so here it keeps pods off the nodes, or is removed";
        findings
            .report(&TAINT_RESERVED, taint.path("key"), key, reason)
            .suggest("use a key of your own");
    }
}

fn check_startup(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present().filter(|_| taint.list == TaintList::Taints) else {
        return;
    };
    if let Some((_, agent)) = REMOVED_BY_AGENTS.iter().find(|(known, _)| *known == key) {
        let reason = format!(
            "{agent} removes it, but Karpenter expects it to stay and launches nothing for other pods"
        );
        findings
            .report(&TAINT_STARTUP, taint.path("key"), key, reason)
            .suggest("move it to startupTaints");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::review::Subject;
    use crate::rules::testing::{errors_for, errors_on};

    fn pool(taints: &Value, startup: &Value) -> Value {
        json!({"spec": {"template": {"spec": {"taints": taints, "startupTaints": startup}}}})
    }

    fn taint(key: &str, effect: &str) -> Value {
        json!({"key": key, "effect": effect})
    }

    #[test]
    fn a_claim_may_repeat_a_taint() {
        let claim = json!({"spec": {"taints": [taint("a", "NoSchedule"), taint("a", "NoSchedule")]}});
        let subject = Subject::NodeClaim(ApiVersion::V1);
        assert_eq!(
            errors_on(subject, KarpenterVersion::NEWEST, &claim, None),
            [""; 0]
        );
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
