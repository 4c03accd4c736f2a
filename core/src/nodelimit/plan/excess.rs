//! What happens to the claims above the limit: which are chosen, in which order, and which of them are deleted now.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::situation::Situation;
use super::state::{Claim, ClaimState, DoNotDisrupt, ObjectRef, Pod, PodCosts};
use crate::api::{NodeLimit, NodeLimitMode, OverLimit};
use crate::nodelimit::ledger::Moment;

/// The most claims that are chosen at a time; the next are chosen when these are gone. Bounds the list in the ledger.
pub(crate) const MOST_VICTIMS: usize = 100;

/// The cost of one pod is clamped to the range from minus this to this.
// karpenter: pkg/utils/disruption/disruption.go EvictionCost
const DEAREST: f64 = 10.0;

/// The cost in an annotation that counts as much as one pod.
// karpenter: pkg/utils/disruption/disruption.go EvictionCost
const COST_OF_A_POD: f64 = 134_217_728.0;

/// The priority that counts as much as one pod.
// karpenter: pkg/utils/disruption/disruption.go EvictionCost
const PRIORITY_OF_A_POD: f64 = 33_554_432.0;

/// What happens to the claims above the limit.
#[derive(Debug, Default)]
pub struct ExcessDecision<'p> {
    /// The new list in the ledger, if it changes.
    pub victims: Option<Vec<Arc<str>>>,
    /// Claims to delete now.
    pub terminate: Vec<ObjectRef>,
    /// Claims that are chosen now.
    pub chosen: Vec<&'p ClaimState<'p>>,
    /// True if claims above the limit stay only until everything has been steady, and the limit the same, for long
    /// enough.
    pub is_settling: bool,
    /// When to decide again, if nothing changes before.
    pub again_at: Option<Moment>,
}

/// Decides what happens to the claims above the limit.
pub fn decide<'p>(situation: &Situation<'p>) -> ExcessDecision<'p> {
    if situation.pool.is_deleted {
        // Its claims and its ledger are deleted with it.
        return ExcessDecision::default();
    }
    let listed = &situation.state.ledger.victims;
    if !terminates(situation) {
        return ExcessDecision::listing((!listed.is_empty()).then(Vec::new));
    }
    let settled_at = situation.settled_at();
    if settled_at.is_none_or(|at| at > situation.clock) {
        return ExcessDecision {
            is_settling: situation.state.steady_since.is_some(),
            again_at: settled_at.filter(|_| situation.excess() > 0),
            ..ExcessDecision::default()
        };
    }
    let limit = situation.terminating_limit();
    let excess = limit.map_or(0, |limit| situation.counts.excess(limit));
    let is_spared = excess < situation.excess();
    ExcessDecision {
        is_settling: is_spared && excess == 0,
        again_at: situation.lenient_until.filter(|_| is_spared),
        ..reduce(situation, limit, excess)
    }
}

/// Decides which claims are chosen, or deleted, if `excess` claims are too many.
fn reduce<'p>(situation: &Situation<'p>, limit: Option<NodeLimit>, excess: usize) -> ExcessDecision<'p> {
    let listed = &situation.state.ledger.victims;
    let listed: BTreeSet<&str> = listed.iter().map(|uid| &**uid).collect();
    let standing = standing(situation, limit);
    let is_listed = |claim: &&ClaimState<'_>| listed.contains(&*claim.uid);
    let mut to_go: Vec<_> = standing.iter().copied().filter(is_listed).collect();
    sort(&mut to_go, situation);
    if to_go.len() > excess {
        return ExcessDecision::listing(Some(uids(to_go.iter().take(excess))));
    }
    let is_better = |claim: &&ClaimState<'_>| !is_listed(claim) && !goes_last(claim);
    if to_go.iter().copied().any(goes_last) && standing.iter().any(is_better) {
        // A user marked it after it was chosen. Others are chosen instead once the rest of the list is gone.
        return ExcessDecision::listing(Some(uids(to_go.iter().filter(|claim| !goes_last(claim)))));
    }
    if to_go.is_empty() {
        return choose(situation, excess, standing, &listed);
    }
    ExcessDecision {
        terminate: to_go
            .into_iter()
            .take(situation.state.terminations_left)
            .map(|claim| ObjectRef::to_claim(claim))
            .collect(),
        ..ExcessDecision::default()
    }
}

/// True if claims above the limit are deleted at all.
pub fn terminates(situation: &Situation<'_>) -> bool {
    situation.settings.rights.may_terminate() && is_termination_wanted(situation) && !situation.is_frozen()
}

/// True if the pool asks for that, whether or not poolgate may do it.
pub fn is_termination_wanted(situation: &Situation<'_>) -> bool {
    let limit = situation.pool.limit.filter(|_| situation.is_acted_upon());
    limit.is_some_and(|limit| limit.over_limit == OverLimit::Terminate)
}

/// The claims that count as too many if there are too many.
fn standing<'p>(situation: &Situation<'p>, limit: Option<NodeLimit>) -> Vec<&'p ClaimState<'p>> {
    let is_soft = limit.is_some_and(|limit| limit.mode == NodeLimitMode::Soft);
    let stands =
        |claim: &&ClaimState<'_>| claim.deleted.is_none() && !(is_soft && claim.is_being_disrupted());
    situation.claims.iter().copied().filter(stands).collect()
}

