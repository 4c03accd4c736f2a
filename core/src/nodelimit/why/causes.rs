//! Everything that keeps a node.

use jiff::Timestamp;

use super::wanted::{self, Goal, Wanted};
use super::{
    Cause, CauseKind, Seen, budgets, consolidation, drain, pods, repaired_if, replacement, to_replace_now,
};
use crate::budget::Reason;
use crate::facts::{DO_NOT_DISRUPT_ANNOTATION, DO_NOT_REPAIR_ANNOTATION};
use crate::nodelimit::plan::{BudgetsByNamespace, Node, PodOnNode};
use crate::pods::NodeTaint;
use crate::policy::GateState;

/// Taints that Karpenter expects to pass while a node starts (`KnownEphemeralTaints` of `pkg/scheduling/taints.go`). The
/// others there follow from the node's condition `Ready`.
// karpenter: pkg/scheduling/taints.go KnownEphemeralTaints
const PASSING_TAINTS: [&str; 2] = [
    "karpenter.sh/unregistered",
    "node.cloudprovider.kubernetes.io/uninitialized",
];

/// The prefix of the taints of the Node Readiness Controller.
// karpenter: pkg/scheduling/taints.go KnownEphemeralTaintKeyPrefixes
const READINESS: &str = "readiness.k8s.io/";

/// The causes that keep a node which is wanted gone, the nearest first; else the causes that keep it from consolidation.
pub fn all(seen: &Seen<'_>, wanted: &[Wanted]) -> Vec<Cause> {
    let is = |goal: Goal| wanted.iter().any(|one| one.goal == goal);
    if is(Goal::Deleted) {
        return drain::causes(seen);
    }
    if is(Goal::Expired) {
        return vec![silent()];
    }
    if seen.state.conditions.rebooting {
        return vec![Cause::new(
            CauseKind::Rebooting,
            "the node is being rebooted, which passes on its own",
        )];
    }
    let reasons = wanted::reasons(wanted);
    let mut causes = Vec::new();
    causes.extend(unrepaired(seen).filter(|_| is(Goal::Unhealthy)));
    causes.extend(uninitialized(seen));
    causes.extend(annotations(seen, &reasons));
    causes.extend(pods::on_it(seen, &reasons));
    causes.extend(consolidation::cause(seen, &reasons));
    causes.extend(budgets::causes(seen, &reasons));
    causes.extend(replacement::full(seen, &reasons));
    causes.extend(replacement::not_ready(seen, &reasons));
    causes
}

/// Karpenter deletes expired nodes immediately, whatever budgets and annotations say.
fn silent() -> Cause {
    Cause::new(
        CauseKind::KarpenterSilent,
        "Karpenter deletes expired nodes immediately, whatever budgets and annotations say, but has not deleted this one",
    )
    .change("Check that Karpenter runs, and read its log")
}

/// Karpenter has not tried to repair a node that is not ready: it may stay although nothing else keeps it.
fn unrepaired(seen: &Seen<'_>) -> Option<Cause> {
    if wanted::is_known_to_be_broken(seen) || !seen.state.conditions.initialized {
        return None;
    }
    let gate = seen
        .pool
        .map_or(GateState::Unknown, |known| known.pool.details.repair);
    let text = format!(
        "Karpenter has not tried to repair the node. {}",
        repaired_if(gate)
    );
    Some(Cause::new(CauseKind::NotRepaired, text).change(to_replace_now(&seen.state.name)))
}

/// That it is not initialized, and which taint Karpenter waits for.
// karpenter: pkg/controllers/nodeclaim/lifecycle/initialization.go StartupTaintsRemoved
// karpenter: pkg/controllers/nodeclaim/lifecycle/initialization.go KnownEphemeralTaintsRemoved
fn uninitialized(seen: &Seen<'_>) -> Option<Cause> {
    if seen.state.conditions.initialized {
        return None;
    }
    let is_startup = |taint: &&NodeTaint| {
        let mut startup = seen.details.startup_taints.iter();
        startup.any(|startup| (&startup.key, startup.effect) == (&taint.key, taint.effect))
    };
    let is_passing =
        |taint: &&NodeTaint| PASSING_TAINTS.contains(&&*taint.key) || taint.key.starts_with(READINESS);
    let taints = || {
        seen.state
            .node
            .into_iter()
            .flat_map(|node: &Node| node.taints.iter())
    };
    let waits_for = |what: &str, taint: &NodeTaint, change: &str| {
        let text = "the node is not initialized, because Karpenter waits for the removal of a taint";
        Cause::new(CauseKind::NotInitialized, text)
            .here(&format!(" ({what} {}:{})", taint.key, taint.effect.as_str()))
            .change(change)
    };
    Some(if let Some(taint) = taints().find(is_startup) {
        let change = "Check that the agent that removes it runs on the node";
        waits_for("startup taint", taint, change)
    } else if let Some(taint) = taints().find(is_passing) {
        waits_for("taint", taint, "Check that the controller that removes it runs")
    } else {
        Cause::new(
            CauseKind::NotInitialized,
            "the node is not initialized, and Karpenter disrupts only nodes that are ready with all requested resources",
        )
    })
}

/// What keeps a node from being replaced when it drifts, the nearest cause, whether it has drifted yet or not. `pods` are
/// those on it, if nothing bounds its drain: else Karpenter passes over them.
pub fn keeps_from_drift(
    node: &Node,
    pods: Option<&[PodOnNode]>,
    budgets: &BudgetsByNamespace,
    now: Timestamp,
) -> Option<Cause> {
    if node.marks.are_users() {
        return Some(users(
            CauseKind::NodeDoNotDisrupt,
            &node.name,
            DO_NOT_DISRUPT_ANNOTATION,
        ));
    }
    let pods: Vec<&PodOnNode> = pods?.iter().collect();
    pods::causes(&pods, Some(budgets), now).into_iter().next()
}

fn users(kind: CauseKind, node: &str, key: &str) -> Cause {
    Cause::new(kind, format!("the node has the annotation {key}: \"true\""))
        .change(format!("To let it go: kubectl annotate node {node} {key}-"))
}

/// The annotations of the node: a user's, or poolgate's. Repair goes past the first one.
fn annotations(seen: &Seen<'_>, reasons: &[Reason]) -> Vec<Cause> {
    let marks = seen.state.marks();
    let name = seen.state.node.map(|node| &*node.name).unwrap_or_default();
    let users = |kind: CauseKind, key: &str| users(kind, name, key);
    let mut causes = Vec::new();
    let (mut is_frozen, mut is_held) = (false, false);
    if marks.do_not_disrupt && reasons.iter().any(|reason| *reason != Reason::Unhealthy) {
        is_frozen = marks.held_for().freeze;
        is_held |= marks.are_for_limit();
        causes.extend(
            marks
                .are_users()
                .then(|| users(CauseKind::NodeDoNotDisrupt, DO_NOT_DISRUPT_ANNOTATION)),
        );
    }
    if marks.do_not_repair && reasons.contains(&Reason::Unhealthy) {
        is_held |= marks.held_for().repair;
        causes.extend(
            marks
                .forbid_repair()
                .then(|| users(CauseKind::NodeDoNotRepair, DO_NOT_REPAIR_ANNOTATION)),
        );
    }
    let frozen = is_frozen.then(|| replacement::frozen(seen));
    let held = is_held.then(|| replacement::held(seen));
    frozen.into_iter().chain(held).chain(causes).collect()
}
