//! Hours and reasons for which no budget holds, where nothing limits disruption.

use super::list;
use super::reading::{Reading, Reasons, Window};
use crate::diagnostic::{Diagnostic, Problem, RuleId, Severity, quoted};
use crate::karpenter::{Disruption, NodePool};
use crate::rule::{Origin, Rule};
use crate::rules::findings::Findings;
use crate::value::cron::WeekMinutes;

pub(in crate::rules) static BUDGET_ALLOW_WINDOW: Rule = Rule {
    id: RuleId::new("budget-allow-window"),
    title: "A window that lets nodes go has a budget around it",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "Budgets only restrict. A budget of 10% with a schedule does not allow disruption in its window, it limits \
          it there; outside of it nothing limits at all, and every node may go at once. To let nodes go in some \
          hours only, block the others: a budget of 0 whose schedule and duration cover them.",
    seen_in: &["1939", "2183", "aws/karpenter-provider-aws#7026", "2374"],
    bad: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
        schedule: 0 2 * * *
        duration: 4h
",
    good: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: \"0\"
        schedule: 0 6 * * *
        duration: 20h
",
};

pub(in crate::rules) static BUDGET_UNCOVERED_HOURS: Rule = Rule {
    id: RuleId::new("budget-uncovered-hours"),
    title: "Some budget holds at every hour",
    severity: Severity::Info,
    origin: Origin::Silent,
    why: "The default of 10% holds only where no budget is written. Where the only budgets are freezes with a \
          schedule, nothing limits disruption outside of them, and every node may go at once.",
    seen_in: &["aws/karpenter-provider-aws#7026", "1190"],
    bad: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: \"0\"
        schedule: 0 9 * * mon-fri
        duration: 8h
",
    good: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: \"0\"
        schedule: 0 9 * * mon-fri
        duration: 8h
",
};

pub(in crate::rules) static BUDGET_UNCOVERED_REASON: Rule = Rule {
    id: RuleId::new("budget-uncovered-reason"),
    title: "Some budget is for drift, and for consolidation where it is on",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "The default of 10% holds only where no budget is written. If all budgets name reasons and none names \
          `Drifted`, a new image may replace every node of the pool at once; the same holds for `Underutilized`, \
          unless consolidation is off or for empty nodes only.",
    seen_in: &["aws/karpenter-provider-aws#7026", "2183"],
    bad: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: \"1\"
        reasons: [Underutilized, Empty]
",
    good: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: \"1\"
        reasons: [Underutilized, Empty]
      - nodes: 10%
        reasons: [Drifted]
",
};

