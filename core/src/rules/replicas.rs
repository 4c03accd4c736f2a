//! `spec.replicas`: static pools, which keep a fixed number of nodes whatever pods there are. Only v1 has them.

use super::findings::Findings;
use super::limits::{self, PoolLimits};
use crate::diagnostic::{ErrorType, FieldPath, Origin};
use crate::facts::{ApiVersion, KarpenterVersion};
use crate::policy::{FeatureGate, GateState};
use crate::pool::{Field, NodePool};
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static REPLICAS: Rule = rule!("replicas", Error, Schema);
pub static REPLICAS_GATE: Rule = rule!("replicas-gate", Note, Silent);
pub static REPLICAS_ABOVE_LIMIT: Rule = rule!("replicas-above-limit", Error, Silent);
pub static REPLICAS_AT_LIMIT: Rule = rule!("replicas-at-limit", Warning, Silent);

/// The largest number that fits into the scale subresource.
const LARGEST: i64 = i32::MAX as i64;

pub fn check(
    pool: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    if pool.version == ApiVersion::V1Beta1 {
        return;
    }
    if !findings.context.release.has(KarpenterVersion::STATIC_CAPACITY) {
        check_release(pool, findings);
        return;
    }
    check_transition(pool, old, findings);
    let Some(replicas) = pool.replicas.present() else {
        return;
    };
    check_other_fields(pool, findings);
    if (0..=LARGEST).contains(&replicas) {
        note_gate(pool, replicas, findings);
        check_limit(pool, replicas, limits, old, findings);
    } else {
        let (title, suggestion) = if replicas < 0 {
            ("replicas must not be negative", "write 0 or more")
        } else {
            (
                "the scale subresource cannot hold a number this large",
                "write 2147483647 or less",
            )
        };
        findings
            .report(&REPLICAS, path(), replicas, title)
            .suggest(suggestion);
    }
}

/// Checks `replicas` against the node limit, for NodePools and for `kubectl scale`.
// karpenter: pkg/controllers/state/statenodepool.go NodePoolState.ReserveNodeCount
// karpenter: pkg/controllers/disruption/staticdrift.go StaticDrift.ComputeCommands
pub fn check_limit(
    pool: &NodePool<'_>,
    replicas: i64,
    limits: &PoolLimits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let Some(limit) = limits.most_nodes().and_then(most) else {
        return;
    };
    let (rule, title, consequence, suggestion) = if replicas > limit {
        let suggestion = match limit {
            0 => "raise the limit, or write 0".to_owned(),
            _ => format!("write {limit} or less, or raise the limit"),
        };
        (
            &REPLICAS_ABOVE_LIMIT,
            format!("replicas must not exceed limits.nodes, which is {limit}"),
            "the pool never reaches its replicas",
            suggestion,
        )
    } else if replicas == limit && replicas > 0 && !terminates_first(pool, findings) {
        (
            &REPLICAS_AT_LIMIT,
            format!("replicas equal limits.nodes, which is {limit}"),
            "there is no room to replace a drifted node",
            "raise the limit by at least 1".to_owned(),
        )
    } else {
        return;
    };
    findings
        .report(rule, path(), replicas, title)
        .consequence(consequence)
        .suggest(suggestion)
        .related(limits.nodes_path())
        .lessened(old.is_some_and(|old| is_step_towards(replicas, limit, old)));
}

fn path() -> FieldPath {
    FieldPath::of(&["spec", "replicas"])
}

/// Reports `replicas` for a release without static pools.
fn check_release(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(replicas) = pool.replicas.present() else {
        return;
    };
    let title = format!("Karpenter {} has no static pools", findings.context.release);
    findings
        .report(&REPLICAS, path(), replicas, title)
        .origin(Origin::Silent)
        .consequence("the API server drops the field")
        .suggest(format!(
            "upgrade to Karpenter {} or newer, or remove replicas",
            KarpenterVersion::STATIC_CAPACITY
        ));
}

/// Reports an update that makes a dynamic pool static, or a static pool dynamic.
// karpenter: pkg/apis/v1/nodepool.go NodePoolSpec
fn check_transition(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    let Some(old) = old else { return };
    let was_static = !old.replicas.is_absent();
    let (error_type, title, suggestion) = match (&pool.replicas, was_static) {
        (Field::Present(replicas), false) => (
            ErrorType::from(*replicas),
            "a stored pool cannot be changed from dynamic to static",
            "remove replicas, or create a new NodePool",
        ),
        (Field::Absent, true) => (
            ErrorType::Required,
            "a stored pool cannot be changed from static to dynamic",
            "keep replicas, or create a new NodePool",
        ),
        _ => return,
    };
    findings
        .report(&REPLICAS, path(), error_type, title)
        .suggest(suggestion);
}

/// Reports the fields that a static pool may not have.
// karpenter: pkg/apis/v1/nodepool.go NodePoolSpec
fn check_other_fields(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let limits = pool.limits.present().into_iter().flatten();
    for (resource, value) in limits.filter(|(resource, value)| !value.is_null() && *resource != "nodes") {
        let title = "a static pool accepts no limit except nodes";
        findings
            .report(&REPLICAS, limits::path(resource), value, title)
            .suggest("remove it")
            .related(path());
    }
    if let Some(weight) = pool.weight.present() {
        let title = "a static pool does not accept a weight";
        findings
            .report(&REPLICAS, FieldPath::of(&["spec", "weight"]), weight, title)
            .suggest("remove it")
            .related(path());
    }
}

/// Reports the feature gate without which Karpenter ignores static pools if there is a node to launch, unless it is on.
fn note_gate(pool: &NodePool<'_>, replicas: i64, findings: &mut Findings<'_>) {
    if replicas == 0 {
        return;
    }
    let cluster = &findings.context.policy.cluster;
    let (title, consequence) = match cluster.gate(FeatureGate::StaticCapacity, pool.template.settings()) {
        GateState::On | GateState::Fixed => return,
        GateState::Off => (
            "the feature gate StaticCapacity is off according to the policy",
            "the pool launches nothing",
        ),
        GateState::Unknown => (
            "static pools require Karpenter's feature gate StaticCapacity",
            "the gate is off by default, and then the pool launches nothing",
        ),
    };
    findings
        .report(&REPLICAS_GATE, path(), ErrorType::note(&replicas.into()), title)
        .consequence(consequence)
        .suggest("start Karpenter with FEATURE_GATES=StaticCapacity=true");
}

/// The nodes that a limit allows.
fn most(limit: &Quantity) -> Option<i64> {
    (!limit.is_negative()).then(|| limit.rounded_up())
}

/// True if neither the replicas nor the limit of the stored pool was closer to the other.
fn is_step_towards(replicas: i64, limit: i64, old: &NodePool<'_>) -> bool {
    let stored = old.replicas.present();
    let stored = stored.zip(old.node_limit().as_ref().and_then(most));
    stored.is_some_and(|(old_replicas, old_limit)| replicas <= old_replicas && limit >= old_limit)
}

/// True if it is certain that a drifted node is terminated before its replacement is launched.
fn terminates_first(pool: &NodePool<'_>, findings: &Findings<'_>) -> bool {
    let context = &findings.context;
    let settings = pool.template.settings();
    context.release.has(KarpenterVersion::TERMINATE_FIRST_DRIFT)
        && context
            .policy
            .cluster
            .gate(FeatureGate::TerminateFirstDrift, settings)
            == GateState::On
}
