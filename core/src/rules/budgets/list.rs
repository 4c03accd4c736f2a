//! The list of budgets as a whole: whether there are any, and whether one always blocks drift.

use crate::budget::{Budget, Budgets, Reason, Reasons};
use crate::diagnostic::{ErrorType, FieldPath, Severity};
use crate::facts::KarpenterVersion;
use crate::json::Json;
use crate::policy::{FeatureGate, GateState};
use crate::pool::{Disruption, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGETS_COUNT: Rule = rule!("budgets-count", Error, Schema);
pub static BUDGETS_EMPTY: Rule = rule!("budgets-empty", Warning, Silent);
pub static BUDGET_BLOCKS_DRIFT: Rule = rule!("budget-blocks-drift", Note, Silent);

/// Reports a list that is empty.
pub fn check(budgets: &[Json<'_>], findings: &mut Findings<'_>) {
    if budgets.is_empty() {
        findings
            .report(
                &BUDGETS_EMPTY,
                path(),
                ErrorType::showing("[]"),
                "an empty list of budgets limits nothing",
            )
            .consequence("all nodes may be disrupted at the same time")
            .suggest("leave budgets out for the default of 10%, or write nodes: 100% for no limit");
    }
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
    let also = always
        .find(|other| other.index != worst.index)
        .map(|other| format!(" here and in budgets[{}]", other.index))
        .unwrap_or_default();
    let mut consequence = NO_FIX;
    let mut suggestion = format!("write 1{also} or add a schedule");
    if names_none(&worst)
        && let Some(never_repaired) = never_repaired(pool, findings)
    {
        consequence = never_repaired;
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
            never_replaced(pool, findings),
        )
        .consequence(consequence)
        .severity(severity)
        .suggest(suggestion);
}

/// The severity of blocked drift, and of a pool whose other disruption is blocked as well.
fn severity(is_frozen: bool, pool: &NodePool<'_>, findings: &Findings<'_>) -> Severity {
    if is_frozen && !expires(pool, findings) {
        Severity::Warning
    } else {
        Severity::Note
    }
}

/// Whether its nodes expire although a budget of 0 holds. Before 1.0 such a budget stops expiration, too.
fn expires(pool: &NodePool<'_>, findings: &Findings<'_>) -> bool {
    pool.expire_after.present() != Some("Never") && findings.context.release.has(KarpenterVersion::V1_STORED)
}

/// The consequence of blocked drift.
const NO_FIX: &str = "no new image or fix reaches a node";

/// The effect of blocked drift on the nodes.
fn never_replaced(pool: &NodePool<'_>, findings: &Findings<'_>) -> &'static str {
    if expires(pool, findings) {
        "drifted nodes are never replaced before they expire"
    } else {
        "drifted nodes are never replaced"
    }
}

/// The consequence of an always active budget of 0 without `reasons`, which also blocks the repair of broken nodes.
/// `None` if Karpenter repairs none, or ignores budgets when it does.
fn never_repaired(pool: &NodePool<'_>, findings: &Findings<'_>) -> Option<&'static str> {
    if !findings.context.release.has(KarpenterVersion::UNHEALTHY) {
        return None;
    }
    let cluster = &findings.context.policy.cluster;
    match cluster.gate(FeatureGate::NodeRepair, pool.template.settings()) {
        GateState::Off | GateState::Fixed => None,
        GateState::On => Some("no new image, fix or repair reaches a node"),
        GateState::Unknown => Some("no image, fix or repair (NodeRepair) reaches a node"),
    }
}

/// How to freeze a pool and still have its broken nodes repaired.
fn repaired() -> String {
    let reasons = Reasons::ALL_BUT_REPAIR.written();
    format!(". Keep repair with reasons: {reasons}")
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
    let shown = ErrorType::Note { value: None };
    let title = "the budgets of 0 nodes together cover the whole week";
    let mut consequence = NO_FIX;
    let mut suggestion = String::from("leave some hours open");
    let freezes = budgets.iter().filter(|budget| budget.is_zero());
    let names_none = freezes.clone().any(|budget| budget.reasons.is_absent());
    if names_none
        && budgets.never_allows(Reason::Unhealthy)
        && let Some(never_repaired) = never_repaired(pool, findings)
    {
        consequence = never_repaired;
        suggestion += &repaired();
    }
    let until = if expires(pool, findings) {
        " before it expires"
    } else {
        ""
    };
    let is_frozen = happening.iter().all(|reason| budgets.never_allows(reason));
    let severity = severity(is_frozen, pool, findings);
    findings
        .report(&BUDGET_BLOCKS_DRIFT, path(), shown, title)
        .consequence(format!("{consequence}{until}"))
        .severity(severity)
        .suggest(suggestion);
}

pub fn path() -> FieldPath {
    Disruption::path("budgets")
}
