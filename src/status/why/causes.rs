//! Everything that keeps a node.

use k8s_openapi::api::core::v1::Taint;
use poolgate_core::api::HELD_LABEL;
use poolgate_core::budget::Reason;
use poolgate_core::karpenter::{DO_NOT_DISRUPT_ANNOTATION, DO_NOT_REPAIR_ANNOTATION};
use poolgate_core::policy::GateState;

use super::cause::{Cause, Kind};
use super::seen::Seen;
use super::wanted::{Goal, Wanted};
use super::{budgets, consolidation, drain, full, pods, ready, wanted};
use crate::status::replacements::{repaired_if, to_replace_now};

/// Taints that Karpenter expects to pass while a node starts (`KnownEphemeralTaints` of `pkg/scheduling/taints.go`). The
/// others there follow from the node's condition `Ready`.
const PASSING_TAINTS: [&str; 2] = [
    "karpenter.sh/unregistered",
    "node.cloudprovider.kubernetes.io/uninitialized",
];
/// What the taints of the Node Readiness Controller begin with.
const READINESS: &str = "readiness.k8s.io/";

/// What keeps a node for which this is wanted, the nearest first. If nothing is wanted, what keeps it from consolidation.
pub fn all(seen: &Seen<'_>, wanted: &[Wanted]) -> Vec<Cause> {
    let goals: Vec<Goal> = wanted.iter().map(|one| one.goal).collect();
    if goals.contains(&Goal::Deleted) {
        return drain::causes(seen);
    }
    if goals.contains(&Goal::Expired) {
        return vec![silent()];
    }
    if seen.claim.status.conditions.is_true("Rebooting") {
        return vec![Cause::new(
            Kind::Rebooting,
            "it is being rebooted: this passes by itself",
        )];
    }
    let mut reasons: Vec<Reason> = goals.iter().filter_map(|goal| goal.reason()).collect();
    if reasons.is_empty() {
        reasons.push(Reason::Underutilized);
    }
    let mut causes = Vec::new();
    if reasons.contains(&Reason::Unhealthy) {
        causes.extend(unrepaired(seen));
    }
    causes.extend(uninitialized(seen));
    causes.extend(annotations(seen, &reasons));
    causes.extend(on_it(seen, &reasons));
    causes.extend(consolidation::causes(seen, &reasons));
    causes.extend(budgets::causes(seen, &reasons));
    causes.extend(full::places(seen, &reasons));
    causes.extend(ready::cause(seen, &reasons));
    causes
}

/// Karpenter deletes what has expired at once, whatever budgets and annotations say.
fn silent() -> Cause {
    Cause::new(
        Kind::KarpenterSilent,
        "Karpenter deletes expired nodes at once, whatever budgets and annotations say, and has not deleted this one",
    )
    .change("Look whether Karpenter runs, and into its log")
}

/// That Karpenter has not tried to repair a node that is not ready: nothing else may keep it, and it stays all the same.
fn unrepaired(seen: &Seen<'_>) -> Option<Cause> {
    if wanted::is_known_to_be_broken(seen) || !seen.is_initialized() {
        return None;
    }
    let gate = seen.pool.map_or(GateState::Unknown, |pool| pool.repair);
    let text = format!("Karpenter has not tried to repair it. {}", repaired_if(gate));
    Some(Cause::new(Kind::NotRepaired, text).change(to_replace_now(seen.claim)))
}

/// That it is not initialized, and which taint Karpenter waits for.
fn uninitialized(seen: &Seen<'_>) -> Option<Cause> {
    if seen.is_initialized() {
        return None;
    }
    let startup = || seen.claim.spec.startup_taints.iter().flatten();
    let is_startup = |taint: &&Taint| {
        startup().any(|startup| (&startup.key, &startup.effect) == (&taint.key, &taint.effect))
    };
    let is_passing =
        |taint: &&Taint| PASSING_TAINTS.contains(&&*taint.key) || taint.key.starts_with(READINESS);
    let (what, change) = match seen.taints().find(is_startup) {
        Some(taint) => (
            format!("the startup taint {}:{}", taint.key, taint.effect),
            "Look whether the agent that removes it runs on the node",
        ),
        None => match seen.taints().find(is_passing) {
            Some(taint) => (
                format!("the taint {}:{}", taint.key, taint.effect),
                "Look what removes it, and whether that runs",
            ),
            None => {
                return Some(Cause::new(
                    Kind::NotInitialized,
                    "it is not initialized: Karpenter disrupts only nodes that are ready with all that they ask for",
                ));
            }
        },
    };
    let text = "it is not initialized, because a taint is still on it that Karpenter waits for";
    Some(
        Cause::new(Kind::NotInitialized, text)
            .here(&format!(": {what}"))
            .change(change),
    )
}

/// The annotations of the node: a user's, or poolgate's.
fn annotations(seen: &Seen<'_>, reasons: &[Reason]) -> Vec<Cause> {
    let is_held = seen
        .node
        .is_some_and(|node| node.metadata.label(HELD_LABEL).is_some());
    let name = seen.node.map(|node| &*node.metadata.name).unwrap_or_default();
    // Repair goes past the first annotation.
    let counted = [
        (
            Kind::NodeDoNotDisrupt,
            DO_NOT_DISRUPT_ANNOTATION,
            reasons.iter().any(|reason| *reason != Reason::Unhealthy),
        ),
        (
            Kind::NodeDoNotRepair,
            DO_NOT_REPAIR_ANNOTATION,
            reasons.contains(&Reason::Unhealthy),
        ),
    ];
    let set = counted
        .into_iter()
        .filter(|&(_, key, counts)| counts && seen.is_annotated(key, "true"));
    if is_held {
        return set.take(1).map(|_| full::held(seen)).collect();
    }
    set.map(|(kind, key, _)| {
        Cause::new(kind, format!("the node has the annotation {key}: \"true\""))
            .change(format!("To let it go: kubectl annotate node {name} {key}-"))
    })
    .collect()
}

/// The pods on it. For drift and repair Karpenter passes over them if something bounds the drain.
fn on_it(seen: &Seen<'_>, reasons: &[Reason]) -> Vec<Cause> {
    let eventual = |reason: &Reason| matches!(reason, Reason::Drifted | Reason::Unhealthy);
    let is_bounded = seen.claim.spec.termination_grace_period.is_some();
    if is_bounded && reasons.iter().any(eventual) {
        return Vec::new();
    }
    let mut causes = pods::causes(seen.pods().unwrap_or_default(), seen.budgets, seen.now);
    if !causes.is_empty() && reasons.iter().any(eventual) {
        causes.push(pods::unbounded(
            seen,
            if reasons.contains(&Reason::Unhealthy) {
                "so Karpenter does not begin while pods on it must not be moved, unless the provider's policy for this repair \
                 bounds the drain"
            } else {
                "so Karpenter does not begin while pods on it must not be moved"
            },
        ));
    }
    causes
}
