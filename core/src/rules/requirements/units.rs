//! Labels that count MiB, with numbers that were probably meant as GiB.

use super::{Entry, Scope};
use crate::diagnostic::{ErrorType, Severity, Suggestion, quoted};
use crate::karpenter::{Label, LabelKind, LabelValues, Operator, Unit, integer};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

const MIB_PER_GIB: i64 = 1024;

pub static REQUIREMENT_UNIT: Rule = rule!("requirement-unit", Warning, Silent);

/// Warns of numbers below that of the smallest instance type: they leave none, or exclude none.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let Some((label, smallest)) = measured(entry, scope) else {
        return;
    };
    let most = match entry.operator {
        // It is itself excluded.
        Operator::Lt => smallest,
        Operator::In | Operator::Lte | Operator::Gt | Operator::Gte => smallest - 1,
        Operator::NotIn | Operator::Exists | Operator::DoesNotExist => return,
    };
    // 0 is the same in every unit, and an own rule is about bounds that leave no number at all.
    let is_small = |value: &&str| integer(value).is_some_and(|number| (1..=most).contains(&number));
    let Some(value) = entry.values.first().filter(|_| entry.values.iter().all(is_small)) else {
        return;
    };
    let excludes_nothing = matches!(entry.operator, Operator::Gt | Operator::Gte);
    // Types without the label are excluded by any bound.
    if excludes_nothing && label.everywhere.is_none() {
        return;
    }
    let (shown, effect) = if excludes_nothing {
        let value = quoted(value);
        (ErrorType::Note { value }, "this excludes nothing")
    } else {
        (ErrorType::from(*value), "nothing satisfies it")
    };
    let reason =
        format!("this label counts MiB, and the smallest instance types have {smallest}, so {effect}");
    // Below 1 means none at all, whatever the unit.
    let in_gib = integer(value).filter(|number| *number > 1 || excludes_nothing);
    let likely = in_gib.and_then(|number| number.checked_mul(MIB_PER_GIB));
    let finding = findings.report(&REQUIREMENT_UNIT, entry.value_path(0), shown, reason);
    finding
        .suggest_if_known(likely.map(|mib| Suggestion::did_you_mean(format!("{mib}, which is {value} GiB"))));
    if excludes_nothing {
        finding.severity(Severity::Info);
    }
}

/// The label of an entry and its smallest number, if it counts MiB.
fn measured(entry: &Entry<'_>, scope: &Scope<'_>) -> Option<(&'static Label, i64)> {
    if entry.kind != LabelKind::WellKnown(LabelValues::Number) || entry.values.is_empty() {
        return None;
    }
    let label = scope.provider?.label(entry.key)?;
    let smallest = label.smallest.filter(|_| label.unit == Some(Unit::MiB))?;
    Some((label, smallest))
}
