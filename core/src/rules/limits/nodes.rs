//! `spec.limits.nodes`: how many nodes a pool may have.

use serde_json::{Map, Value};

use super::path;
use crate::diagnostic::{FieldPath, Problem, RuleId, Severity};
use crate::karpenter::{ApiVersion, NodePool, Release};
use crate::policy::{OverLimit, Policy};
use crate::rule::{Origin, Rule};
use crate::rules::Context;
use crate::rules::findings::Findings;
use crate::value::quantity::Quantity;

/// The resource that counts nodes.
const NODES: &str = "nodes";

pub(in crate::rules) static LIMIT_NODES_WHOLE: Rule = Rule {
    id: RuleId::new("limit-nodes-whole"),
    title: "`limits.nodes` is a whole number",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "Karpenter compares the limit as it is written, so `1.5` acts as 2.",
    seen_in: &[],
    bad: "\
spec:
  limits:
    nodes: \"1.5\"
",
    good: "\
spec:
  limits:
    nodes: \"2\"
",
};

pub(in crate::rules) static LIMIT_NODES_RELEASE: Rule = Rule {
    id: RuleId::new("limit-nodes-release"),
    title: "`limits.nodes` is one that the Karpenter release enforces",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "Before 1.8, Karpenter compares this limit with nothing. From 1.8 to 1.10 it looks only once the \
          nodes are there, so one batch of pods can bring any number of them. From 1.11 on it looks before \
          it launches, but a batch of pods, draining nodes and replacements can still exceed it; only \
          poolgate's node gate makes the limit hold.",
    seen_in: &["2657", "aws/karpenter-provider-aws#8925", "2915"],
    bad: "\
apiVersion: karpenter.sh/v1beta1
spec:
  limits:
    nodes: \"10\"
",
    good: "\
spec:
  limits:
    nodes: \"10\"
",
};

pub(in crate::rules) static LIMIT_BELOW_NODES: Rule = Rule {
    id: RuleId::new("limit-below-nodes"),
    title: "A node limit is not lowered below the number of nodes that exist",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "Karpenter removes no node because of a limit. The pool only launches none until enough have gone \
          for other reasons, and until then no node can be replaced before it goes. Where poolgate's \
          reconciler runs and the policy (`overLimit`) or the pool (annotation `poolgate.dev/over-limit`) \
          chooses `Terminate`, it deletes the nodes above the limit, the cheapest first.",
    seen_in: &["1604", "3093", "aws/karpenter-provider-aws#5909"],
    bad: "\
spec:
  limits:
    nodes: \"20\"
status:
  nodes: 12
---
spec:
  limits:
    nodes: \"10\"
",
    good: "\
spec:
  limits:
    nodes: \"20\"
status:
  nodes: 12
---
spec:
  limits:
    nodes: \"12\"
",
};

pub(super) fn check(
    pool: &NodePool<'_>,
    limits: &Map<String, Value>,
    context: &Context<'_>,
    findings: &mut Findings<'_>,
) {
    let Some((value, limit)) = limits
        .get(NODES)
        .and_then(|value| Some((value, NodePool::node_limit_value(value)?)))
    else {
        return;
    };
    if !limit.is_whole() && !limit.is_negative() {
        let problem = Problem::invalid(value);
        findings.push(
            LIMIT_NODES_WHOLE
                .finding(path(NODES), problem, "nodes are counted whole")
                .mend("write a whole number"),
        );
    }
    check_release(pool, value, context.release, findings);
    if let Some(old) = context.old {
        check_lowered(pool, value, &limit, old, context.policy, findings);
    }
}

fn check_release(pool: &NodePool<'_>, value: &Value, release: Release, findings: &mut Findings<'_>) {
    let reason = if pool.version == ApiVersion::V1Beta1 {
        "no Karpenter with v1beta1 counts nodes, so it limits nothing".to_owned()
    } else if !release.has(Release::STATIC_CAPACITY) {
        format!("Karpenter {release} does not count nodes, so it limits nothing")
    } else if !release.has(Release::NODE_LIMIT) && pool.replicas.is_absent() {
        format!("Karpenter {release} looks at it only once the nodes are there, so it does not hold")
    } else {
        return;
    };
    findings.push(
        LIMIT_NODES_RELEASE
            .finding(path(NODES), Problem::invalid(value), reason)
            .mend(format!(
                "upgrade to Karpenter {} or newer, or have poolgate's node gate",
                Release::NODE_LIMIT
            )),
    );
}

/// Compares a limit that this update lowers or sets with the nodes that stand.
fn check_lowered(
    pool: &NodePool<'_>,
    value: &Value,
    limit: &Quantity,
    old: &Value,
    policy: &Policy,
    findings: &mut Findings<'_>,
) {
    let before = NodePool::view(pool.version, old).node_limit();
    if before.is_some_and(|before| *limit >= before) {
        return;
    }
    let allowed = limit.rounded_up().max(0);
    let Some(standing) = standing_nodes(old).filter(|standing| *standing > allowed) else {
        return;
    };
    let above = standing - allowed;
    let stand = if above == 1 { "stands" } else { "stand" };
    let fate = fate(pool, above, policy);
    let reason = format!("the pool has {standing} nodes, so {above} {stand} above the limit; {fate}");
    findings.push(
        LIMIT_BELOW_NODES
            .finding(path(NODES), Problem::invalid(value), reason)
            .mend(format!("write {standing} or more if all should stay")),
    );
}

