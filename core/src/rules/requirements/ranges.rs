//! Bounds at the ends of the range of 64-bit integers.

use super::{Entry, Scope};
use crate::karpenter::{KarpenterVersion, Operator, integer};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_BOUND: Rule = rule!("requirement-bound", Error, [Silent], Shown);

/// Returns whether the bound leaves a number.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(text) = entry.values.first().filter(|_| entry.operator.is_numeric()) else {
        return true;
    };
    let reason = match (entry.operator, integer(text)) {
        (Operator::Lt, Some(0)) => "no label has a value below 0",
        (Operator::Gt, Some(i64::MAX)) => "no label has a value above it",
        // One larger number is legal, but Karpenter's own arithmetic does not reach it.
        (Operator::Gt, Some(bound)) if bound == i64::MAX - 1 => "no label has a value above it",
        (Operator::Gte, Some(i64::MAX)) => "no label has so large a value",
        (Operator::Lte, Some(i64::MAX)) if !entry.kind.is_well_known() => {
            "it is so large that Karpenter's arithmetic overflows"
        }
        _ => return true,
    };
    let is_nothing = entry.operator == Operator::Gt
        && integer(text) == Some(i64::MAX)
        && scope.context.release.has(KarpenterVersion::GTE_LTE);
    let effect = if entry.kind.is_well_known() {
        "so the pool never launches a node"
    } else if is_nothing {
        "so nodes are launched without this label"
    } else {
        "and Karpenter crashes when it picks a value for this label"
    };
    findings.report(
        &REQUIREMENT_BOUND,
        scope.value(entry.index, 0),
        *text,
        format!("{reason}, {effect}"),
    );
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{errors, requirements};

    fn denials(key: &str, operator: &str, value: &str) -> Vec<String> {
        errors(&requirements(
            &json!([{"key": key, "operator": operator, "values": [value]}]),
        ))
    }

    #[test]
    fn bounds_that_leave_nothing_are_denied_for_every_label() {
        let (largest, before) = ("9223372036854775807", "9223372036854775806");
        for key in ["example.com/n", "karpenter.kwok.sh/instance-cpu"] {
            for (operator, value) in [("Lt", "0"), ("Gt", largest), ("Gt", before), ("Gte", largest)] {
                let denied = denials(key, operator, value);
                assert_eq!(denied.len(), 1, "{key} {operator} {value}");
                assert!(denied[0].ends_with("[requirement-bound]"));
            }
            for (operator, value) in [
                ("Lt", "1"),
                ("Lte", "0"),
                ("Gte", "0"),
                ("Gte", before),
                ("Lte", before),
            ] {
                assert_eq!(denials(key, operator, value), [""; 0], "{key} {operator} {value}");
            }
        }
    }

    #[test]
    fn above_the_largest_number_karpenter_launches_without_the_label() {
        let denied = denials("example.com/n", "Gt", "9223372036854775807");
        assert!(
            denied[0].contains("so nodes are launched without this label"),
            "{denied:?}"
        );
    }

    #[test]
    fn an_upper_bound_that_overflows_is_denied_only_if_karpenter_draws_a_value() {
        let largest = "9223372036854775807";
        assert!(denials("example.com/n", "Lte", largest)[0].contains("Karpenter crashes"));
        assert_eq!(denials("karpenter.kwok.sh/instance-cpu", "Lte", largest), [""; 0]);
    }
}
