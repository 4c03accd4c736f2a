//! `minValues` compared with the number of values that all requirements and template labels on one label leave.

use super::Scope;
use super::groups::{Group, Source};
use super::min_values::{is_more_than, path};
use crate::karpenter::{CAPACITY_TYPE_LABEL, Operator, Selection};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_MIN_VALUES_TOGETHER: Rule =
    rule!("requirement-min-values-together", Error, [Silent], Shown);

/// Checks the largest `minValues` on one label whose entries do not contradict each other.
pub fn check<'a>(group: &Group<'a>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    // No instance type has a value of a custom label; that is reported at the entry.
    if group.sources.len() < 2 || group.is_custom() {
        return;
    }
    let largest = group.entries().max_by_key(|entry| entry.min_values);
    let Some((entry, least)) = largest.and_then(|entry| Some((entry, entry.min_values?))) else {
        return;
    };
    let is_short = |left: &Selection<'_>| left.count().is_some_and(|count| is_more_than(least, count));
    // All existing capacity types are known.
    let known =
        (entry.key == CAPACITY_TYPE_LABEL).then(|| Selection::new(Operator::In, scope.capacity_types()));
    let existing = |selection: Selection<'a>| match &known {
        Some(known) => selection.and(known.clone()),
        None => selection,
    };
    let left = existing(group.selection(scope));
    // If the entry has too few values by itself, that is reported at the entry.
    if !is_short(&left) || is_short(&existing(Source::Entry(entry).selection(scope))) {
        return;
    }
    let left = left.count().unwrap_or(0);
    let others: Vec<&Source<'_>> = group
        .sources
        .iter()
        .filter(|source| !matches!(source, Source::Entry(other) if other.index == entry.index))
        .collect();
    let rest = match others.as_slice() {
        [only] => format!("{only}"),
        _ => format!("the other {} entries", others.len()),
    };
    let key = entry.key;
    let reason =
        format!("together with {rest}, {key} has only {left} values left, so the pool never launches a node");
    let path = path(entry.index, scope);
    findings
        .report(&REQUIREMENT_MIN_VALUES_TOGETHER, path, least, reason)
        .suggest("allow more values, or lower it")
        .related = others.into_iter().map(|other| other.path(scope)).collect();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::requirements::testing::{errors, requirements};

    const TYPE: &str = "node.kubernetes.io/instance-type";
    const CPU: &str = "karpenter.kwok.sh/instance-cpu";

    fn together(denied: &[String]) -> bool {
        denied.len() == 1 && denied[0].ends_with("[requirement-min-values-together]")
    }

    #[test]
    fn values_that_another_entry_excludes_do_not_count() {
        let pool = |other: &Value, least: u8| {
            errors(&requirements(&json!([
                other,
                {"key": TYPE, "operator": "In", "values": ["a", "b", "c"], "minValues": least},
            ])))
        };
        let only_two = json!({"key": TYPE, "operator": "In", "values": ["a", "b", "x"]});
        assert_eq!(pool(&only_two, 2), [""; 0]);
        assert_eq!(
            pool(&only_two, 3),
            [
                "spec.template.spec.requirements[1].minValues: Invalid value: 3: together with \
                 node.kubernetes.io/instance-type In [a, b, x], node.kubernetes.io/instance-type has only 2 values \
                 left, so the pool never launches a node; allow more values, or lower it \
                 [requirement-min-values-together]"
            ]
        );
        let all_but_one = json!({"key": TYPE, "operator": "NotIn", "values": ["a"]});
        assert_eq!(pool(&all_but_one, 2), [""; 0]);
        assert!(together(&pool(&all_but_one, 3)));
    }

    #[test]
    fn the_largest_of_several_numbers_counts_in_any_order() {
        let denied = errors(&requirements(&json!([
            {"key": TYPE, "operator": "Exists", "minValues": 3},
            {"key": TYPE, "operator": "In", "values": ["a", "b"], "minValues": 1},
        ])));
        assert!(together(&denied), "{denied:?}");
        assert!(denied[0].starts_with("spec.template.spec.requirements[0].minValues"));
    }

    #[test]
    fn a_template_label_leaves_one_value() {
        let mut object = requirements(&json!([
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"], "minValues": 2},
        ]));
        object["spec"]["template"]["metadata"] = json!({"labels": {"beta.kubernetes.io/arch": "amd64"}});
        assert!(together(&errors(&object)), "{:?}", errors(&object));
    }

    #[test]
    fn a_range_has_as_many_values_as_whole_numbers() {
        let between = |high: &str| {
            errors(&requirements(&json!([
                {"key": CPU, "operator": "Gt", "values": ["4"], "minValues": 2},
                {"key": CPU, "operator": "Lt", "values": [high]},
            ])))
        };
        assert!(together(&between("6")), "{:?}", between("6"));
        assert_eq!(between("7"), [""; 0]);
    }

    #[test]
    fn a_mistake_of_one_entry_is_reported_once() {
        let denied = errors(&requirements(&json!([
            {"key": TYPE, "operator": "In", "values": ["a", "a"], "minValues": 2},
            {"key": TYPE, "operator": "Exists"},
        ])));
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(denied[0].ends_with("[requirement-min-values-distinct]"));
    }
}