/// What becomes of the nodes above the limit.
fn fate(pool: &NodePool<'_>, above: i64, policy: &Policy) -> String {
    // Karpenter itself brings static pools down to their replicas, and the reconciler leaves them alone.
    let is_static = !pool.replicas.is_absent();
    match OverLimit::annotated(pool).unwrap_or(policy.over_limit) {
        OverLimit::Terminate if !is_static => {
            format!("the reconciler will terminate {above}, where it runs (over-limit: terminate)")
        }
        _ => "none is removed for that, and none launched before enough have gone".to_owned(),
    }
}

/// How many nodes the stored pool has, as Karpenter last counted them.
fn standing_nodes(stored: &Value) -> Option<i64> {
    let count = FieldPath::of(&["status", "nodes"])
        .find(stored)
        .and_then(Value::as_i64);
    count.or_else(|| {
        let resource = FieldPath::of(&["status", "resources", NODES]).find(stored)?;
        NodePool::node_limit_value(resource).map(|quantity| quantity.rounded_up())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, Release};
    use crate::rules::testing::{errors, warnings_for};

    fn limited(nodes: &str) -> Value {
        json!({"spec": {"limits": {"nodes": nodes}}})
    }

    #[test]
    fn a_part_of_a_node_is_refused() {
        assert!(errors(&limited("1500m"))[0].ends_with("[limit-nodes-whole]"));
        assert_eq!(errors(&limited("2000m")), [""; 0]);
    }

    #[test]
    fn a_karpenter_that_does_not_count_in_time_is_warned_of() {
        let warned = |version, release| warnings_for(version, release, &limited("10"), None);
        for (version, release, told) in [
            (
                ApiVersion::V1Beta1,
                Release::NEWEST,
                "no Karpenter with v1beta1 counts nodes",
            ),
            (
                ApiVersion::V1,
                Release::new(1, 7, 3),
                "Karpenter 1.7.3 does not count nodes",
            ),
            (
                ApiVersion::V1,
                Release::new(1, 10, 0),
                "Karpenter 1.10.0 looks at it only once",
            ),
        ] {
            let warned = warned(version, release);
            assert!(warned[0].contains(told), "{warned:?}");
        }
        assert_eq!(warned(ApiVersion::V1, Release::new(1, 11, 0)), [""; 0]);
    }

    #[test]
    fn a_limit_lowered_below_the_nodes_tells_how_many_stand_above() {
        let warned = |limit: &str, old: Value| {
            warnings_for(ApiVersion::V1, Release::NEWEST, &limited(limit), Some(&old))
        };
        let mut stored = limited("20");
        stored["status"] = json!({"nodes": 12});
        assert_eq!(
            warned("10", stored.clone()),
            [
                "spec.limits.nodes: Invalid value: \"10\": the pool has 12 nodes, so 2 stand above the limit; none is \
                 removed for that, and none launched before enough have gone; write 12 or more if all should stay \
                 [limit-below-nodes]"
            ]
        );
        assert_eq!(warned("12", stored.clone()), [""; 0]);
        stored["spec"] = json!({});
        stored["status"] = json!({"resources": {"nodes": "11"}});
        assert!(warned("10", stored.clone())[0].contains("so 1 stands above the limit"));
        stored["spec"] = json!({"limits": {"nodes": "10"}});
        assert_eq!(warned("10", stored.clone()), [""; 0], "the limit is as it was");
        stored["spec"] = json!({"limits": {"nodes": "5"}});
        assert_eq!(warned("10", stored), [""; 0], "the limit is raised");
    }

    #[test]
    fn a_limit_lowered_below_the_nodes_tells_what_becomes_of_them() {
        let warned = |annotation: &str, replicas: Value| {
            let mut pool = limited("10");
            pool["metadata"] = json!({"annotations": {"poolgate.dev/over-limit": annotation}});
            pool["spec"]["replicas"] = replicas;
            let stored = json!({"spec": {"limits": {"nodes": "20"}}, "status": {"nodes": 13}});
            let warned = warnings_for(ApiVersion::V1, Release::NEWEST, &pool, Some(&stored));
            let is_about = |line: &&String| line.ends_with("[limit-below-nodes]");
            warned.iter().find(is_about).cloned().unwrap_or_default()
        };
        let terminated = "3 stand above the limit; the reconciler will terminate 3, where it runs";
        assert!(warned("Terminate", json!(null)).contains(terminated));
        assert!(warned("Report", json!(null)).contains("none is removed"));
        assert!(
            warned("Terminate", json!(9)).contains("none is removed"),
            "static"
        );
    }
}
