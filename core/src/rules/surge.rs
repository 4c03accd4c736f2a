//! The annotation with which a pool may have more nodes than its limit while it replaces some.

use super::choices::{check_number, is_set, path};
use super::findings::Findings;
use super::limits::Limits;
use crate::api::{MAX_SURGE, NODE_LIMIT_ANNOTATION, NodeLimitMode, SURGE_ANNOTATION};
use crate::diagnostic::ErrorType;
use crate::karpenter::{Field, NodePool};
use crate::rules::rule::Rule;

pub static SURGE: Rule = rule!("surge", Error, [Poolgate]);
pub static SURGE_UNUSED: Rule = rule!("surge-unused", Warning, [Poolgate]);

pub fn check(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    let number = check_number(&SURGE, pool, SURGE_ANNOTATION, "1", findings);
    if let Some(number) = number.filter(|number| *number > MAX_SURGE) {
        let why = format!("no surge is larger than {MAX_SURGE}, so this counts as {MAX_SURGE}");
        findings
            .report(&SURGE, path(SURGE_ANNOTATION), number.to_string().as_str(), why)
            .suggest(format!("write {MAX_SURGE} or less"));
    }
    let Some(written) = pool.annotation(SURGE_ANNOTATION).filter(|_| pool.surge() > 0) else {
        return;
    };
    let why = match limits.node_limit(pool, findings.context.policy) {
        _ if !pool.replicas.is_absent() => "poolgate leaves static pools to Karpenter",
        Some(limit) if limit.mode == NodeLimitMode::Soft => "replacements may exceed a Soft limit anyway",
        None if sets_no_limit(pool) => "the pool has no node limit",
        _ => return,
    };
    findings
        .report(
            &SURGE_UNUSED,
            path(SURGE_ANNOTATION),
            ErrorType::note(written),
            format!("{why}, so this has no effect"),
        )
        .suggest("leave it out");
}

/// Whether there is no limit at all: one that cannot be read is another rule's.
fn sets_no_limit(pool: &NodePool<'_>) -> bool {
    let is_in_spec = match pool.limits {
        Field::Absent => false,
        Field::Mistyped => true,
        Field::Present(limits) => limits.get("nodes").is_some_and(|nodes| !nodes.is_null()),
    };
    !is_in_spec && !is_set(pool, NODE_LIMIT_ANNOTATION)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::{errors, warnings};

    fn pool(surge: &str, spec: &Value) -> Value {
        json!({"metadata": {"annotations": {"poolgate.dev/surge": surge}}, "spec": spec})
    }

    fn warned(surge: &str, spec: &Value) -> Vec<String> {
        let mut warnings = warnings(&pool(surge, spec));
        warnings.retain(|warning| warning.ends_with("[surge-unused]"));
        warnings
    }

    #[test]
    fn a_value_that_is_not_a_whole_number_is_denied() {
        let limited = json!({"limits": {"nodes": "10"}});
        for text in ["one", "", "-1", "10%"] {
            let errors = errors(&pool(text, &limited));
            assert!(errors[0].ends_with("such as \"1\" [surge]"), "{errors:?}");
        }
        let more = errors(&pool("101", &limited));
        assert!(
            more[0].contains("no surge is larger than 100, so this counts as 100; write 100 or less"),
            "{more:?}"
        );
        for text in ["0", "1", "100"] {
            assert_eq!(errors(&pool(text, &limited)), [""; 0]);
        }
    }

    #[test]
    fn where_it_has_no_effect_it_gets_a_warning() {
        let hard = |nodes: &str| json!({"limits": {"nodes": nodes}});
        let soft = json!({"limits": {"nodes": "10"}, "disruption": {"consolidateAfter": "1m", "nodeLimitMode": "Soft"}});
        let replicas = json!({"limits": {"nodes": "10"}, "replicas": 3});
        assert_eq!(
            warned("1", &json!({})),
            [
                "metadata.annotations[poolgate.dev/surge]: \"1\": the pool has no node limit, so this has no effect; \
                 leave it out [surge-unused]"
            ]
        );
        assert!(warned("1", &soft)[0].contains(": replacements may exceed a Soft limit anyway, so"));
        assert!(warned("1", &replicas)[0].contains(": poolgate leaves static pools to Karpenter, so"));
        assert_eq!(warned("1", &hard("10")), [""; 0]);
        assert_eq!(
            warned("1", &hard("many")),
            [""; 0],
            "another rule reports the wrong limit"
        );
        assert_eq!(warned("0", &json!({})), [""; 0]);
    }
}
