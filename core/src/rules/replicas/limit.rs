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

pub static REPLICAS_ABOVE_LIMIT: Rule = rule!("replicas-above-limit", Error, Silent);
pub static REPLICAS_AT_LIMIT: Rule = rule!("replicas-at-limit", Warning, Silent);

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
