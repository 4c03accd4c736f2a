//! The label that a requirement is about: whether Karpenter lets a requirement use it, and whether instance types have it.

use super::demand::At;
use super::scope::Scope;
use crate::diagnostic::{Origin, Suggestion};
use crate::karpenter::{LabelKind, likely_label};
use crate::rules::defined_labels::Verdict;
use crate::rules::findings::Findings;
use crate::rules::node_class::AutoMode;
use crate::rules::reserved_labels::Reserved;
use crate::rules::rule::Rule;

pub static REQUIREMENT_KEY_RESTRICTED: Rule = rule!("requirement-key-restricted", Error, Schema);
pub static REQUIREMENT_LABEL_UNKNOWN: Rule = rule!("requirement-label-unknown", Warning, Silent);

/// The kind of a label; `None` if Karpenter certainly rejects requirements on it, which is reported.
pub fn kind(key: &str, at: At<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> Option<LabelKind> {
    let path = || at.field("key");
    if let Some(reserved) = reserved(key, scope) {
        let likely = likely_label(key, scope.provider).filter(|likely| !is_rejected(likely, scope));
        let help = likely.map_or_else(|| "remove it".into(), Suggestion::did_you_mean);
        let finding = findings.report(&REQUIREMENT_KEY_RESTRICTED, path(), key, reserved.title());
        finding.consequence = reserved.exception().map(Into::into);
        finding.suggest(help);
        return None;
    }
    let kind = scope.context.labels.kind_of(key, scope.group);
    match (scope.defined.verdict(key, &kind), &kind) {
        (Verdict::Rejected(rejection), kind) => {
            let is_certain = rejection.is_certain;
            let elsewhere =
                || likely_label(key, scope.provider).filter(|_| matches!(kind, LabelKind::Foreign(_)));
            let likely = kind.likely().map(str::to_owned).or_else(elsewhere);
            let likely = likely.map(Suggestion::did_you_mean);
            let help = likely.unwrap_or_else(|| "remove it, or use a domain of your own".into());
            let rules = [&REQUIREMENT_KEY_RESTRICTED, &REQUIREMENT_LABEL_UNKNOWN];
            rejection.report(rules, path(), key, help, findings);
            if is_certain {
                return None;
            }
        }
        (Verdict::Unknown, LabelKind::Unknown { likely: Some(likely) }) => {
            findings
                .report(
                    &REQUIREMENT_KEY_RESTRICTED,
                    path(),
                    key,
                    "the provider has no such label in its domain",
                )
                .origin(Origin::Runtime)
                .consequence("the NodePool never becomes Ready and launches nothing")
                .suggest(Suggestion::did_you_mean(likely));
            return None;
        }
        (Verdict::Unknown, LabelKind::Unknown { likely: None }) => {
            findings
                .report(
                    &REQUIREMENT_LABEL_UNKNOWN,
                    path(),
                    key,
                    "poolgate knows no such label in the provider's domain",
                )
                .origin(Origin::Runtime)
                .consequence("the NodePool never becomes Ready unless the provider has the label")
                .suggest("add it to labels.wellKnown in the policy if it exists");
        }
        (_, LabelKind::Foreign(owner)) => {
            let title = format!("only {} has this label", owner.name);
            let likely = likely_label(key, scope.provider);
            let help = match AutoMode::of(owner, scope.group, scope.context.policy) {
                // The class is reported instead.
                Some(AutoMode::Declared) => return Some(kind),
                Some(AutoMode::Possible) => {
                    likely.map(|likely| format!("use a NodeClass of {}, or {likely}", owner.group).into())
                }
                None => likely.map(Suggestion::did_you_mean),
            };
            findings
                .report(&REQUIREMENT_LABEL_UNKNOWN, path(), key, title)
                .consequence("the label selects nothing")
                .suggest(help.unwrap_or_else(|| "remove it".into()));
        }
        (_, LabelKind::Custom) => {
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
        (_, LabelKind::WellKnown(_) | LabelKind::Unlisted | LabelKind::Unknown { .. }) => {}
    }
    Some(kind)
}

/// Whether the definition rejects requirements on a label.
pub fn is_rejected(key: &str, scope: &Scope<'_>) -> bool {
    reserved(key, scope).is_some() || scope.defined.rejects(key)
}

/// Why Karpenter lets no requirement use a label; `None` if it does.
fn reserved(key: &str, scope: &Scope<'_>) -> Option<Reserved> {
    Reserved::lookup(key, scope.template.version, scope.context.release)
}
