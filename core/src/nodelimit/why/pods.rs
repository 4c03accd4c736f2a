//! Pods on a node that must not be moved.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Cause, CauseKind, Seen};
use crate::budget::Reason;
use crate::diagnostic::first_few;
use crate::facts::DO_NOT_DISRUPT_ANNOTATION;
use crate::nodelimit::plan::{
    BudgetsByNamespace, Eviction, NamespacedName, PodDisruptionBudget, PodOnNode, Protection,
};

/// How many pods, or budgets, are named.
const MOST: usize = 5;

/// The pods on a node. For drift and repair Karpenter passes over them if something bounds the drain.
// karpenter: pkg/controllers/disruption/types.go NewCandidate
pub fn on_it(seen: &Seen<'_>, reasons: &[Reason]) -> Vec<Cause> {
    let is_eventual = |reason: &Reason| matches!(reason, Reason::Drifted | Reason::Unhealthy);
    let is_eventual = reasons.iter().any(is_eventual);
    if is_eventual && seen.state.has_grace_period {
        return Vec::new();
    }
    let pods: Vec<&PodOnNode> = seen.pods.unwrap_or_default().iter().collect();
    let mut causes = causes(&pods, seen.budgets, seen.now);
    if is_eventual && !causes.is_empty() {
        causes.push(unbounded(
            if reasons.contains(&Reason::Unhealthy) {
                "so Karpenter does not begin while these pods block the drain, unless the provider's repair policy bounds \
                 the drain"
            } else {
                "so Karpenter does not begin while these pods block the drain"
            },
        ));
    }
    causes
}

/// The causes that keep Karpenter from moving these pods.
// karpenter: pkg/controllers/state/statenode.go StateNode.ValidatePodsDisruptable
// karpenter: pkg/utils/pdb/pdb.go Limits.CanEvictPods
pub fn causes(pods: &[&PodOnNode], budgets: Option<&BudgetsByNamespace>, now: Timestamp) -> Vec<Cause> {
    let annotated = pods
        .iter()
        .filter_map(|pod| Some(annotated(pod, pod.pod.protection(now)?)));
    let mut causes: Vec<Cause> = annotated.take(MOST).collect();
    // By the budgets that keep it; two keep a pod whatever they allow.
    let mut kept: BTreeMap<(&NamespacedName, Option<&NamespacedName>), Kept<'_>> = BTreeMap::new();
    for &pod in pods.iter().filter(|pod| is_evicted(pod, now)) {
        let budgets = budgets.map(|budgets| budgets.in_namespace(&pod.pod.namespace));
        let (budget, other) = match pod.eviction(budgets.unwrap_or_default()) {
            // Karpenter only checks whether each budget allows an eviction.
            Eviction::Counted(budget) if budget.allowed().is_none_or(|allowed| allowed == 0) => {
                (budget, None)
            }
            Eviction::Refused([one, other]) => (one, Some(other)),
            Eviction::Free | Eviction::Counted(_) => continue,
        };
        let key = (&budget.name, other.map(|other| &other.name));
        let pods = &mut kept.entry(key).or_insert_with(|| Kept::new(budget, other)).pods;
        pods.push(pod);
    }
    causes.extend(kept.into_values().map(|kept| kept.cause()).take(MOST));
    causes
}

/// True if Karpenter has to evict it, and may.
// karpenter: pkg/utils/pod/scheduling.go IsEvictable
fn is_evicted(pod: &PodOnNode, now: Timestamp) -> bool {
    pod.pod.is_active() && pod.is_drained() && pod.pod.protection(now).is_none()
}

fn annotated(pod: &PodOnNode, protection: Protection) -> Cause {
    let value = pod.pod.do_not_disrupt.map(|wish| wish.to_string());
    let (ends, until) = match protection {
        Protection::WhileItRuns => (", which applies until the pod ends", None),
        Protection::Until(end) => ("", Some(end)),
    };
    let full_name = pod.full_name();
    let NamespacedName { namespace, name } = &full_name;
    Cause::new(
        CauseKind::PodDoNotDisrupt,
        format!(
            "pod {} has the annotation {DO_NOT_DISRUPT_ANNOTATION}: \"{}\"{ends}",
            full_name,
            value.unwrap_or_default()
        ),
    )
    .with_its_kind()
    .until(until)
    .change(format!(
        "If it may be moved: kubectl annotate pod --namespace={namespace} {name} {DO_NOT_DISRUPT_ANNOTATION}-"
    ))
}

/// Pods that are kept by a budget, or by two that both select them.
struct Kept<'s> {
    budget: &'s PodDisruptionBudget,
    other: Option<&'s PodDisruptionBudget>,
    pods: Vec<&'s PodOnNode>,
}

impl<'s> Kept<'s> {
    const fn new(budget: &'s PodDisruptionBudget, other: Option<&'s PodDisruptionBudget>) -> Self {
        Self {
            budget,
            other,
            pods: Vec::new(),
        }
    }

    fn cause(&self) -> Cause {
        let (budget, pods) = (self.budget, named(&self.pods));
        if let Some(other) = self.other {
            let text = format!(
                "PodDisruptionBudgets {} and {} both select {pods}, so no eviction is possible",
                budget.name, other.name
            );
            return Cause::new(CauseKind::SeveralPodDisruptionBudgets, text)
                .change("Change spec.selector of one of them");
        }
        if budget.allowed().is_none() {
            let text = format!(
                "the status of PodDisruptionBudget {} is not up to date yet",
                budget.name
            );
            return Cause::new(CauseKind::PodDisruptionBudget, text).here(&format!(", and it covers {pods}"));
        }
        Cause::new(
            CauseKind::PodDisruptionBudget,
            format!(
                "PodDisruptionBudget {} allows 0 evictions (currentHealthy {}, desiredHealthy {})",
                budget.name, budget.current_healthy, budget.desired_healthy,
            ),
        )
        .here(&format!(", and covers {pods}"))
        .change(
            "Add a healthy pod to its workload, or change minAvailable or maxUnavailable of the budget so that it allows an \
             eviction",
        )
    }
}

fn named(pods: &[&PodOnNode]) -> String {
    let names = first_few(pods.iter().map(|pod| pod.full_name()), 1);
    let here = if pods.len() > 1 { " here" } else { "" };
    format!("pod {names}{here}")
}

/// That nothing bounds the drain.
pub fn unbounded(consequence: &str) -> Cause {
    Cause::new(
        CauseKind::NoTerminationGracePeriod,
        format!("the NodeClaim has no terminationGracePeriod, {consequence}"),
    )
    .change(
        "A new spec.template.spec.terminationGracePeriod of the NodePool applies to new NodeClaims, and makes the existing \
         ones drift",
    )
}
