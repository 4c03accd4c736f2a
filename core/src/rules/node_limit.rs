//! The annotation with which a pool leaves `spec.limits.nodes` to poolgate.

use super::choices::{check_number, path};
use super::findings::Findings;
use super::limits::{self, Limits, NODES};
use crate::api::NODE_LIMIT_ANNOTATION;
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static NODE_LIMIT: Rule = rule!("node-limit", Error, [Poolgate]);
pub static NODE_LIMIT_TWICE: Rule = rule!("node-limit-twice", Warning, [Poolgate]);

pub fn check(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let Some(limit) = check_number(&NODE_LIMIT, pool, NODE_LIMIT_ANNOTATION, "10", findings) else {
        return;
    };
    let Some(given) = limits.get(NODES) else {
        return;
    };
    // The reconciler writes at most the limit; admission writes the limit itself.
    let is_ours = given.quantity().is_none_or(|given| match old {
        None => *given == Quantity::from(i64::from(limit)),
        Some(_) => *given <= Quantity::from(i64::from(limit)),
    });
    let stored = old.and_then(|old| old.limits.present()?.get("nodes"));
    if is_ours || stored == Some(given.value) {
        return;
    }
    let reason = format!("{NODE_LIMIT_ANNOTATION} says {limit}, and poolgate overwrites this");
    findings
        .report(&NODE_LIMIT_TWICE, limits::path(NODES), given.value, reason)
        .related(path(NODE_LIMIT_ANNOTATION))
        .suggest("leave it out");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::ApiVersion::V1;
    use crate::karpenter::KarpenterVersion;
    use crate::rules::testing::{errors, warnings_for};

    fn pool(limit: &str, nodes: &Value) -> Value {
        json!({"metadata": {"annotations": {"poolgate.dev/node-limit": limit}}, "spec": {"limits": {"nodes": nodes}}})
    }

    #[test]
    fn a_value_that_is_not_a_whole_number_is_denied() {
        for text in ["ten", "", "-1", "1.5", "+3", "99999999999"] {
            let errors = errors(&pool(text, &json!(null)));
            assert!(
                errors.iter().any(|error| error.ends_with("[node-limit]")),
                "{text}"
            );
        }
        assert_eq!(errors(&pool("10", &json!(null))), [""; 0]);
    }

    #[test]
    fn a_limit_in_the_spec_gets_a_warning_unless_poolgate_may_have_written_it() {
        let warned = |nodes: &str, old: Option<&str>| {
            let old = old.map(|nodes| pool("10", &json!(nodes)));
            let pool = pool("10", &json!(nodes));
            let warnings = warnings_for(V1, KarpenterVersion::NEWEST, &pool, old.as_ref());
            warnings
                .iter()
                .any(|warning| warning.ends_with("[node-limit-twice]"))
        };
        assert!(warned("20", None) && warned("5", None) && !warned("10", None));
        assert!(warned("20", Some("10")));
        assert!(!warned("8", Some("10")), "some nodes are going");
        assert!(!warned("20", Some("20")), "the limit was lowered");
    }
}
