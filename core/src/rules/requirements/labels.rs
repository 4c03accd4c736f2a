//! The label that a requirement is about: whether Karpenter lets a requirement use it, and whether instance types have it.

use super::demand::At;
use super::scope::Scope;
use crate::diagnostic::Suggestion;
use crate::facts::{LabelKind, likely_label};
use crate::rules::findings::Findings;
use crate::rules::label_verdict::{LabelVerdict, Place};
use crate::rules::node_class::WrongClass;
use crate::rules::rule::Rule;

pub static REQUIREMENT_KEY_RESTRICTED: Rule = rule!("requirement-key-restricted", Error, Schema);
pub static REQUIREMENT_LABEL_UNKNOWN: Rule = rule!("requirement-label-unknown", Warning, Silent);

/// The kind of a label; `None` if Karpenter certainly rejects requirements on it, which is reported.
pub fn kind(key: &str, at: At<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> Option<LabelKind> {
    let path = || at.field("key");
    let LabelVerdict { kind, refusal } = scope.labels.verdict(key, Place::RequirementKeys);
    if let Some(refusal) = refusal {
        let is_certain = refusal.is_certain;
        let rules = [&REQUIREMENT_KEY_RESTRICTED, &REQUIREMENT_LABEL_UNKNOWN];
        refusal.report(rules, path(), key, findings);
        return (!is_certain).then_some(kind);
    }
    match &kind {
        LabelKind::Foreign(owner) => {
            let title = format!("only {} has this label", owner.name);
            let likely = likely_label(key, scope.labels.provider);
            let help = match WrongClass::of(owner, scope.labels.group, scope.context.policy) {
                // The class is reported instead.
                Some(WrongClass::Declared) => return Some(kind),
                Some(WrongClass::Possible) => {
                    likely.map(|likely| format!("use a NodeClass of {}, or {likely}", owner.group).into())
                }
                None => likely.map(Suggestion::did_you_mean),
            };
            findings
                .report(&REQUIREMENT_LABEL_UNKNOWN, path(), key, title)
                .consequence("the label selects nothing")
                .suggest(help.unwrap_or_else(|| "remove it".into()));
        }
        LabelKind::Custom => {
            if let Some(likely) = likely_label(key, None) {
                findings
                    .report(
                        &REQUIREMENT_LABEL_UNKNOWN,
                        path(),
                        key,
                        "no instance type has this label",
                    )
                    .consequence("the label selects nothing")
                    .suggest(Suggestion::did_you_mean(likely));
            }
        }
        LabelKind::WellKnown(_) | LabelKind::Unlisted | LabelKind::Unknown { .. } => {}
    }
    Some(kind)
}
