//! A budget on its own: its `nodes`, its `reasons` and its window.

use std::time::Duration;

use crate::budget::{Budget, Parsed, Reason, Reasons, WrittenWindow};
use crate::diagnostic::{ErrorType, FieldPath, Origin, Severity};
use crate::facts::{ApiVersion, Availability, KarpenterVersion};
use crate::json::Json;
use crate::pool::{Field, NodePool};
use crate::rules::findings::{Findings, UNREADABLE};
use crate::rules::rule::Rule;
use crate::rules::schedules;

pub static BUDGET_NODES: Rule = rule!("budget-nodes", Error, Schema);
pub static BUDGET_REASON: Rule = rule!("budget-reason", Error, Schema);
pub static BUDGET_REASONS_EMPTY: Rule = rule!("budget-reasons-empty", Warning, Silent);
pub static BUDGET_DURATION: Rule = rule!("budget-duration", Error, Schema);
pub static BUDGET_WINDOWS_JOIN: Rule = rule!("budget-windows-join", Warning, Silent);

/// Checks one budget. Returns whether all of it can be read, so that it can be compared with others.
pub fn check(
    pool: &NodePool<'_>,
    budget: &Budget,
    written: Option<&Json<'_>>,
    findings: &mut Findings<'_>,
) -> bool {
    check_nodes(budget, findings);
    check_reasons(pool.version, budget, written, findings);
    let has_times = check_window(budget, findings);
    has_times
        && budget.nodes().is_some()
        && matches!(budget.reasons, Field::Absent | Field::Present(_))
        && !budget.has_unknown_field
}

fn check_nodes(budget: &Budget, findings: &mut Findings<'_>) {
    if let Some(nodes) = budget.nodes.as_ref().present()
        && let Err(error) = &nodes.value
    {
        let path = budget.path("nodes");
        findings
            .report_text(
                &BUDGET_NODES,
                path,
                &nodes.text,
                Origin::Silent,
                error.to_string(),
            )
            .suggest_if_known(error.suggestion.clone());
    }
}

/// The path of a reason.
const REASON: &str = "spec.disruption.budgets[].reasons[]";

/// Common words for expiration, which is not a reason in any release of v1.
const EXPIRATION: &[&str] = &["expired", "expiration", "expire"];

/// Checks the reasons of a budget as they are written.
fn check_reasons(
    version: ApiVersion,
    budget: &Budget,
    written: Option<&Json<'_>>,
    findings: &mut Findings<'_>,
) {
    let reasons = written.and_then(|budget| budget.get("reasons")?.as_array());
    let is_read = version == ApiVersion::V1 && budget.reasons != Field::Beyond;
    let Some(reasons) = reasons.filter(|_| is_read) else {
        return;
    };
    if reasons.is_empty() {
        findings
            .report(
                &BUDGET_REASONS_EMPTY,
                budget.path("reasons"),
                ErrorType::showing("[]"),
                "an empty list names no reason",
            )
            .consequence("the budget limits nothing")
            .suggest("leave reasons out to limit all of them");
    }
    check_each(budget, reasons, findings);
}

fn check_each(budget: &Budget, reasons: &[Json<'_>], findings: &mut Findings<'_>) {
    let words = findings.context.karpenter.words(REASON, ApiVersion::V1);
    let mut seen = Reasons::NONE;
    for (index, text) in reasons.iter().enumerate() {
        let Some(text) = text.as_str() else { continue };
        let path = || budget.path("reasons").index(index);
        let known = words.knows(text);
        if known != Availability::Yes {
            report_unknown(path(), text, known, words.listed(), findings);
        }
        let Some(reason) = Reason::parse(text) else {
            continue;
        };
        if seen.has(reason) && findings.context.release.has(KarpenterVersion::UNIQUE_REASONS) {
            findings
                .report(&BUDGET_REASON, path(), text, "the reason is already in the list")
                .suggest("remove it");
        }
        seen = seen.with(Reasons::only(reason));
    }
}

fn report_unknown(
    path: FieldPath,
    text: &str,
    known: Availability,
    supported: &'static [&'static str],
    findings: &mut Findings<'_>,
) {
    let is_expiration = EXPIRATION.iter().any(|word| text.eq_ignore_ascii_case(word));
    let reason = match known {
        Availability::Since(release) => format!("{text} requires Karpenter {release} or newer"),
        _ if is_expiration => "no budget limits expiration".into(),
        _ => "Karpenter has no such reason".into(),
    };
    let finding = findings.unsupported(&BUDGET_REASON, path, text, supported, reason);
    if is_expiration {
        finding
            .consequence("Karpenter removes a node as soon as its expireAfter has passed")
            .suggest("remove it");
    }
}

