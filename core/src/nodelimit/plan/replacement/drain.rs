//! Whether a node can be drained without harm: every pod is started again elsewhere, nobody wants one of them to stay, and
//! all of them may be evicted now.
//!
//! This is stricter than Karpenter: it asks only whether each budget allows one eviction, does not mind bare pods, and does
//! not ask at all where a `terminationGracePeriod` ends the drain in any case. It also lets pods go, whatever their budget
//! says, that tolerate its taint.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::facts::{DISRUPTED_TAINT, Operator};
use crate::nodelimit::plan::state::Pod;
use crate::pods::{Effect, LabelRequirement, NodeTaint, tolerated};

/// How many pods of a node are looked at. No node runs as many.
pub const MOST_PODS_ON_NODE: usize = 2_000;

/// The name of an object, with its namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamespacedName {
    /// The namespace of the object.
    pub namespace: Box<str>,
    /// The name of the object within its namespace.
    pub name: Box<str>,
}

/// A pod that is bound to the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodOnNode {
    /// `metadata.name`; empty where no report names it.
    pub name: Box<str>,
    /// What else is known of it.
    pub pod: Arc<Pod>,
}

/// What the PodDisruptionBudgets say to the eviction of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction<'b> {
    /// A drain does not evict it, no budget selects it, or the one that does lets pods go that are not ready.
    Free,
    /// It needs one of the evictions that this budget allows.
    Counted(&'b PodDisruptionBudget),
    /// The eviction API refuses it, because it is selected by these two, the first ones by name.
    Refused([&'b PodDisruptionBudget; 2]),
}

/// Why draining a node would do harm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum DrainObstacle {
    /// A pod would be lost.
    #[error("no controller owns pod {0}, so nothing would start it on another node")]
    BarePod(NamespacedName),
    /// A user wants a pod to stay.
    #[error("pod {0} has the annotation karpenter.sh/do-not-disrupt")]
    DoNotDisrupt(NamespacedName),
    /// The eviction API refuses to evict a pod.
    #[error("PodDisruptionBudgets {first} and {second} both select pod {pod}, so it cannot be evicted")]
    SeveralBudgets {
        /// The pod that cannot be evicted.
        pod: NamespacedName,
        /// One of its budgets.
        first: NamespacedName,
        /// Another budget that selects the pod.
        second: NamespacedName,
    },
    /// It is not known how many evictions a budget allows.
    #[error("the status of PodDisruptionBudget {0} is not up to date yet")]
    UnknownBudget(NamespacedName),
    /// A budget allows too few evictions.
    #[error("PodDisruptionBudget {budget} selects {pods} of the node's pods but allows {allowed} evictions")]
    TightBudget {
        /// The budget that allows too few evictions.
        budget: NamespacedName,
        /// How many evictions it allows.
        allowed: usize,
        /// How many of its pods would be evicted.
        pods: usize,
    },
    /// Not all of the node's pods are known.
    #[error("more than {MOST_PODS_ON_NODE} pods are bound to the node")]
    TooManyPods,
}

impl DrainObstacle {
    /// Why draining a node with these pods would do harm; `None` if it would not. `budgets` may be all of the cluster, or
    /// those that cover one of the pods.
    ///
    /// If there are several obstacles, it is the first one in the order of the enumeration and of names, whatever the order
    /// of the lists.
    pub fn find(pods: &[PodOnNode], budgets: &[PodDisruptionBudget], now: Timestamp) -> Option<Self> {
        let too_many = (pods.len() > MOST_PODS_ON_NODE).then_some(Self::TooManyPods);
        let of_pods = pods.iter().filter_map(|pod| Self::of_pod(pod, budgets, now));
        let of_budgets = budgets.iter().filter_map(|budget| Self::of_budget(budget, pods));
        too_many.into_iter().chain(of_pods).chain(of_budgets).min()
    }

    fn of_pod(pod: &PodOnNode, budgets: &[PodDisruptionBudget], now: Timestamp) -> Option<Self> {
        if pod.pod.is_lost_with_its_node() {
            return Some(Self::BarePod(pod.full_name()));
        }
        // As in Karpenter, also a mirror pod and the pod of a `DaemonSet`.
        if pod.pod.forbids_disruption(now) {
            return Some(Self::DoNotDisrupt(pod.full_name()));
        }
        match pod.eviction(budgets) {
            Eviction::Free | Eviction::Counted(_) => None,
            Eviction::Refused([first, second]) => Some(Self::SeveralBudgets {
                pod: pod.full_name(),
                first: first.name.clone(),
                second: second.name.clone(),
            }),
        }
    }

    fn of_budget(budget: &PodDisruptionBudget, pods: &[PodOnNode]) -> Option<Self> {
        let pods = pods.iter().filter(|pod| budget.counts(pod)).count();
        if pods == 0 {
            return None;
        }
        let Some(allowed) = budget.allowed() else {
            return Some(Self::UnknownBudget(budget.name.clone()));
        };
        (pods > allowed).then(|| Self::TightBudget {
            budget: budget.name.clone(),
            allowed,
            pods,
        })
    }
}

impl PodOnNode {
    /// Its name and namespace.
    pub fn full_name(&self) -> NamespacedName {
        NamespacedName {
            namespace: self.pod.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// What these budgets say to its eviction, as the eviction API reads them.
    pub fn eviction<'b>(&self, budgets: &'b [PodDisruptionBudget]) -> Eviction<'b> {
        let mut covering: Vec<_> = budgets.iter().filter(|budget| budget.covers(self)).collect();
        covering.sort_unstable_by_key(|budget| &budget.name);
        match *covering {
            [first, second, ..] => Eviction::Refused([first, second]),
            [budget] if budget.counts(self) => Eviction::Counted(budget),
            [_] | [] => Eviction::Free,
        }
    }

    /// True if Karpenter's drain waits until the pod is gone.
    // karpenter: pkg/utils/pod/scheduling.go IsDrainable
    pub(crate) fn is_drained(&self) -> bool {
        !self.pod.is_mirror && !self.tolerates_disruption()
    }

    /// True if a drain must evict the pod. The pods of most daemons stay until the machine goes: they tolerate every
    /// taint. Karpenter waits for the others.
    fn is_evicted(&self) -> bool {
        self.pod.is_active() && !self.pod.is_mirror && !(self.pod.is_daemon && self.tolerates_disruption())
    }

    // karpenter: pkg/utils/pod/scheduling.go ToleratesDisruptedNoScheduleTaint
    fn tolerates_disruption(&self) -> bool {
        let taint = NodeTaint {
            key: DISRUPTED_TAINT.to_owned(),
            value: String::new(),
            effect: Effect::NoSchedule,
        };
        tolerated(&[taint], &self.pod.needs.tolerations)
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A `PodDisruptionBudget`. One that is being deleted counts like any other, as long as it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodDisruptionBudget {
    /// Its name and namespace; it selects pods of that namespace only.
    pub name: NamespacedName,
    /// `spec.selector`, `matchLabels` as requirements too. An empty one selects every pod of the namespace, and `None`
    /// selects none.
    pub selector: Option<Vec<LabelRequirement>>,
    /// `metadata.generation`: counts the changes of its `spec`.
    pub generation: i64,
    /// `status.observedGeneration`: the generation that its `status` was computed from.
    pub observed_generation: i64,
    /// `status.disruptionsAllowed`: how many of its pods may be evicted now.
    pub disruptions_allowed: i64,
    /// `status.currentHealthy`: how many of its pods are healthy.
    pub current_healthy: i64,
    /// `status.desiredHealthy`: how many must be.
    pub desired_healthy: i64,
    /// True if `spec.unhealthyPodEvictionPolicy` is `AlwaysAllow`: pods that are not ready need none of its evictions.
    pub lets_unready_go: bool,
}

/// Many `PodDisruptionBudget`s by their namespaces. A budget selects pods of its own namespace only, so a pod is compared
/// with those alone.
#[derive(Debug, Clone, Default)]
pub struct BudgetsByNamespace(BTreeMap<Box<str>, Vec<PodDisruptionBudget>>);

impl BudgetsByNamespace {
    /// Those of a namespace.
    pub fn in_namespace(&self, namespace: &str) -> &[PodDisruptionBudget] {
        self.0.get(namespace).map(Vec::as_slice).unwrap_or_default()
    }
}

impl FromIterator<PodDisruptionBudget> for BudgetsByNamespace {
    fn from_iter<I: IntoIterator<Item = PodDisruptionBudget>>(budgets: I) -> Self {
        let mut by_namespace = Self::default();
        for budget in budgets {
            let namespace = budget.name.namespace.clone();
            by_namespace.0.entry(namespace).or_default().push(budget);
        }
        by_namespace
    }
}

impl PodDisruptionBudget {
    /// True if it selects a pod that a drain must evict.
    pub fn covers(&self, pod: &PodOnNode) -> bool {
        self.name.namespace == pod.pod.namespace
            && pod.is_evicted()
            && self.selector.as_ref().is_some_and(|selector| {
                selector
                    .iter()
                    .all(|requirement| is_met(requirement, &pod.pod.labels))
            })
    }

    /// True if a drain needs one of its evictions for this pod.
    fn counts(&self, pod: &PodOnNode) -> bool {
        self.covers(pod) && !(self.lets_unready_go && pod.pod.is_unready)
    }

    /// How many evictions it allows; `None` if its status is older than its spec, and then the eviction API allows none.
    pub fn allowed(&self) -> Option<usize> {
        let is_current = self.observed_generation >= self.generation;
        is_current.then(|| usize::try_from(self.disruptions_allowed).unwrap_or(0))
    }
}

fn is_met(requirement: &LabelRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = value.is_some_and(|value| requirement.values.contains(value));
    match requirement.operator {
        Operator::In => is_listed,
        Operator::NotIn => !is_listed,
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        // No selector has them. If one had, it is better to take the pod for covered.
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => true,
    }
}
