//! `replicas` against `limits.nodes`, for NodePools and for `kubectl scale`.

use super::path;
use crate::diagnostic::Diagnostic;
use crate::karpenter::{KarpenterVersion, NodePool};
use crate::policy::{FeatureGate, GateState};
use crate::rules::findings::Findings;
use crate::rules::limits;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static REPLICAS_ABOVE_LIMIT: Rule = rule!("replicas-above-limit", Error, [Silent], Shown);
pub static REPLICAS_AT_LIMIT: Rule = rule!("replicas-at-limit", Warning, [Silent], Shown);

pub fn check(pool: &NodePool<'_>, replicas: i64, limit: Option<&Quantity>, findings: &mut Findings<'_>) {
    if let Some((rule, reason, suggestion)) = wrong(replicas, limit) {
        if rule.id == REPLICAS_AT_LIMIT.id && terminates_first(pool, findings) {
            return;
        }
        findings
            .report(rule, path(), replicas, reason)
            .suggest(suggestion)
            .related(limits::path("nodes"));
    }
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

/// The finding on a number that only replaces that of a stored pool.
pub fn of_scale(replicas: i64, limit: Option<&Quantity>) -> Option<Diagnostic> {
    let (rule, reason, suggestion) = wrong(replicas, limit)?;
    let mut finding = rule.finding(path(), replicas, reason);
    finding.suggest(suggestion);
    Some(finding)
}

/// The rule that this number of replicas breaks under this limit, why, and what to write instead.
fn wrong(replicas: i64, limit: Option<&Quantity>) -> Option<(&'static Rule, String, String)> {
    let limit = limit.filter(|limit| !limit.is_negative())?.rounded_up();
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

    use crate::policy::{DeclaredCluster, FeatureGate};
    use crate::rules::testing::{errors, findings_in, warnings};

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
