//! The list of budgets as a whole: how many there are, and whether one always blocks drift.

use crate::budget::{Budget, Budgets, Reason, Reasons};
use crate::diagnostic::{ErrorType, FieldPath, Severity};
use crate::json::Json;
use crate::karpenter::shape::{BUDGETS, nodepool};
use crate::karpenter::{ApiVersion, Disruption, KarpenterVersion, NodePool};
use crate::policy::{FeatureGate, GateState};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGETS_COUNT: Rule = rule!("budgets-count", Error, [Schema]);
pub static BUDGETS_RELEASE: Rule = rule!("budgets-release", Error, [Silent], Read);
pub static BUDGETS_EMPTY: Rule = rule!("budgets-empty", Warning, [Silent], Shown);
pub static BUDGET_BLOCKS_DRIFT: Rule = rule!("budget-blocks-drift", Info, [Silent], Shown);

/// Returns whether the list has a legal length.
pub fn check(version: ApiVersion, budgets: &[Json<'_>], findings: &mut Findings<'_>) -> bool {
    if budgets.is_empty() {
        findings
            .report(
                &BUDGETS_EMPTY,
                path(),
                ErrorType::showing("[]"),
                "without a budget nothing limits disruption, so all nodes may be disrupted at once",
            )
            .suggest("leave it out for the default of 10%, or write nodes: 100% for no limit");
    }
    let most = nodepool(version).at(BUDGETS).most(findings.context.release);
    most.is_none_or(|most| budgets.len() <= most)
}

/// Returns whether the release has budgets; reports them if it does not.
pub fn check_release(findings: &mut Findings<'_>) -> bool {
    let release = findings.context.release;
    if release.has(KarpenterVersion::BUDGETS) {
        return true;
    }
    let reason = format!("Karpenter {release} has no budgets, and its API server drops the field");
    findings
        .report(&BUDGETS_RELEASE, path(), ErrorType::showing("[…]"), reason)
        .suggest(format!(
            "upgrade to Karpenter {} or newer, or remove it",
            KarpenterVersion::BUDGETS
        ));
    false
}

/// Reports the first budget that always blocks drift, or several that do so together. It is more than a note if nothing
/// else replaces the nodes, either.
pub fn check_blocked(
    pool: &NodePool<'_>,
    happening: Reasons,
    all: &Budgets,
    readable: &[&Budget],
    findings: &mut Findings<'_>,
) {
    let mut blocking = readable
        .iter()
        .filter(|budget| budget.is_zero() && budget.has(Reason::Drifted));
    let mut always = blocking.clone().filter(|budget| budget.has_no_window());
    let names_none = |budget: &&&Budget| budget.reasons.is_absent();
    let Some(worst) = always.clone().find(names_none).or_else(|| always.clone().next()) else {
        // Another rule reports a schedule that makes one of them active at all times.
        let is_all_readable = readable.len() == all.len();
        if is_all_readable
            && blocking.clone().count() > 1
            && !blocking.any(|budget| budget.is_always_active())
        {
            check_blocked_together(pool, happening, all, findings);
        }
        return;
    };
    let nodes = worst.nodes.as_ref().present();
    let text = nodes.map_or("", |nodes| &nodes.text);
    let mut reason = never_replaced(pool, findings);
    let also = always
        .find(|other| other.index != worst.index)
        .map(|other| format!(", also in budgets[{}]", other.index))
        .unwrap_or_default();
    let mut suggestion = format!("write 1 to replace them one by one{also}, or add the schedule of a freeze");
    if names_none(&worst)
        && let Some(never_repaired) = never_repaired(pool, findings)
    {
        reason += never_repaired;
        suggestion += &repaired();
    }
    let zero = readable
        .iter()
        .filter(|budget| budget.is_zero() && budget.has_no_window());
    let blocked = zero.fold(Reasons::NONE, |blocked, budget| blocked.with(budget.reasons()));
    let severity = severity(happening.without(blocked) == Reasons::NONE, pool, findings);
    findings
        .report(
            &BUDGET_BLOCKS_DRIFT,
            worst.path("nodes"),
            ErrorType::note(&text.into()),
            reason,
        )
        .severity(severity)
        .suggest(suggestion);
}

/// How bad it is that drift is blocked, and all other disruption, too, if that is so.
fn severity(is_frozen: bool, pool: &NodePool<'_>, findings: &Findings<'_>) -> Severity {
    if is_frozen && !expires(pool, findings) {
        Severity::Warning
    } else {
        Severity::Info
    }
}

/// Whether its nodes expire although a budget of 0 holds. Before 1.0 such a budget stops expiration, too.
fn expires(pool: &NodePool<'_>, findings: &Findings<'_>) -> bool {
    pool.expire_after.present() != Some("Never") && findings.context.release.has(KarpenterVersion::V1_STORED)
}

/// What never changes without drift.
fn never_replaced(pool: &NodePool<'_>, findings: &Findings<'_>) -> String {
    let until = if expires(pool, findings) {
        " before they expire"
    } else {
        ""
    };
    format!("drifted nodes are never replaced, so no new image or fix reaches them{until}")
}

/// What an always active budget of 0 without `reasons` does to the repair of broken nodes; `None` if Karpenter does not
/// repair any, or not within budgets.
fn never_repaired(pool: &NodePool<'_>, findings: &Findings<'_>) -> Option<&'static str> {
    if !findings.context.release.has(KarpenterVersion::UNHEALTHY) {
        return None;
    }
    let cluster = &findings.context.policy.cluster;
    match cluster.gate(FeatureGate::NodeRepair, pool.template.node_class_group()) {
        GateState::Off | GateState::Fixed => None,
        GateState::On => Some("; nor is a broken node of this pool ever repaired"),
        GateState::Unknown => Some(
            "; where Karpenter repairs broken nodes (feature gate NodeRepair), it never repairs one of this pool",
        ),
    }
}

