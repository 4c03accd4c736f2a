//! `minValues`: how many different values the instance types for one node must offer.

use super::{Entry, Scope};
use crate::diagnostic::{FieldPath, Origin};
use crate::json::FewMap;
use crate::karpenter::{Field, KarpenterVersion, Operator, Requirement, whole_number};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The largest number that the CRD accepts.
const LARGEST: i64 = 50;

pub static REQUIREMENT_MIN_VALUES: Rule = rule!("requirement-min-values", Error, Schema);
pub static REQUIREMENT_MIN_VALUES_DISTINCT: Rule = rule!("requirement-min-values-distinct", Error, Silent);
pub static REQUIREMENT_MIN_VALUES_CUSTOM: Rule = rule!("requirement-min-values-custom", Warning, Silent);

/// Checks the number by itself, even if the rest of its requirement is wrong. `None` if it is missing or wrong.
pub fn check_range(
    requirement: &Requirement<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<i64> {
    let Field::Present(number) = requirement.min_values else {
        return None;
    };
    // A fraction has the wrong type, which the type check reports.
    let least = whole_number(number)?;
    let path = || path(requirement.index, scope);
    if !scope.context.release.has(KarpenterVersion::MIN_VALUES) {
        let reason = "needs Karpenter 0.35 or newer; before that the API server drops it";
        findings
            .report(&REQUIREMENT_MIN_VALUES, path(), least, reason)
            .origin(Origin::Silent)
            .suggest("remove it");
    } else if (1..=LARGEST).contains(&least) {
        return Some(least);
    } else {
        let reason = format!("must be from 1 to {LARGEST}");
        findings.report(&REQUIREMENT_MIN_VALUES, path(), least, reason);
    }
    None
}

/// Compares the number with how many values the requirement lists, valid or not. Returns it if there are enough.
pub fn check_count(
    least: i64,
    requirement: &Requirement<'_>,
    operator: Operator,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<i64> {
    let listed = requirement.values.present().map_or(0, <[_]>::len);
    // The check of the values reports an empty list.
    if operator != Operator::In || listed == 0 || !is_more_than(least, listed) {
        return Some(least);
    }
    let reason = format!("operator In lists only {listed} values");
    findings
        .report(
            &REQUIREMENT_MIN_VALUES,
            path(requirement.index, scope),
            least,
            reason,
        )
        .suggest("list more values, or lower it");
    None
}

/// Checks the number as the scheduler reads it; returns whether it can be satisfied.
pub fn check_kind(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(least) = entry.min_values else {
        return true;
    };
    let path = || path(entry.index, scope);
    if entry.kind.is_custom() {
        let reason = format!(
            "no instance type has {}, so there are never enough values and the pool never launches a node",
            entry.key
        );
        findings
            .report(&REQUIREMENT_MIN_VALUES_CUSTOM, path(), least, reason)
            .suggest("remove it");
        return false;
    }
    if entry.operator == Operator::In {
        let distinct = distinct(entry);
        if is_more_than(least, distinct) {
            let reason = format!("the scheduler counts distinct values, of which there are {distinct}");
            findings
                .report(&REQUIREMENT_MIN_VALUES_DISTINCT, path(), least, reason)
                .suggest("list more values, or lower it");
            return false;
        }
    }
    true
}

/// How many different values an entry lists.
pub fn distinct(entry: &Entry<'_>) -> usize {
    let mut values = FewMap::default();
    for value in &entry.values {
        values.insert(*value, ());
    }
    values.len()
}

pub fn path(index: usize, scope: &Scope<'_>) -> FieldPath {
    scope.field(index, "minValues")
}

/// Whether more values are required than there are.
pub fn is_more_than(least: i64, count: usize) -> bool {
    usize::try_from(least).is_ok_and(|least| least > count)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::karpenter::ApiVersion;
    use crate::rules::requirements::testing::{errors_in, requirements};

    fn requirement(operator: &str, values: &Value, least: &Value) -> Value {
        requirements(&json!([{
            "key": "karpenter.kwok.sh/instance-family",
            "operator": operator, "values": values, "minValues": least,
        }]))
    }

    #[test]
    fn the_field_needs_0_35() {
        let object = requirement("Exists", &json!(null), &json!(2));
        let v1beta1 = |release| errors_in(ApiVersion::V1Beta1, release, &object);
        assert_eq!(v1beta1(KarpenterVersion::new(0, 35, 0)), [""; 0]);
        assert!(v1beta1(KarpenterVersion::new(0, 34, 9))[0].contains("needs Karpenter 0.35 or newer"));
    }
}