/// Speaks of what no budget covers. All budgets of the pool must be readable.
pub(super) fn check(
    pool: &NodePool<'_>,
    disruption: &Disruption<'_>,
    readings: &[Reading<'_>],
    findings: &mut Findings<'_>,
) {
    // An empty list of budgets, or of reasons, has a rule of its own.
    if readings.is_empty() || readings.iter().any(|reading| reading.reasons == Reasons::NONE) {
        return;
    }
    check_reasons(pool, disruption, readings, findings);
    check_hours(readings, findings);
}

/// Reasons that no budget names, of those that replace nodes. Empty nodes may go at once without harm.
fn check_reasons(
    pool: &NodePool<'_>,
    disruption: &Disruption<'_>,
    readings: &[Reading<'_>],
    findings: &mut Findings<'_>,
) {
    let consolidates = pool.replicas.is_absent()
        && disruption.consolidation_policy.present() != Some("WhenEmpty")
        && disruption.consolidate_after.present() != Some("Never");
    let reasons = [
        (Reasons::DRIFTED, "Drifted", true),
        (Reasons::UNDERUTILIZED, "Underutilized", consolidates),
    ];
    let uncovered = |reason| !readings.iter().any(|reading| reading.reasons.has(reason));
    let names: Vec<_> = reasons
        .iter()
        .filter(|(reason, _, happens)| *happens && uncovered(*reason))
        .map(|(_, name, _)| *name)
        .collect();
    if names.is_empty() {
        return;
    }
    let reason = format!(
        "no budget is for {}, so all nodes of the pool may go at once for it",
        names.join(" or ")
    );
    findings.push(
        BUDGET_UNCOVERED_REASON
            .finding(
                list::path(),
                Problem::Invalid {
                    value: "[…]".into()
                },
                reason,
            )
            .mend("add one for it, or one without reasons, such as nodes: 10%"),
    );
}

/// Windows around which some hour is without any budget for their reasons.
fn check_hours(readings: &[Reading<'_>], findings: &mut Findings<'_>) {
    let in_gap = Reasons::EACH
        .iter()
        .filter(|(reason, _)| leaves_gap(*reason, readings))
        .fold(Reasons::NONE, |reasons, (reason, _)| reasons.with(*reason));
    let mut windows = readings.iter().filter(|reading| {
        !reading.is_always_active()
            && Reasons::EACH
                .iter()
                .any(|(each, _)| reading.reasons.has(*each) && in_gap.has(*each))
    });
    let opening: Vec<_> = windows
        .clone()
        .filter(|reading| !reading.nodes.is_zero())
        .collect();
    for reading in &opening {
        findings.push(allow_window(reading));
    }
    if let Some(freeze) = windows.next().filter(|_| opening.is_empty()) {
        findings.push(uncovered_hours(freeze));
    }
}

/// Whether there surely is a time at which no budget for this reason holds, though some have windows.
fn leaves_gap(reason: Reasons, readings: &[Reading<'_>]) -> bool {
    let mut covered = WeekMinutes::NONE;
    let (mut weekly, mut others) = (0, 0);
    for reading in readings.iter().filter(|reading| reading.reasons.has(reason)) {
        let Window::Sometimes { schedule, duration } = reading.window else {
            return false;
        };
        match schedule.week(duration) {
            Some(week) => {
                covered.add(&week);
                weekly += 1;
            }
            None => others += 1,
        }
    }
    match (weekly, others) {
        (0, 0) => false,
        (_, 0) => !covered.is_whole_week(),
        // Alone it would be always active if it left no gap. With others it may fit into theirs.
        (0, 1) => true,
        _ => false,
    }
}

fn allow_window(reading: &Reading<'_>) -> Diagnostic {
    let text = reading.budget.schedule.present().unwrap_or_default();
    BUDGET_ALLOW_WINDOW
        .finding(
            reading.budget.path("schedule"),
            Problem::Invalid { value: quoted(text) },
            "budgets only restrict: outside their windows nothing does, and all nodes may go at once",
        )
        .mend("add a budget without schedule, or one of 0 for the hours in which no node may go")
        .related(reading.budget.path("nodes"))
}

fn uncovered_hours(reading: &Reading<'_>) -> Diagnostic {
    let text = reading.budget.schedule.present().unwrap_or_default();
    BUDGET_UNCOVERED_HOURS
        .finding(
            reading.budget.path("schedule"),
            Problem::Invalid { value: quoted(text) },
            "outside this freeze no budget holds, and all nodes may go at once",
        )
        .mend("add a budget without schedule, such as nodes: 10%")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::{infos, warnings};

    fn pool(budgets: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
    }

    fn window(nodes: &str, schedule: &str, duration: &str) -> Value {
        json!({"nodes": nodes, "schedule": schedule, "duration": duration})
    }

    fn warned_of(rule: &str, budgets: &Value) -> usize {
        let warned = warnings(&pool(budgets));
        warned.iter().filter(|warning| warning.ends_with(rule)).count()
    }

    #[test]
    fn a_window_meant_to_allow_is_warned_of() {
        for budgets in [
            json!([window("10%", "0 2 * * *", "4h")]),
            json!([window("10%", "@monthly", "4h")]),
            json!([window("0", "0 9 * * *", "8h"), window("20%", "0 17 * * *", "15h")]),
            json!([{"nodes": "5", "reasons": ["Empty"]}, window("10%", "0 2 * * *", "4h")]),
        ] {
            assert_eq!(warned_of("[budget-allow-window]", &budgets), 1, "{budgets}");
        }
    }

    #[test]
    fn windows_with_a_budget_around_them_are_fine() {
        for budgets in [
            json!([{"nodes": "20%"}, window("10%", "0 2 * * *", "4h")]),
            json!([window("0", "0 9 * * *", "8h"), window("20%", "0 17 * * *", "16h")]),
            json!([
                window("0", "0 0 * * 1-5", "24h"),
                window("20%", "0 0 * * 0,6", "24h")
            ]),
            json!([
                window("1", "0 0 * 1-6 *", "24h"),
                window("2", "0 0 * 7-12 *", "24h")
            ]),
            json!([window("10%", "@daily", "24h")]),
        ] {
            assert_eq!(warned_of("[budget-allow-window]", &budgets), 0, "{budgets}");
        }
    }

    #[test]
    fn a_freeze_alone_is_noted_but_not_warned_of() {
        let freeze = pool(&json!([window("0", "0 8 * * *", "20h")]));
        assert_eq!(warnings(&freeze), [""; 0]);
        assert!(infos(&freeze)[0].ends_with("[budget-uncovered-hours]"));
        let inside = pool(&json!([{"nodes": "1"}, window("0", "0 8 * * *", "20h")]));
        assert_eq!(infos(&inside), [""; 0]);
    }

    #[test]
    fn a_reason_without_any_budget_is_warned_of_unless_it_does_not_happen() {
        let empty_only = json!([{"nodes": "1", "reasons": ["Empty"]}]);
        let warned = warnings(&pool(&empty_only));
        assert!(
            warned[0].contains("no budget is for Drifted or Underutilized, so"),
            "{warned:?}"
        );
        let mut when_empty = pool(&json!([{"nodes": "1", "reasons": ["Empty", "Drifted"]}]));
        assert_eq!(warnings(&when_empty).len(), 1);
        when_empty["spec"]["disruption"]["consolidationPolicy"] = json!("WhenEmpty");
        assert_eq!(warnings(&when_empty), [""; 0]);
        let all_but_empty = json!([{"nodes": "1", "reasons": ["Underutilized", "Drifted"]}]);
        assert_eq!(warned_of("[budget-uncovered-reason]", &all_but_empty), 0);
    }
}
