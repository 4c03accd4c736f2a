//! Bounds on `spec.disruption.budgets`, and the times at which the policy forbids all disruption.

use crate::budget::{Budget, Budgets, Reasons, Windows};
use crate::diagnostic::ErrorType;
use crate::facts::{ApiVersion, KarpenterVersion};
use crate::policy::{BudgetBounds, FreezeWindow};
use crate::pool::door::BUDGETS;
use crate::pool::{Disruption, Field, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::nodes::BudgetNodes;

pub static BUDGET_PERCENT: Rule = rule!("policy-budget-percent", Error, Poolgate);
pub static BUDGET_NODES: Rule = rule!("policy-budget-nodes", Error, Poolgate);
pub static BUDGET_COUNT: Rule = rule!("policy-budget-count", Error, Poolgate);
pub static BUDGET_ALWAYS: Rule = rule!("policy-budget-always", Error, Poolgate);
pub static FREEZE_WINDOW: Rule = rule!("policy-freeze-window", Error, Poolgate);

pub fn check(pool: &NodePool<'_>, budgets: &Budgets, bounds: &BudgetBounds, findings: &mut Findings<'_>) {
    for budget in budgets {
        check_nodes(pool, budget, bounds, findings);
    }
    let mut beyond = pool.beyond.iter();
    let unread = beyond.find(|beyond| beyond.entries.path == BUDGETS.path);
    if unread.is_some() {
        check_unread(bounds, findings);
    }
    let actual = unread.map_or(budgets.len(), |unread| unread.actual);
    if let Some(most) = bounds.max_budgets.filter(|most| actual > *most) {
        let error_type = ErrorType::TooMany { actual };
        let title = format!("the policy allows at most {most} budgets");
        findings
            .report(&BUDGET_COUNT, Disruption::path("budgets"), error_type, title)
            .suggest("remove budgets that are never the lowest");
    }
    if bounds.require_always
        && !reasons(findings)
            .iter()
            .all(|reason| budgets.always_limit(reason))
    {
        let title = "the policy requires an active budget for every reason at all times";
        findings
            .report(
                &BUDGET_ALWAYS,
                Disruption::path("budgets"),
                ErrorType::Required,
                title,
            )
            .consequence("Karpenter may disrupt all nodes at the same time while no budget is active")
            .suggest("add a budget with only nodes, such as nodes: 10%");
    }
    check_freezes(pool, budgets, &bounds.freeze_windows, findings);
}

/// The reasons for which Karpenter asks the budgets.
fn reasons(findings: &Findings<'_>) -> Reasons {
    if findings.context.release.has(KarpenterVersion::UNHEALTHY) {
        Reasons::ALL
    } else {
        Reasons::ALL_BUT_REPAIR
    }
}

/// Reports the bounds on each budget of a list that is too long to be read: nothing shows that it keeps them.
fn check_unread(bounds: &BudgetBounds, findings: &mut Findings<'_>) {
    let percent = bounds
        .max_percent
        .map(|most| (&BUDGET_PERCENT, format!("{most}%")));
    let nodes = bounds
        .max_nodes
        .map(|most| (&BUDGET_NODES, format!("{most} nodes")));
    for (rule, most) in percent.into_iter().chain(nodes) {
        findings
            .report(
                rule,
                Disruption::path("budgets"),
                ErrorType::showing("[…]"),
                format!("the policy allows at most {most}, and the list is too long to be read"),
            )
            .suggest("remove budgets");
    }
}

fn check_nodes(pool: &NodePool<'_>, budget: &Budget, bounds: &BudgetBounds, findings: &mut Findings<'_>) {
    let nodes = match budget.nodes {
        Field::Mistyped | Field::Beyond => None,
        Field::Absent | Field::Present(_) => budget.nodes(),
    };
    let (rule, bound, suggestion) = match (nodes, bounds.max_percent, bounds.max_nodes) {
        (Some(BudgetNodes::Percent(percent)), Some(most), _) if percent > most => (
            &BUDGET_PERCENT,
            format!("the policy allows at most {most}%"),
            format!("write {most}% or less"),
        ),
        (Some(BudgetNodes::Count(count)), _, Some(most)) if count > most => (
            &BUDGET_NODES,
            format!("the policy allows at most {most} nodes at the same time"),
            format!("write \"{most}\" or less"),
        ),
        _ => return,
    };
    let written = budget.nodes.as_ref().present();
    let written = written.filter(|_| pool.is_written(&budget.path("nodes")));
    let error_type = written.map_or(ErrorType::Required, |written| ErrorType::from(&*written.text));
    let finding = findings
        .report(rule, budget.path("nodes"), error_type, bound)
        .suggest(suggestion);
    if written.is_none() {
        finding.consequence("without nodes, Karpenter's CRD writes 10%");
    }
}

/// Checks that budgets of 0 cover the times in which the policy forbids all disruption.
fn check_freezes(
    pool: &NodePool<'_>,
    budgets: &Budgets,
    windows: &[FreezeWindow],
    findings: &mut Findings<'_>,
) {
    if windows.is_empty() {
        return;
    }
    for window in windows {
        let wanted = Windows::new(window.schedule.value, window.duration.value.as_duration());
        let is_frozen = |reason| {
            let mut freezes = budgets
                .iter()
                .filter(|budget| budget.is_zero() && budget.has(reason));
            let covers = |freeze: &Budget| match freeze.windows() {
                Some(windows) => windows.cover(&wanted),
                None => freeze.is_always_active(),
            };
            let together = freezes.clone().filter_map(Budget::windows);
            freezes.any(covers) || Windows::cover_together(together, &wanted)
        };
        // The repair of a broken node may go on.
        if Reasons::ALL_BUT_REPAIR.iter().all(is_frozen) {
            continue;
        }
        let (schedule, duration) = (&window.schedule.text, &window.duration.text);
        let title = format!("the policy forbids disruption for {duration} from `{schedule}` (UTC)");
        let reasons = match pool.version {
            ApiVersion::V1 => format!("reasons: {}, ", Reasons::ALL_BUT_REPAIR.written()),
            ApiVersion::V1Beta1 => String::new(),
        };
        let (consequence, suggestion) = if budgets.are_written() {
            let budget = format!("nodes: \"0\", {reasons}schedule: \"{schedule}\" and duration: {duration}");
            (
                "no budget blocks disruption then",
                format!("add a budget with {budget}"),
            )
        } else {
            (
                "the CRD's default budget does not block disruption then",
                "write the policy's budgets (poolgate default --write), or patch the CRD with them"
                    .to_owned(),
            )
        };
        findings
            .report(
                &FREEZE_WINDOW,
                Disruption::path("budgets"),
                ErrorType::Required,
                title,
            )
            .consequence(consequence)
            .suggest(suggestion);
    }
}
