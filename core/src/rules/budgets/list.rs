//! The list of budgets as a whole: how many there are, and whether one always blocks drift.

use crate::budget::{Budgets, ParsedBudget, Reason, Reasons};
use crate::diagnostic::{ErrorType, FieldPath};
use crate::karpenter::shape::MOST_BUDGETS;
use crate::karpenter::{Budget, Disruption, KarpenterVersion, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGETS_COUNT: Rule = rule!("budgets-count", Error, [Schema]);
pub static BUDGETS_EMPTY: Rule = rule!("budgets-empty", Warning, [Silent], Shown);
pub static BUDGET_BLOCKS_DRIFT: Rule = rule!("budget-blocks-drift", Info, [Silent], Shown);

/// Returns whether the list has a legal length.
pub fn check(budgets: &[Budget<'_>], findings: &mut Findings<'_>) -> bool {
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
    budgets.len() <= MOST_BUDGETS
}

/// Reports the first budget that always blocks drift, or several that do so together.
pub fn check_blocked(
    pool: &NodePool<'_>,
    all: &[ParsedBudget<'_>],
    readable: &[&ParsedBudget<'_>],
    findings: &mut Findings<'_>,
) {
    let mut blocking = readable
        .iter()
        .filter(|budget| budget.is_zero() && budget.has(Reason::Drifted));
    let mut always = blocking.clone().filter(|budget| budget.has_no_window());
    let names_none = |budget: &&&ParsedBudget<'_>| budget.view.reasons.is_absent();
    let Some(worst) = always.clone().find(names_none).or_else(|| always.clone().next()) else {
        // Another rule reports a schedule that makes one of them active at all times.
        if blocking.clone().count() > 1 && !blocking.any(|budget| budget.is_always_active()) {
            check_blocked_together(pool, all, findings);
        }
        return;
    };
    let text = worst.view.nodes.present().unwrap_or_default();
    let stops_repair = names_none(&worst) && stops_repair(findings);
    let mut reason = never_replaced(pool, findings);
    let also = always
        .find(|other| other.view.index != worst.view.index)
        .map(|other| format!(", also in budgets[{}]", other.view.index))
        .unwrap_or_default();
    let mut suggestion = format!("write 1 to replace them one by one{also}, or add the schedule of a freeze");
    if stops_repair {
        reason += NEVER_REPAIRED;
        suggestion += &repaired();
    }
    findings
        .report(
            &BUDGET_BLOCKS_DRIFT,
            worst.view.path("nodes"),
            ErrorType::note(&text.into()),
            reason,
        )
        .suggest(suggestion);
}

/// What never changes without drift. Before 1.0 budgets of 0 stop expiration, too.
fn never_replaced(pool: &NodePool<'_>, findings: &Findings<'_>) -> String {
    let expires = pool.expire_after.present() != Some("Never")
        && findings.context.release.has(KarpenterVersion::V1_STORED);
    let until = if expires { " before they expire" } else { "" };
    format!("drifted nodes are never replaced, so no new image or fix reaches them{until}")
}

const NEVER_REPAIRED: &str =
    "; where Karpenter repairs broken nodes (feature gate NodeRepair), it never repairs one of this pool";

/// Whether budgets without `reasons` also limit the repair of nodes.
fn stops_repair(findings: &Findings<'_>) -> bool {
    findings.context.release.has(KarpenterVersion::UNHEALTHY)
}

/// How to freeze a pool and still have its broken nodes repaired.
fn repaired() -> String {
    let reasons = Reasons::ALL_BUT_REPAIR.written();
    format!("; reasons: {reasons} freezes the pool, too, but lets broken nodes be repaired")
}

/// Reports budgets whose windows leave no minute of the week.
fn check_blocked_together(pool: &NodePool<'_>, budgets: &[ParsedBudget<'_>], findings: &mut Findings<'_>) {
    let Ok(parsed) = Budgets::of_parsed(pool, budgets) else {
        return;
    };
    if !parsed.never_allows(Reason::Drifted) {
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
    let names_none = freezes.clone().any(|budget| budget.view.reasons.is_absent());
    if names_none && stops_repair(findings) && parsed.never_allows(Reason::Unhealthy) {
        reason += NEVER_REPAIRED;
        suggestion += &repaired();
    }
    findings
        .report(&BUDGET_BLOCKS_DRIFT, path(), shown, reason)
        .suggest(suggestion);
}

pub fn path() -> FieldPath {
    Disruption::path("budgets")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::karpenter::ApiVersion;
    use crate::rules::testing::{errors, findings_for, infos, warnings};

    fn budgets(budgets: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
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
    fn an_empty_list_gets_a_warning_but_not_a_missing_one() {
        assert!(warnings(&budgets(&json!([])))[0].ends_with("[budgets-empty]"));
        for fine in [json!(null), json!([{}])] {
            assert_eq!(warnings(&budgets(&fine)), [""; 0]);
        }
    }

    #[test]
    fn only_a_budget_that_always_blocks_drift_is_reported() {
        let noted = |budget: Value| !infos(&budgets(&json!([{"nodes": "5"}, budget]))).is_empty();
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
        let noted = |first: Value, second: Value| infos(&budgets(&json!([{"nodes": "5"}, first, second])));
        let zero = |schedule: &str, duration: &str| json!({"nodes": "0", "schedule": schedule, "duration": duration});
        let infos = noted(zero("0 0 * * mon-fri", "24h"), zero("0 0 * * sat,sun", "24h"));
        assert_eq!(
            infos,
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
        let noted = infos(&budgets(
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
