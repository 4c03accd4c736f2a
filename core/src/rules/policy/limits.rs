//! Checks the policy's bounds on `spec.limits`.

use crate::api::NODE_LIMIT_ANNOTATION;
use crate::diagnostic::{ErrorType, FieldPath};
use crate::karpenter::{Field, NodePool};
use crate::policy::{LimitBounds, Written};
use crate::rules::findings::Findings;
use crate::rules::limits::{Limit, Limits, NODES, path};
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_REQUIRED: Rule = rule!("policy-limit-required", Error, [Poolgate]);
pub static LIMIT_MAX: Rule = rule!("policy-limit-max", Error, [Poolgate]);

pub fn check(pool: &NodePool<'_>, limits: &Limits<'_>, bounds: &LimitBounds, findings: &mut Findings<'_>) {
    if pool.limits == Field::Mistyped {
        return;
    }
    let is_static = !pool.replicas.is_absent();
    // Karpenter allows no other limit for a static pool.
    let applies = |resource: &str| !is_static || resource == NODES;
    let limit = |resource: &str| match resource {
        NODES => limits.nodes(),
        _ => limits.get(resource),
    };
    let is_missing = |resource: &str| applies(resource) && limit(resource).is_none();
    for resource in bounds.required.iter().filter(|resource| is_missing(resource)) {
        let suggestion = bounds.max.get(resource).map_or_else(
            || format!("add {resource}: with the most that this pool may use"),
            |most| format!("add {resource}: \"{}\" or less", most.text),
        );
        let reason = format!("the policy requires a limit of {resource}");
        findings
            .report(&LIMIT_REQUIRED, path(resource), ErrorType::Required, reason)
            .suggest(suggestion);
    }
    for (resource, most) in &bounds.max {
        let path = || match &limits.annotated {
            Some(_) if resource == NODES => {
                FieldPath::of(&["metadata", "annotations", NODE_LIMIT_ANNOTATION])
            }
            _ => path(resource),
        };
        match limit(resource) {
            Some(limit) => check_limit(path, limit, most, findings),
            None if applies(resource) && !bounds.required.contains(resource) => {
                let reason = format!(
                    "without it there is no limit of {resource}, and the policy allows at most {}",
                    most.text
                );
                let suggestion = format!("add {resource}: \"{}\" or less", most.text);
                findings
                    .report(&LIMIT_MAX, path(), ErrorType::Required, reason)
                    .suggest(suggestion);
            }
            None => {}
        }
    }
}

fn check_limit(
    path: impl FnOnce() -> FieldPath,
    limit: &Limit<'_>,
    most: &Written<Quantity>,
    findings: &mut Findings<'_>,
) {
    if limit.quantity().is_some_and(|quantity| *quantity > most.value) {
        let reason = format!("the policy allows at most {}", most.text);
        findings
            .report(&LIMIT_MAX, path(), limit.value, reason)
            .suggest(format!("write \"{}\" or less", most.text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::Bounds;
    use crate::rules::policy::testing::{errors, errors_of_no_change};

    fn bounds(required: &[&str], max: &[(&str, &str)]) -> Bounds {
        let written = |text: &str| Written {
            text: text.to_owned(),
            value: Quantity::parse(text).unwrap(),
        };
        Bounds {
            limits: LimitBounds {
                required: required.iter().map(|&resource| resource.to_owned()).collect(),
                max: max
                    .iter()
                    .map(|(resource, most)| ((*resource).to_owned(), written(most)))
                    .collect(),
            },
            ..Bounds::default()
        }
    }

    #[test]
    fn a_missing_limit_breaks_one_rule_and_says_what_to_add() {
        let object = json!({"spec": {"limits": {"cpu": null}}});
        assert_eq!(
            errors(
                bounds(&["nodes", "cpu"], &[("nodes", "500"), ("memory", "1Ti")]),
                &object
            ),
            [
                r#"spec.limits.nodes: Required value: the policy requires a limit of nodes; add nodes: "500" or less [policy-limit-required]"#,
                "spec.limits.cpu: Required value: the policy requires a limit of cpu; add cpu: with the most that this pool may use [policy-limit-required]",
                r#"spec.limits.memory: Required value: without it there is no limit of memory, and the policy allows at most 1Ti; add memory: "1Ti" or less [policy-limit-max]"#,
            ]
        );
    }

    #[test]
    fn limits_are_compared_by_value_and_may_reach_the_bound() {
        let most = || bounds(&[], &[("memory", "1Ti")]);
        let with = |limit: Value| json!({"spec": {"limits": {"memory": limit}}});
        for fine in [json!("1Ti"), json!("1024Gi"), json!(5), json!("no quantity")] {
            assert_eq!(errors(most(), &with(fine)), [""; 0]);
        }
        for over in [json!("1025Gi"), json!(u64::MAX), json!("1100G")] {
            assert_eq!(errors(most(), &with(over)).len(), 1);
        }
    }

    #[test]
    fn a_static_pool_needs_no_limit_that_it_must_not_have() {
        let object = json!({"spec": {"replicas": 3, "limits": {"nodes": "5"}}});
        assert_eq!(
            errors(bounds(&["cpu", "nodes"], &[("memory", "1")]), &object),
            [""; 0]
        );
    }

    #[test]
    fn a_limit_that_is_left_to_poolgate_is_checked_in_the_annotation() {
        let most = || bounds(&["nodes"], &[("nodes", "500")]);
        let of = |limit: &str, nodes: Value| {
            let annotations = json!({"poolgate.dev/node-limit": limit});
            let object =
                json!({"metadata": {"annotations": annotations}, "spec": {"limits": {"nodes": nodes}}});
            errors(most(), &object)
        };
        assert_eq!(of("500", json!(null)), [""; 0]);
        assert_eq!(
            of("501", json!("400")),
            [
                r#"metadata.annotations[poolgate.dev/node-limit]: Invalid value: "501": the policy allows at most 500; write "500" or less [policy-limit-max]"#
            ]
        );
        assert_eq!(of("many", json!(null)).len(), 1);
    }

    #[test]
    fn a_new_bound_does_not_deny_an_update_that_leaves_the_limits_as_they_are() {
        let object = json!({"spec": {"limits": {"nodes": "1000"}}});
        assert_eq!(
            errors_of_no_change(bounds(&["cpu"], &[("nodes", "500")]), &object),
            [""; 0]
        );
    }
}
