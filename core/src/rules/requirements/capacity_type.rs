//! The values of `karpenter.sh/capacity-type`.

use super::{Entry, Scope, min_values, so_others};
use crate::diagnostic::{ErrorType, Origin};
use crate::karpenter::{CAPACITY_TYPE_LABEL, KarpenterVersion, Operator, Selection};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static CAPACITY_TYPE: Rule = rule!("capacity-type", Error, Runtime);
pub static CAPACITY_TYPE_UNKNOWN: Rule = rule!("capacity-type-unknown", Warning, Silent);

/// Returns whether enough capacity types are left.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let is_list = entry.operator == Operator::In;
    let counts = matches!(entry.operator, Operator::In | Operator::NotIn | Operator::Exists);
    if entry.key != CAPACITY_TYPE_LABEL || !counts {
        return true;
    }
    let known = scope.capacity_types();
    let allowed = Selection::new(entry.operator, &entry.values);
    let good = known.iter().filter(|word| allowed.has(word)).count();
    let least = entry
        .min_values
        .map_or(1, |least| usize::try_from(least).unwrap_or(1));
    let is_dead = good < least;
    // Karpenter's own check counts a repeated value again, its scheduler does not.
    let listed = entry.values.iter().filter(|value| known.contains(value)).count();
    // The check of `minValues` reports it if only repetitions make up the number.
    let is_filled_up = || is_list && listed >= least && min_values::distinct(entry) < least;
    // Karpenter's own check reads only the requirements, not the labels of the template.
    let is_checked = entry.label.is_none()
        && scope
            .context
            .release
            .has(KarpenterVersion::CAPACITY_TYPES_CHECKED);
    let origin = if is_checked && listed < least {
        Origin::Runtime
    } else {
        Origin::Silent
    };
    if good == 0 && !is_list {
        let reason = "this excludes every capacity type, so no node is ever launched";
        findings
            .report(
                &CAPACITY_TYPE,
                Scope::field(entry.index, "values"),
                ErrorType::showing("[…]"),
                reason,
            )
            .origin(Origin::Silent)
            .suggest("leave out the one that you want");
    } else if is_dead && good > 0 && !is_filled_up() {
        let error_type = ErrorType::showing(least.to_string());
        let (reason, origin, suggestion) = if is_list {
            let reason = format!("only {good} of the listed capacity types exist");
            (reason, origin, "lower it, or name capacity types that exist")
        } else {
            let reason = format!("there are only {good} capacity types that this allows");
            (reason, Origin::Silent, "lower it")
        };
        findings
            .report(
                &CAPACITY_TYPE,
                Scope::field(entry.index, "minValues"),
                error_type,
                reason,
            )
            .origin(origin)
            .suggest(suggestion);
    }
    let (rule, origin) = if is_list && good == 0 {
        (&CAPACITY_TYPE, origin)
    } else {
        (&CAPACITY_TYPE_UNKNOWN, Origin::Silent)
    };
    let values = entry.values.iter().copied().enumerate();
    let mut unknown = values.filter(|(_, value)| !known.contains(value));
    if let Some((position, value)) = unknown.next() {
        let reason = if value == "reserved" {
            "it needs Karpenter 1.3 or newer"
        } else {
            "there is no such capacity type"
        };
        let reason = format!("{reason}{}", so_others(unknown.map(|(_, value)| value)));
        findings
            .unsupported(rule, entry.value_path(position), value, known, reason)
            .origin(origin);
    }
    !is_dead
}
