//! Whether a pool may be static: depends on the release of Karpenter and on the stored pool.

use super::path;
use crate::diagnostic::ErrorType;
use crate::karpenter::{Field, KarpenterVersion, NodePool};
use crate::policy::{FeatureGate, GateState};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REPLICAS_RELEASE: Rule = rule!("replicas-release", Error, Silent);
pub static REPLICAS_MODE: Rule = rule!("replicas-mode", Error, Schema);
pub static REPLICAS_GATE: Rule = rule!("replicas-gate", Info, Silent);

/// Reports `replicas` for a release without static pools.
pub fn check_release(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(replicas) = pool.replicas.present() else {
        return;
    };
    let reason = format!(
        "Karpenter {} has no static pools and drops the field",
        findings.context.release
    );
    findings
        .report(&REPLICAS_RELEASE, path(), replicas, reason)
        .suggest(format!(
            "upgrade to Karpenter {} or newer, or remove it",
            KarpenterVersion::STATIC_CAPACITY
        ));
}

/// Reports an update that makes a dynamic pool static, or a static pool dynamic.
pub fn check_transition(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    let Some(old) = old else { return };
    let was_static = !old.replicas.is_absent();
    let (error_type, reason, suggestion) = match (&pool.replicas, was_static) {
        (Field::Present(replicas), false) => (
            ErrorType::from(*replicas),
            "a stored pool cannot be changed from dynamic to static",
            "remove it, or create a new NodePool",
        ),
        (Field::Absent, true) => (
            ErrorType::Required,
            "a stored pool cannot be changed from static to dynamic",
            "keep it, or create a new NodePool",
        ),
        _ => return,
    };
    findings
        .report(&REPLICAS_MODE, path(), error_type, reason)
        .suggest(suggestion);
}

/// Reports the feature gate without which Karpenter ignores static pools if there is a node to launch, unless it is on.
pub fn note_gate(pool: &NodePool<'_>, replicas: i64, findings: &mut Findings<'_>) {
    if replicas == 0 {
        return;
    }
    let cluster = &findings.context.policy.cluster;
    let reason = match cluster.gate(FeatureGate::StaticCapacity, pool.template.node_class_group()) {
        GateState::On | GateState::Fixed => return,
        GateState::Off => {
            "nothing launches: the policy says that Karpenter's feature gate StaticCapacity is off"
        }
        GateState::Unknown => {
            "nothing launches unless Karpenter's feature gate StaticCapacity is enabled, which is not the default"
        }
    };
    findings
        .report(&REPLICAS_GATE, path(), ErrorType::note(&replicas.into()), reason)
        .suggest("start Karpenter with FEATURE_GATES=StaticCapacity=true");
}
