//! The values of `karpenter.sh/capacity-type`.

use super::{Entry, Scope, min_values, so_others};
use crate::diagnostic::{ErrorType, Origin};
use crate::karpenter::{CAPACITY_TYPE_LABEL, KarpenterVersion, Operator, Selection};
use crate::rules::findings::Findings;
use crate::rules::origins::by_runtime;
use crate::rules::rule::Rule;

pub static CAPACITY_TYPE: Rule = rule!("capacity-type", Error, [Runtime, Silent], Shown);
pub static CAPACITY_TYPE_UNKNOWN: Rule = rule!("capacity-type-unknown", Warning, [Silent], Shown);

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
        by_runtime(scope.template.owner)
    } else {
        Origin::Silent
    };
    if good == 0 && !is_list {
        let reason = "this excludes every capacity type, so no node is ever launched";
        findings
            .report(
                &CAPACITY_TYPE,
                scope.field(entry.index, "values"),
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
                scope.field(entry.index, "minValues"),
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
            .unsupported(rule, entry.value_path(position, scope), value, known, reason)
            .origin(origin);
    }
    !is_dead
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::requirements::testing::{errors, errors_in, requirements, warnings};

    fn requirement(operator: &str, values: &Value) -> Value {
        requirements(&json!([{"key": CAPACITY_TYPE_LABEL, "operator": operator, "values": values}]))
    }

    #[test]
    fn a_list_without_a_known_type_is_denied_and_one_with_some_gets_a_warning() {
        assert_eq!(
            errors(&requirement("In", &json!(["Spot"]))),
            [
                "spec.template.spec.requirements[0].values[0]: Unsupported value: \"Spot\": supported values: \
                 \"on-demand\", \"spot\", \"reserved\": there is no such capacity type; write spot \
                 [capacity-type]"
            ]
        );
        let mixed = requirement("In", &json!(["spot", "OnDemand"]));
        assert_eq!(errors(&mixed), [""; 0]);
        assert!(warnings(&mixed)[0].ends_with("did you mean on-demand? [capacity-type-unknown]"));
        let excluded = requirement("NotIn", &json!(["Spot"]));
        assert_eq!(errors(&excluded), [""; 0]);
        assert!(warnings(&excluded)[0].ends_with("[capacity-type-unknown]"));
    }

    #[test]
    fn fewer_known_types_than_min_values_are_denied() {
        let object = requirements(&json!([{
            "key": CAPACITY_TYPE_LABEL, "operator": "In", "values": ["spot", "cheap"], "minValues": 2,
        }]));
        let denied = errors(&object);
        assert_eq!(denied.len(), 1);
        assert!(
            denied[0].starts_with("spec.template.spec.requirements[0].minValues: Invalid value: 2: only 1")
        );
    }

    #[test]
    fn min_values_above_the_number_of_types_are_denied() {
        let with_least = |operator: &str, values: &Value, least: u8| {
            requirements(&json!([{
                "key": CAPACITY_TYPE_LABEL, "operator": operator, "values": values, "minValues": least,
            }]))
        };
        assert_eq!(errors(&with_least("Exists", &json!(null), 3)), [""; 0]);
        assert_eq!(
            errors(&with_least("Exists", &json!(null), 21)),
            [
                "spec.template.spec.requirements[0].minValues: Invalid value: 21: there are only 3 capacity types that \
                 this allows; lower it [capacity-type]"
            ]
        );
        assert_eq!(errors(&with_least("NotIn", &json!(["spot"]), 2)), [""; 0]);
        assert!(errors(&with_least("NotIn", &json!(["spot"]), 3))[0].contains("there are only 2"));
        let together = requirements(&json!([
            {"key": CAPACITY_TYPE_LABEL, "operator": "Exists", "minValues": 3},
            {"key": CAPACITY_TYPE_LABEL, "operator": "NotIn", "values": ["spot"]},
        ]));
        let denied = errors(&together);
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(
            denied[0].ends_with("[requirement-min-values-together]"),
            "{denied:?}"
        );
    }

    #[test]
    fn a_repeated_type_counts_once_and_is_one_error() {
        let denials = |values: &Value| {
            errors(&requirements(&json!([{
                "key": CAPACITY_TYPE_LABEL, "operator": "In", "values": values, "minValues": 2,
            }])))
        };
        let denied = denials(&json!(["spot", "spot"]));
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(
            denied[0].ends_with("[requirement-min-values-distinct]"),
            "{denied:?}"
        );
        let denied = denials(&json!(["spot", "spot", "cheap"]));
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(
            denied[0].contains("only 1 of the listed capacity types exist"),
            "{denied:?}"
        );
    }

    #[test]
    fn excluding_every_type_is_denied() {
        let all = json!(["spot", "on-demand", "reserved"]);
        let expected = "spec.template.spec.requirements[0].values: Invalid value: […]: this excludes every capacity \
                        type, so no node is ever launched; leave out the one that you want [capacity-type]";
        assert_eq!(errors(&requirement("NotIn", &all)), [expected]);
        let with_least = json!([{
            "key": CAPACITY_TYPE_LABEL, "operator": "NotIn", "values": all, "minValues": 1,
        }]);
        assert_eq!(errors(&requirements(&with_least)), [expected]);
        let unknown = requirement("NotIn", &json!(["spot", "on-demand", "reserved", "cheap"]));
        assert_eq!(errors(&unknown), [expected]);
        assert!(warnings(&unknown)[0].ends_with("[capacity-type-unknown]"));

        let two = requirement("NotIn", &json!(["spot", "on-demand"]));
        assert_eq!(errors(&two), [""; 0]);
        let old = errors_in(ApiVersion::V1, KarpenterVersion::new(1, 2, 0), &two);
        assert_eq!(old, [expected]);
    }

    #[test]
    fn reserved_needs_1_3() {
        let object = requirement("In", &json!(["reserved"]));
        assert_eq!(errors(&object), [""; 0]);
        let old = errors_in(ApiVersion::V1, KarpenterVersion::new(1, 2, 0), &object);
        assert!(old[0].contains("it needs Karpenter 1.3 or newer"));
    }
}
