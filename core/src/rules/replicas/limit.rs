//! `replicas` against `limits.nodes`, for NodePools and for `kubectl scale`.

use super::path;
use crate::api::NODE_LIMIT_ANNOTATION;
use crate::karpenter::{KarpenterVersion, NodePool};
use crate::policy::{FeatureGate, GateState};
use crate::rules::choices;
use crate::rules::findings::Findings;
use crate::rules::limits::{self, Limits};
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static REPLICAS_ABOVE_LIMIT: Rule = rule!("replicas-above-limit", Error, [Silent], Shown);
pub static REPLICAS_AT_LIMIT: Rule = rule!("replicas-at-limit", Warning, [Silent], Shown);

pub fn check(
    pool: &NodePool<'_>,
    replicas: i64,
    limits: &Limits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let Some(limit) = limits.most_nodes().and_then(most) else {
        return;
    };
    let Some((rule, reason, suggestion)) = wrong(replicas, limit) else {
        return;
    };
    if rule.id == REPLICAS_AT_LIMIT.id && terminates_first(pool, findings) {
        return;
    }
    let limited_by = match limits.annotated {
        Some(_) => choices::path(NODE_LIMIT_ANNOTATION),
        None => limits::path(limits::NODES),
    };
    findings
        .report(rule, path(), replicas, reason)
        .suggest(suggestion)
        .related(limited_by)
        .lessened(old.is_some_and(|old| is_step_towards(replicas, limit, old)));
}

/// The nodes that a limit allows.
fn most(limit: &Quantity) -> Option<i64> {
    (!limit.is_negative()).then(|| limit.rounded_up())
}

/// Whether neither the replicas nor the limit of the stored pool was closer to the other.
fn is_step_towards(replicas: i64, limit: i64, old: &NodePool<'_>) -> bool {
    let stored = old.replicas.present();
    let stored = stored.zip(old.node_limit().as_ref().and_then(most));
    stored.is_some_and(|(old_replicas, old_limit)| replicas <= old_replicas && limit >= old_limit)
}

/// Whether it is certain that a drifted node is terminated before its replacement is launched.
fn terminates_first(pool: &NodePool<'_>, findings: &Findings<'_>) -> bool {
    let context = &findings.context;
    let group = pool.template.node_class_group();
    context.release.has(KarpenterVersion::TERMINATE_FIRST_DRIFT)
        && context
            .policy
            .cluster
            .gate(FeatureGate::TerminateFirstDrift, group)
            == GateState::On
}

/// The rule that this number of replicas breaks under this limit, why, and what to write instead.
fn wrong(replicas: i64, limit: i64) -> Option<(&'static Rule, String, String)> {
    if replicas > limit {
        let reason = format!("limits.nodes is {limit}, so the pool never has more nodes than that");
        let suggestion = match limit {
            0 => "raise the limit, or write 0".to_owned(),
            _ => format!("write {limit} or less, or raise the limit"),
        };
        Some((&REPLICAS_ABOVE_LIMIT, reason, suggestion))
    } else if replicas == limit && replicas > 0 {
        let reason = format!("limits.nodes is {limit} too, so there is no room to replace a drifted node");
        Some((
            &REPLICAS_AT_LIMIT,
            reason,
            "raise the limit by at least one".into(),
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::karpenter::ApiVersion::V1;
    use crate::karpenter::KarpenterVersion;
    use crate::policy::{DeclaredCluster, FeatureGate};
    use crate::rules::testing::{errors, errors_for, findings_in, warnings};

    #[test]
    fn a_pool_at_its_limit_is_fine_where_karpenter_terminates_a_drifted_node_first() {
        let pool = json!({"spec": {"replicas": 5, "limits": {"nodes": "5"}}});
        let warned = |is_on| {
            let cluster = DeclaredCluster::default().with_gate(FeatureGate::TerminateFirstDrift, is_on);
            let found = findings_in(cluster, &pool);
            found.iter().any(|line| line.ends_with("[replicas-at-limit]"))
        };
        assert!(warned(false));
        assert!(!warned(true));
    }

    #[test]
    fn an_update_towards_the_limit_is_not_denied() {
        let pool = |(replicas, nodes): (i64, &str)| json!({"spec": {"replicas": replicas, "limits": {"nodes": nodes}}});
        let denied = |old, new| {
            let denied = errors_for(V1, KarpenterVersion::NEWEST, &pool(new), Some(&pool(old)));
            !denied.is_empty()
        };
        for closer in [(8, "5"), (9, "6"), (8, "6")] {
            assert!(!denied((9, "5"), closer), "{closer:?}");
        }
        for further in [(10, "5"), (9, "4"), (8, "4"), (12, "8")] {
            assert!(denied((9, "5"), further), "{further:?}");
        }
        assert!(denied((5, "5"), (6, "5")));
        assert!(denied((5, "9"), (5, "4")));
    }

    #[test]
    fn a_limit_in_the_annotation_that_an_update_lowers_below_the_replicas_is_denied() {
        let pool = |limit: &str| {
            json!({
                "metadata": {"annotations": {"poolgate.dev/node-limit": limit}},
                "spec": {"replicas": 5, "limits": {"nodes": "9"}},
            })
        };
        let denied = |limit| errors_for(V1, KarpenterVersion::NEWEST, &pool(limit), Some(&pool("9"))).len();
        assert_eq!((denied("4"), denied("6")), (1, 0));
    }

    #[test]
    fn replicas_leave_room_below_the_limit() {
        let pool =
            |replicas: i64, nodes: &str| json!({"spec": {"replicas": replicas, "limits": {"nodes": nodes}}});
        assert_eq!(
            errors(&pool(6, "5")),
            [
                "spec.replicas: Invalid value: 6: limits.nodes is 5, so the pool never has more nodes than that; \
                 write 5 or less, or raise the limit [replicas-above-limit]"
            ]
        );
        assert!(errors(&pool(3, "0"))[0].contains("; raise the limit, or write 0 ["));
        assert!(warnings(&pool(5, "5"))[0].ends_with("[replicas-at-limit]"));
        for (replicas, nodes) in [(4, "5"), (0, "0"), (3, "1k")] {
            assert_eq!(errors(&pool(replicas, nodes)), [""; 0]);
            assert_eq!(warnings(&pool(replicas, nodes)), [""; 0]);
        }
    }
}