/// How to freeze a pool and still have its broken nodes repaired.
fn repaired() -> String {
    let reasons = Reasons::ALL_BUT_REPAIR.written();
    format!("; reasons: {reasons} freezes the pool, too, but lets broken nodes be repaired")
}

/// Reports budgets whose windows leave no minute of the week.
fn check_blocked_together(
    pool: &NodePool<'_>,
    happening: Reasons,
    budgets: &Budgets,
    findings: &mut Findings<'_>,
) {
    if !budgets.never_allows(Reason::Drifted) {
        return;
    }
    let shown = ErrorType::Note {
        value: "[…]".into()
    };
    let mut reason = format!(
        "the budgets of 0 nodes together cover the whole week, and {}",
        never_replaced(pool, findings)
    );
    let mut suggestion = String::from("leave some hours open");
    let freezes = budgets.iter().filter(|budget| budget.is_zero());
    let names_none = freezes.clone().any(|budget| budget.reasons.is_absent());
    if names_none
        && budgets.never_allows(Reason::Unhealthy)
        && let Some(never_repaired) = never_repaired(pool, findings)
    {
        reason += never_repaired;
        suggestion += &repaired();
    }
    let is_frozen = happening.iter().all(|reason| budgets.never_allows(reason));
    let severity = severity(is_frozen, pool, findings);
    findings
        .report(&BUDGET_BLOCKS_DRIFT, path(), shown, reason)
        .severity(severity)
        .suggest(suggestion);
}