/// Chooses new victims, or clears the list once all in it are gone.
fn choose<'p>(
    situation: &Situation<'p>,
    excess: usize,
    mut standing: Vec<&'p ClaimState<'p>>,
    listed: &BTreeSet<&str>,
) -> ExcessDecision<'p> {
    if excess > 0 {
        sort(&mut standing, situation);
        standing.truncate(excess.min(MOST_VICTIMS));
        return ExcessDecision {
            victims: Some(uids(standing.iter())),
            chosen: standing,
            ..ExcessDecision::default()
        };
    }
    let remains = situation.claims.iter().any(|claim| listed.contains(&*claim.uid));
    ExcessDecision::listing((!listed.is_empty() && !remains).then(Vec::new))
}

fn uids<'c>(claims: impl Iterator<Item = &'c &'c ClaimState<'c>>) -> Vec<Arc<str>> {
    claims.map(|claim| Arc::clone(&claim.uid)).collect()
}

impl ExcessDecision<'_> {
    fn listing(victims: Option<Vec<Arc<str>>>) -> Self {
        Self {
            victims,
            ..Self::default()
        }
    }
}

/// How costly it is to delete a claim, the cheapest kind first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CostClass {
    /// No machine was ordered yet.
    Unlaunched,
    /// No pods except those of `DaemonSets`.
    Empty,
    /// Karpenter is about to disrupt it. Karpenter never chooses these here, but does not count them as too many
    /// either.
    Disrupted,
    /// Only pods that may be disrupted.
    Plain,
    /// A user wants a pod on it to stay for some time.
    Wanted,
    /// A user wants a pod on it, or the node itself, never to be disrupted.
    WantedForever,
}

/// True if a user wants a claim never to be disrupted: neither the time nor what poolgate writes changes that, and such
/// claims are the last to be deleted.
fn goes_last(claim: &ClaimState<'_>) -> bool {
    let is_wanted = |pod: &&Pod| pod.do_not_disrupt == Some(DoNotDisrupt::Always);
    let is_marked = claim.marks().ask_to_stay();
    claim.is_launched && !claim.is_being_disrupted() && (is_marked || claim.pods.iter().any(is_wanted))
}

/// Sorts claims by the order in which they are to be deleted.
fn sort(claims: &mut Vec<&ClaimState<'_>>, situation: &Situation<'_>) {
    let (now, costs) = (situation.wall, situation.pool.pod_costs);
    let mut ranked: Vec<_> = claims
        .drain(..)
        .map(|claim| (Rank::of(claim, costs, now), claim))
        .collect();
    ranked.sort_by(|(one, first), (other, second)| {
        let dearness = one.cmp(other);
        dearness.then_with(|| first.age_key().cmp(&second.age_key()))
    });
    claims.extend(ranked.into_iter().map(|(_, claim)| claim));
}

struct Rank {
    kind: CostClass,
    cost: f64,
}

impl Rank {
    fn of(claim: &ClaimState<'_>, costs: PodCosts, now: Timestamp) -> Self {
        let kind = CostClass::of(claim, now);
        let cost = match kind {
            CostClass::Unlaunched | CostClass::Empty => 0.0,
            _ => rescheduling_cost(&claim.pods, costs) * lifetime_remaining(claim, now),
        };
        Self { kind, cost }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        self.kind
            .cmp(&other.kind)
            .then_with(|| self.cost.total_cmp(&other.cost))
    }
}

impl CostClass {
    fn of(claim: &ClaimState<'_>, now: Timestamp) -> Self {
        if goes_last(claim) {
            return Self::WantedForever;
        }
        let is_wanted =
            claim.marks().protect_for_user() || claim.pods.iter().any(|pod| pod.forbids_disruption(now));
        if !claim.is_launched {
            Self::Unlaunched
        } else if !is_wanted && claim.pods.iter().all(|pod| pod.is_daemon) {
            Self::Empty
        } else if claim.is_being_disrupted() {
            Self::Disrupted
        } else if is_wanted {
            Self::Wanted
        } else {
            Self::Plain
        }
    }
}

/// What it costs to move the pods to other nodes.
// karpenter: pkg/utils/disruption/disruption.go ReschedulingCost
fn rescheduling_cost(pods: &[&Pod], costs: PodCosts) -> f64 {
    let mut costs: Vec<f64> = pods.iter().map(|pod| eviction_cost(pod, costs)).collect();
    // In a fixed order, so that the sum is the same to the last bit whatever the order of the pods.
    costs.sort_unstable_by(f64::total_cmp);
    costs.into_iter().sum()
}

/// What it costs to evict a pod, as Karpenter's `EvictionCost` computes it.
// karpenter: pkg/utils/disruption/disruption.go EvictionCost
pub fn eviction_cost(pod: &Pod, costs: PodCosts) -> f64 {
    let written = f64::from(costs.read(pod).unwrap_or(0)) / COST_OF_A_POD;
    let priority = f64::from(pod.priority.unwrap_or(0)) / PRIORITY_OF_A_POD;
    (1.0 + written + priority).clamp(-DEAREST, DEAREST)
}

/// The share of its lifetime that a claim still has. 1 if it never expires.
// karpenter: pkg/utils/disruption/disruption.go LifetimeRemaining
fn lifetime_remaining(claim: &Claim, now: Timestamp) -> f64 {
    let Some(lifetime) = claim.expire_after else {
        return 1.0;
    };
    if lifetime <= SignedDuration::ZERO {
        return 0.0;
    }
    let age = now.duration_since(claim.created);
    (1.0 - age.as_secs_f64() / lifetime.as_secs_f64()).clamp(0.0, 1.0)
}
