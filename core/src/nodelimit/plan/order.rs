//! The order in which Karpenter deletes claims of a pool that has too many (`static.deprovisioning`), with ties
//! broken by age and name.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};

use super::claim::{Claim, ClaimState};
use super::pod::{DeletionCost, DoNotDisrupt, Pod};

/// The cost of one pod is clamped to the range from minus this to this.
const DEAREST: f64 = 10.0;

/// The deletion cost that counts as much as one pod.
const DELETION_COST_OF_A_POD: f64 = 134_217_728.0;

/// The priority that counts as much as one pod.
const PRIORITY_OF_A_POD: f64 = 33_554_432.0;

/// How costly it is to delete a claim, the cheapest kind first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
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
    Wished,
    /// A user wants a pod on it, or the node itself, never to be disrupted.
    WishedForever,
}

/// Whether a user wants a claim never to be disrupted: neither the time nor what poolgate writes changes that, and such
/// claims are the last to be deleted.
pub fn goes_last(claim: &ClaimState<'_>) -> bool {
    let is_wanted = |pod: &&Pod| pod.do_not_disrupt == Some(DoNotDisrupt::Always);
    let is_marked = claim.node.is_some_and(|node| node.marks.are_a_lasting_wish());
    claim.claim.is_launched && !claim.is_being_disrupted() && (is_marked || claim.pods.iter().any(is_wanted))
}

/// Sorts claims by the order in which they are to be deleted.
pub fn sort(claims: &mut Vec<&ClaimState<'_>>, now: Timestamp) {
    let mut ranked: Vec<_> = claims
        .drain(..)
        .map(|claim| (Rank::of(claim, now), claim))
        .collect();
    ranked.sort_by(|(one, first), (other, second)| {
        let dearness = one.cmp(other);
        dearness.then_with(|| first.age_key().cmp(&second.age_key()))
    });
    claims.extend(ranked.into_iter().map(|(_, claim)| claim));
}

struct Rank {
    kind: Kind,
    cost: f64,
}

impl Rank {
    fn of(claim: &ClaimState<'_>, now: Timestamp) -> Self {
        let kind = Kind::of(claim, now);
        let cost = match kind {
            Kind::Unlaunched | Kind::Empty => 0.0,
            _ => rescheduling_cost(&claim.pods) * lifetime_remaining(claim.claim, now),
        };
        Self { kind, cost }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        self.kind
            .cmp(&other.kind)
            .then_with(|| self.cost.total_cmp(&other.cost))
    }
}

impl Kind {
    fn of(claim: &ClaimState<'_>, now: Timestamp) -> Self {
        if goes_last(claim) {
            return Self::WishedForever;
        }
        let is_wished = claim.node.is_some_and(|node| node.marks.are_a_wish())
            || claim.pods.iter().any(|pod| pod.forbids_disruption(now));
        if !claim.claim.is_launched {
            Self::Unlaunched
        } else if !is_wished && claim.pods.iter().all(|pod| pod.is_daemon) {
            Self::Empty
        } else if claim.is_being_disrupted() {
            Self::Disrupted
        } else if is_wished {
            Self::Wished
        } else {
            Self::Plain
        }
    }
}

/// What it costs to move the pods to other nodes.
fn rescheduling_cost(pods: &[&Pod]) -> f64 {
    let cost = |pod: &&Pod| {
        let deletion = pod.deletion_cost.map_or(0.0, DeletionCost::get) / DELETION_COST_OF_A_POD;
        let priority = f64::from(pod.priority.unwrap_or(0)) / PRIORITY_OF_A_POD;
        (1.0 + deletion + priority).clamp(-DEAREST, DEAREST)
    };
    let mut costs: Vec<f64> = pods.iter().map(cost).collect();
    // In a fixed order, so that the sum is the same to the last bit whatever the order of the pods.
    costs.sort_unstable_by(f64::total_cmp);
    costs.into_iter().sum()
}

/// The share of its lifetime that a claim still has. 1 if it never expires.
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
