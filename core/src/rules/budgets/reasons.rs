//! Which disruptions a budget limits: its `reasons`.

use crate::budget::{Budget, Reason, Reasons};
use crate::diagnostic::{ErrorType, FieldPath};
use crate::json::Json;
use crate::karpenter::{ApiVersion, Availability, KarpenterVersion};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The path of a reason.
const REASON: &str = "spec.disruption.budgets[].reasons[]";

/// Common words for expiration, which is not a reason in any release of v1.
const EXPIRATION: &[&str] = &["expired", "expiration", "expire"];

pub static BUDGET_REASON: Rule = rule!("budget-reason", Error, Schema);
pub static BUDGET_REASONS_EMPTY: Rule = rule!("budget-reasons-empty", Warning, Silent);

/// Checks the reasons of a budget as they are written.
pub fn check(version: ApiVersion, budget: &Budget, written: Option<&Json<'_>>, findings: &mut Findings<'_>) {
    let reasons = written.and_then(|budget| budget.get("reasons")?.as_array());
    let Some(reasons) = reasons.filter(|_| version == ApiVersion::V1) else {
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
            .consequence("this budget limits nothing")
            .suggest("leave it out for all reasons");
    }
    let most = findings
        .context
        .karpenter
        .most("spec.disruption.budgets[].reasons", version);
    if let Some(most) = most.filter(|most| reasons.len() > *most) {
        let error_type = ErrorType::TooMany {
            actual: reasons.len(),
        };
        let reason = format!("must have at most {most} items");
        findings
            .report(&BUDGET_REASON, budget.path("reasons"), error_type, reason)
            .suggest("list each reason once");
        return;
    }
    check_each(budget, reasons, findings);
}

fn check_each(budget: &Budget, reasons: &[Json<'_>], findings: &mut Findings<'_>) {
    let karpenter = findings.context.karpenter;
    let mut seen = Reasons::NONE;
    for (index, text) in reasons.iter().enumerate() {
        let Some(text) = text.as_str() else { continue };
        let path = || budget.path("reasons").index(index);
        let known = karpenter.knows(REASON, ApiVersion::V1, text);
        if known != Availability::Yes {
            report_unknown(path(), text, known, findings);
        }
        let Some(reason) = Reason::parse(text) else {
            continue;
        };
        if seen.has(reason) && findings.context.release.has(KarpenterVersion::UNIQUE_REASONS) {
            findings
                .report(&BUDGET_REASON, path(), text, "it is already in the list")
                .suggest("remove it");
        }
        seen = seen.with(Reasons::only(reason));
    }
}

fn report_unknown(path: FieldPath, text: &str, known: Availability, findings: &mut Findings<'_>) {
    let supported = findings.context.karpenter.words(REASON, ApiVersion::V1);
    let is_expiration = EXPIRATION.iter().any(|word| text.eq_ignore_ascii_case(word));
    let reason = match known {
        Availability::Since(release) => format!("{text} needs Karpenter {release} or newer"),
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