/// Checks when the budget is active. Returns whether it ever is, so that it can be compared with others.
fn check_window(budget: &Budget, findings: &mut Findings<'_>) -> bool {
    check_pair(budget, findings);
    let duration = check_duration(budget, findings);
    let fires = schedules::check(budget, duration, findings);
    if budget.has_no_window() {
        return true;
    }
    let is_sound = fires && duration.is_some();
    if is_sound && budget.is_always_active() {
        let duration = budget.duration.as_ref().present();
        let text = duration.map_or("", |duration| &duration.text);
        let title = "the next window begins no later than this one ends";
        findings
            .report(&BUDGET_WINDOWS_JOIN, budget.path("duration"), text, title)
            .consequence("the budget is always active")
            .suggest("shorten the window, or remove schedule and duration to keep the budget always active")
            .related(budget.path("schedule"));
    }
    is_sound
}

/// Notes the first budget whose windows join in part: the others of a pool are usually like it, and their weeks cost time.
pub fn check_joined(budgets: &[&Budget], findings: &mut Findings<'_>) {
    /// How many budgets are looked at whose fields do not rule it out.
    const LOOKED_AT: usize = 3;
    let windows = budgets
        .iter()
        .filter_map(|budget| Some((budget, budget.windows()?)));
    let mut possible = windows.filter(|(_, windows)| windows.may_join()).take(LOOKED_AT);
    let Some((budget, week)) = possible.find_map(|(budget, windows)| Some((budget, windows.joined()?)))
    else {
        return;
    };
    let duration = budget.duration.as_ref().present();
    let text = duration.map_or("", |duration| &duration.text);
    let finding = findings
        .report(
            &BUDGET_WINDOWS_JOIN,
            budget.path("duration"),
            ErrorType::note(&text.into()),
            "the next window begins before this one ends",
        )
        .severity(Severity::Note)
        .consequence(format!(
            "{} the budget is active without a break",
            week.described()
        ))
        .related(budget.path("schedule"));
    if let [WrittenWindow::Scheduled { schedule, duration }] = week.windows().as_slice() {
        finding.suggest(format!(
            "write schedule: \"{schedule}\", duration: {duration} if that is intended"
        ));
    }
}

fn check_pair(budget: &Budget, findings: &mut Findings<'_>) {
    let Some((missing, beside)) = budget.half_window() else {
        return;
    };
    let suggestion = if missing == "schedule" {
        "add the start of the window, such as schedule: \"0 9 * * mon-fri\""
    } else {
        "add the length of the window, such as duration: 8h"
    };
    let title = format!("a budget with a {beside} requires a {missing}");
    findings
        .report(&BUDGET_DURATION, budget.path(missing), ErrorType::Required, title)
        .suggest(suggestion);
}

/// Returns the duration if it can be read and is not zero.
fn check_duration(budget: &Budget, findings: &mut Findings<'_>) -> Option<Duration> {
    let Parsed { text, value } = budget.duration.as_ref().present()?;
    let path = || budget.path("duration");
    match value.as_ref().map_err(AsRef::as_ref) {
        Ok(duration) if duration.is_zero() => {
            findings
                .report(&BUDGET_DURATION, path(), &**text, "the window has no length")
                .origin(Origin::Silent)
                .consequence("the budget is never active")
                .suggest("write a length such as 30m");
            None
        }
        Ok(duration) => Some(duration.as_duration()),
        Err(error) => {
            let finding = findings
                .report_text(&BUDGET_DURATION, path(), text, Origin::Silent, error.why)
                .suggest_if_known(error.suggestion.clone());
            if finding.origin == Origin::Silent {
                finding.consequence(UNREADABLE);
            }
            None
        }
    }
}
