//! Fields that a pool with `replicas` may not have.

use super::path;
use crate::diagnostic::FieldPath;
use crate::karpenter::NodePool;
use crate::rules::findings::Findings;
use crate::rules::limits;
use crate::rules::rule::Rule;

pub static REPLICAS_LIMITS: Rule = rule!("replicas-limits", Error, [Schema]);
pub static REPLICAS_WEIGHT: Rule = rule!("replicas-weight", Error, [Schema]);

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    if pool.replicas.present().is_none() {
        return;
    }
    let limits = pool.limits.present().into_iter().flatten();
    for (resource, value) in limits.filter(|(resource, value)| !value.is_null() && *resource != "nodes") {
        findings
            .report(
                &REPLICAS_LIMITS,
                limits::path(resource),
                value,
                "a static pool accepts no limit except nodes",
            )
            .suggest("remove it")
            .related(path());
    }
    if let Some(weight) = pool.weight.present() {
        findings
            .report(
                &REPLICAS_WEIGHT,
                FieldPath::of(&["spec", "weight"]),
                weight,
                "a static pool does not accept a weight",
            )
            .suggest("remove it")
            .related(path());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::testing::errors;

    #[test]
    fn the_weight_and_each_limit_except_nodes_are_denied() {
        let object = json!({"spec": {
            "replicas": 3, "weight": 10, "limits": {"cpu": "1", "memory": "1Gi", "nodes": "5", "gpu": null},
        }});
        assert_eq!(
            errors(&object),
            [
                "spec.limits.cpu: Invalid value: \"1\": a static pool accepts no limit except nodes; remove it \
                 [replicas-limits]",
                "spec.limits.memory: Invalid value: \"1Gi\": a static pool accepts no limit except nodes; remove it \
                 [replicas-limits]",
                "spec.weight: Invalid value: 10: a static pool does not accept a weight; remove it [replicas-weight]",
            ]
        );
    }

    #[test]
    fn a_static_pool_needs_no_limits() {
        for limits in [json!(null), json!({}), json!({"nodes": "5"})] {
            assert_eq!(
                errors(&json!({"spec": {"replicas": 3, "limits": limits}})),
                [""; 0]
            );
        }
    }
}
