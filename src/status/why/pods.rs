//! Pods on a node that must not be moved.

use std::collections::BTreeMap;

use jiff::Timestamp;
use poolgate_core::karpenter::DO_NOT_DISRUPT_ANNOTATION;

use super::cause::{Cause, Kind};
use super::objects::{PodBudget, PodObject, Protection};
use super::seen::Seen;

/// How many pods, or budgets, are named.
const MOST: usize = 5;

/// What keeps Karpenter from moving these pods.
pub fn causes(pods: &[&PodObject], budgets: &[PodBudget], now: Timestamp) -> Vec<Cause> {
    let annotated = pods
        .iter()
        .filter_map(|pod| Some(annotated(pod, pod.protection(now)?)));
    let mut causes: Vec<Cause> = annotated.take(MOST).collect();
    // By the budgets that cover it; a pod on which two lie cannot be evicted, whatever they allow.
    let mut kept: BTreeMap<Vec<usize>, Vec<&PodObject>> = BTreeMap::new();
    for &pod in pods.iter().filter(|pod| pod.is_evicted(now)) {
        let covering = budgets
            .iter()
            .enumerate()
            .filter(|(_, budget)| budget.covers(pod));
        let covering: Vec<_> = covering.collect();
        let is_kept = match &*covering {
            [] => false,
            [(_, budget)] => budget.forbids(pod),
            _ => true,
        };
        if is_kept {
            let places = covering.iter().map(|&(place, _)| place).collect();
            kept.entry(places).or_default().push(pod);
        }
    }
    let budgeted = kept.into_iter().filter_map(|(places, pods)| {
        let covering: Vec<&PodBudget> = places.iter().filter_map(|&place| budgets.get(place)).collect();
        match *covering {
            [one] => Some(forbidden(one, &pods)),
            [one, other, ..] => Some(several(one, other, &pods)),
            [] => None,
        }
    });
    causes.extend(budgeted.take(MOST));
    causes
}

fn annotated(pod: &PodObject, protection: Protection) -> Cause {
    let value = pod
        .metadata
        .annotation(DO_NOT_DISRUPT_ANNOTATION)
        .unwrap_or_default();
    let (ends, until) = match protection {
        Protection::WhileItRuns => (", which holds until it ends", None),
        Protection::Until(end) => ("", Some(end)),
    };
    let path = pod.path();
    Cause::new(
        Kind::PodDoNotDisrupt,
        format!("pod {path} has the annotation {DO_NOT_DISRUPT_ANNOTATION}: \"{value}\"{ends}"),
    )
    .until(until)
    .change(format!(
        "If it may be moved: kubectl annotate pod --namespace={} {} {DO_NOT_DISRUPT_ANNOTATION}-",
        pod.metadata.namespace, pod.metadata.name
    ))
}

fn forbidden(budget: &PodBudget, pods: &[&PodObject]) -> Cause {
    let status = &budget.status;
    Cause::new(
        Kind::PodDisruptionBudget,
        format!(
            "PodDisruptionBudget {} allows 0 evictions (currentHealthy {}, desiredHealthy {})",
            budget.path(),
            status.current_healthy,
            status.desired_healthy,
        ),
    )
    .here(&format!(", and covers {}", named(pods)))
    .change(
        "Give its workload another healthy pod, or change the budget's minAvailable or maxUnavailable so that it allows an \
         eviction",
    )
}

fn several(one: &PodBudget, other: &PodBudget, pods: &[&PodObject]) -> Cause {
    Cause::new(
        Kind::SeveralPodDisruptionBudgets,
        format!(
            "PodDisruptionBudgets {} and {} both select {}, and then no eviction is possible",
            one.path(),
            other.path(),
            named(pods)
        ),
    )
    .change("Change spec.selector of one of them")
}

fn named(pods: &[&PodObject]) -> String {
    match pods {
        [one] => format!("pod {}", one.path()),
        [one, rest @ ..] => format!("pod {} and {} more here", one.path(), rest.len()),
        [] => "no pod".into(),
    }
}

/// That nothing bounds the drain.
pub fn unbounded(seen: &Seen<'_>, consequence: &str) -> Cause {
    Cause::new(
        Kind::NoTerminationGracePeriod,
        format!(
            "NodeClaim {} has no terminationGracePeriod, {consequence}",
            seen.claim.metadata.name
        ),
    )
    .change(
        "A spec.template.spec.terminationGracePeriod of the NodePool is for NodeClaims that are created from then on, and \
         makes those that exist drift",
    )
}
