//! Labels that the provider of the pool does not know.

use super::Scope;
use crate::diagnostic::{Origin, Severity, Suggestion};
use crate::karpenter::{LabelKind, Provider, likely_label};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_LABEL_MISSPELT: Rule = rule!("requirement-label-misspelt", Error, Runtime);
pub static REQUIREMENT_LABEL_UNKNOWN: Rule = rule!("requirement-label-unknown", Warning, Runtime);
pub static REQUIREMENT_LABEL_FOREIGN: Rule = rule!("requirement-label-foreign", Warning, Silent);

/// Returns whether the provider may accept the label; reports a label that the provider does not know.
pub fn check(
    index: usize,
    key: &str,
    kind: &LabelKind<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> bool {
    let own = scope.group.and_then(Provider::of_group);
    let (rule, origin, reason, suggestion) = match kind {
        LabelKind::Unknown {
            domain,
            likely: Some(likely),
        } => (
            &REQUIREMENT_LABEL_MISSPELT,
            Origin::Runtime,
            format!("{domain} is the provider's domain, and it has no such label"),
            Suggestion::did_you_mean(likely),
        ),
        LabelKind::Unknown { domain, .. } => (
            &REQUIREMENT_LABEL_UNKNOWN,
            Origin::Runtime,
            format!("poolgate knows no such label in the provider's domain {domain}"),
            "if there is one, name it under labels.wellKnown in the policy".into(),
        ),
        LabelKind::Foreign(owner) => (
            &REQUIREMENT_LABEL_FOREIGN,
            Origin::Silent,
            format!(
                "it is a label of {}, and not of this pool's provider, so it selects nothing",
                owner.name
            ),
            likely_label(key, own).map_or_else(|| "remove it".into(), Suggestion::did_you_mean),
        ),
        LabelKind::Custom => match likely_label(key, None) {
            Some(likely) => (
                &REQUIREMENT_LABEL_UNKNOWN,
                Origin::Silent,
                "no instance type has this label, so it selects nothing".into(),
                Suggestion::did_you_mean(likely),
            ),
            None => return true,
        },
        LabelKind::WellKnown(_) | LabelKind::Unlisted => return true,
    };
    findings
        .report(rule, Scope::field(index, "key"), key, reason)
        .origin(origin)
        .suggest(suggestion);
    rule.severity != Severity::Error
}