pub fn path() -> FieldPath {
    Disruption::path("budgets")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::DeclaredCluster;
    use crate::rules::testing::{errors, errors_for, findings_for, findings_in, warnings};

    fn budgets(budgets: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
    }

    /// What is said of blocked drift.
    fn blocked(object: &Value) -> Vec<String> {
        let found = findings_for(ApiVersion::V1, KarpenterVersion::NEWEST, object).into_iter();
        let blocked = found.filter(|finding| finding.rule == BUDGET_BLOCKS_DRIFT.id);
        blocked.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn more_than_fifty_budgets_are_denied() {
        let list = |count: usize| budgets(&Value::Array(vec![json!({"nodes": "10%"}); count]));
        assert_eq!(errors(&list(50)), [""; 0]);
        assert_eq!(
            errors(&list(51)),
            [
                "spec.disruption.budgets: Too many: 51: must have at most 50 items; \
             combine windows of the same kind into one schedule, such as 0 9 * * mon-fri [budgets-count]"
            ]
        );
    }

    #[test]
    fn a_release_without_budgets_drops_them() {
        let pool = budgets(&json!([{"nodes": "10%"}]));
        let denied = |release| errors_for(ApiVersion::V1Beta1, release, &pool, None);
        assert_eq!(
            denied(KarpenterVersion::new(0, 33, 6)),
            [
                "spec.disruption.budgets: Invalid value: […]: Karpenter 0.33.6 has no budgets, and its API server drops \
                 the field; upgrade to Karpenter 0.34.0 or newer, or remove it [budgets-release]"
            ]
        );
        assert_eq!(denied(KarpenterVersion::BUDGETS), [""; 0]);
    }

    #[test]
    fn an_empty_list_gets_a_warning_but_not_a_missing_one() {
        assert!(warnings(&budgets(&json!([])))[0].ends_with("[budgets-empty]"));
        for fine in [json!(null), json!([{}])] {
            assert_eq!(warnings(&budgets(&fine)), [""; 0]);
        }
    }

    #[test]
    fn only_a_budget_that_always_blocks_drift_is_reported() {
        let noted = |budget: Value| !blocked(&budgets(&json!([{"nodes": "5"}, budget]))).is_empty();
        assert!(noted(json!({"nodes": "0"})));
        assert!(noted(json!({"nodes": "0%", "reasons": ["Drifted"]})));
        assert!(!noted(
            json!({"nodes": "0", "reasons": ["Empty", "Underutilized"]})
        ));
        assert!(!noted(
            json!({"nodes": "0", "schedule": "@daily", "duration": "8h"})
        ));
        assert!(!noted(json!({"nodes": "1%"})));
    }

    #[test]
    fn budgets_that_block_drift_all_week_together_are_reported_once() {
        let noted = |first: Value, second: Value| blocked(&budgets(&json!([{"nodes": "5"}, first, second])));
        let zero = |schedule: &str, duration: &str| json!({"nodes": "0", "schedule": schedule, "duration": duration});
        let together = noted(zero("0 0 * * mon-fri", "24h"), zero("0 0 * * sat,sun", "24h"));
        assert_eq!(
            together,
            [
                "spec.disruption.budgets: […]: the budgets of 0 nodes together cover the whole week, and drifted nodes are never \
                 replaced, so no new image or fix reaches them; where Karpenter repairs broken nodes \
                 (feature gate NodeRepair), it never repairs one of this pool; leave some hours open; reasons: \
                 [Underutilized, Empty, Drifted] freezes the pool, too, but lets broken nodes be repaired \
                 [budget-blocks-drift]"
            ]
        );
        assert_eq!(
            noted(zero("0 0 * * mon-fri", "24h"), zero("0 0 * * sat", "24h")),
            [""; 0]
        );
        assert_eq!(noted(zero("0 0 * * *", "12h"), json!({"nodes": "0"})).len(), 1);
    }

    #[test]
    fn a_freeze_that_nothing_ends_is_a_warning_and_one_that_expiry_ends_is_a_note() {
        let severity = |budgets: &Value, disruption: &Value, expiry: &str| {
            let mut object = json!({"spec": {
                "disruption": disruption,
                "template": {"spec": {"expireAfter": expiry}},
            }});
            object["spec"]["disruption"]["budgets"] = budgets.clone();
            let found = findings_for(ApiVersion::V1, KarpenterVersion::NEWEST, &object);
            let mut found = found.into_iter();
            let found = found.find(|finding| finding.rule == BUDGET_BLOCKS_DRIFT.id);
            found.expect("a finding").severity
        };
        let zero = |reasons: Value| json!([{"nodes": "5"}, {"nodes": "0", "reasons": reasons}]);
        let days = json!([
            {"nodes": "0", "schedule": "0 0 * * mon-fri", "duration": "24h"},
            {"nodes": "0", "schedule": "0 0 * * sat,sun", "duration": "24h"},
        ]);
        let (on, off) = (json!({}), json!({"consolidateAfter": "Never"}));
        for (budgets, disruption, expiry, expected) in [
            (zero(json!(null)), &on, "Never", Severity::Warning),
            (zero(json!(null)), &on, "720h", Severity::Info),
            (days.clone(), &on, "Never", Severity::Warning),
            (days, &on, "720h", Severity::Info),
            (zero(json!(["Drifted"])), &on, "Never", Severity::Info),
            (zero(json!(["Drifted"])), &off, "Never", Severity::Warning),
        ] {
            assert_eq!(
                severity(&budgets, disruption, expiry),
                expected,
                "{budgets} {expiry}"
            );
        }
    }

    /// What is said of an always active budget of 0 with these reasons, as read by this release.
    fn said(reasons: &Value, release: KarpenterVersion) -> String {
        let frozen = budgets(&json!([{"nodes": "0", "reasons": reasons}]));
        let mut found = findings_for(ApiVersion::V1, release, &frozen).into_iter();
        let found = found.find(|finding| finding.rule == BUDGET_BLOCKS_DRIFT.id);
        found.expect("a finding").to_string()
    }

    #[test]
    fn a_budget_without_reasons_is_said_to_stop_repair_where_the_release_repairs_within_budgets() {
        let (with_repair, before) = (KarpenterVersion::UNHEALTHY, KarpenterVersion::new(1, 14, 3));
        let stops = |reasons: &Value, release| said(reasons, release).contains("NodeRepair");
        assert!(stops(&json!(null), with_repair));
        assert!(!stops(&json!(null), before));
        assert!(!stops(&json!(["Underutilized", "Empty", "Drifted"]), with_repair));
        assert!(
            said(&json!(null), with_repair)
                .contains("; reasons: [Underutilized, Empty, Drifted] freezes the pool")
        );
    }

    #[test]
    fn a_declared_gate_and_a_provider_that_repairs_end_the_condition() {
        let frozen = |group: &str| {
            json!({"spec": {
                "disruption": {"budgets": [{"nodes": "0"}]},
                "template": {"spec": {"nodeClassRef": {"group": group, "kind": "NodeClass", "name": "default"}}},
            }})
        };
        let declared = |is_on| DeclaredCluster::default().with_gate(FeatureGate::NodeRepair, is_on);
        let said = |cluster, group| {
            let found = findings_in(cluster, &frozen(group)).into_iter();
            found
                .filter(|line| line.ends_with("[budget-blocks-drift]"))
                .collect::<String>()
        };
        let repaired = "; nor is a broken node of this pool ever repaired; write 1 ";
        let on = said(declared(true), "example.com");
        assert!(on.contains(repaired) && !on.contains("NodeRepair"), "{on}");
        let off = said(declared(false), "example.com");
        assert!(!off.contains("repaired"), "{off}");
        let provider = said(DeclaredCluster::default(), "eks.amazonaws.com");
        assert!(provider.contains(repaired), "{provider}");
    }

    #[test]
    fn nodes_that_a_budget_keeps_from_expiring_are_not_said_to_expire() {
        let (v1, v1beta1) = (ApiVersion::V1, ApiVersion::V1Beta1);
        let said = |version, release, object: &Value| {
            let mut found = findings_for(version, release, object).into_iter();
            let found = found.find(|finding| finding.rule == BUDGET_BLOCKS_DRIFT.id);
            found.expect("a finding").reason
        };
        let frozen = |expiry: &str| {
            let budgets = json!([{"nodes": "0"}]);
            json!({"spec": {
                "disruption": {"budgets": budgets},
                "template": {"spec": {"expireAfter": expiry}},
            }})
        };
        let old = budgets(&json!([{"nodes": "0"}]));
        let expire = |reason: String| reason.contains("before they expire");
        assert!(expire(said(v1, KarpenterVersion::NEWEST, &frozen("720h"))));
        assert!(!expire(said(v1, KarpenterVersion::NEWEST, &frozen("Never"))));
        assert!(expire(said(v1beta1, KarpenterVersion::LAST_OF_V1BETA1, &old)));
        assert!(!expire(said(v1beta1, KarpenterVersion::new(0, 37, 0), &old)));
    }

    #[test]
    fn of_several_budgets_that_block_drift_the_one_that_stops_most_is_reported_with_the_others() {
        let noted = blocked(&budgets(
            &json!([{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "0"}]),
        ));
        let [noted] = noted.as_slice() else {
            panic!("{noted:?}");
        };
        assert!(noted.starts_with("spec.disruption.budgets[1].nodes: "), "{noted}");
        assert!(
            noted.contains("write 1 to replace them one by one, also in budgets[0], or"),
            "{noted}"
        );
    }
}
