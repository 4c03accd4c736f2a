//! How many nodes a pool has, may have, and may lose, and the limit that Karpenter sees.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::Situation;
use crate::api::{ClaimCounts, LimitSchedule, NodeLimit, NodeLimitMode};
use crate::budget::{Allowance, Reason};
use crate::nodelimit::ledger::{Moment, ReplacedFor};
use crate::nodelimit::plan::state::{ClaimState, LedgerState, LimitWrite, Pool};

const MINUTE: Duration = Duration::from_mins(1);

/// The counts of a pool at one moment.
#[derive(Debug)]
pub struct Counts {
    /// How many NodeClaims there are, and how many of them a limit counts.
    pub claims: ClaimCounts,
    /// UIDs that were admitted and have no claim in view.
    pub unseen: usize,
    /// The nodes that budgets take a percentage of.
    budgeted: u32,
    /// Of those, the ones that are going, or reboot.
    disrupted: u32,
    /// Of the others, the ones that are not ready.
    unready: u32,
    /// Nodes with poolgate's marks.
    held: usize,
    /// Claims that were admitted above the limit, as far as a node is still being replaced for each.
    surged: usize,
}

impl Counts {
    /// The counts of these claims of a pool, and of its ledger.
    pub fn of(claims: &[ClaimState<'_>], ledger: &LedgerState) -> Self {
        let seen: BTreeSet<&str> = claims.iter().map(|claim| &*claim.uid).collect();
        let reservations: BTreeSet<&str> = ledger.reservations.iter().map(|uid| &**uid).collect();
        let is_disrupted = |claim: &ClaimState<'_>| claim.is_going() || claim.conditions.rebooting;
        let is_unready =
            |claim: &ClaimState<'_>| !is_disrupted(claim) && claim.node.is_some_and(|node| !node.is_ready);
        Self {
            claims: ClaimCounts {
                existing: claims.len(),
                undeleted: count(claims, |claim| claim.deleted.is_none()),
                staying: count(claims, |claim| !claim.is_going()),
            },
            unseen: reservations.difference(&seen).count(),
            budgeted: number(count(claims, is_budgeted)),
            disrupted: number(count(claims, |claim| is_budgeted(claim) && is_disrupted(claim))),
            unready: number(count(claims, |claim| is_budgeted(claim) && is_unready(claim))),
            surged: surged(claims, ledger),
            held: count(claims, |claim| claim.marks().any_is_ours()),
        }
    }

    /// How many more claims may be created; `None` if nothing limits.
    pub fn remaining(&self, pool: &Pool) -> Option<usize> {
        self.remaining_of(pool, 0)
    }

    /// How many more claims that replace others may be created: a surge is for these.
    pub fn remaining_replacements(&self, pool: &Pool) -> Option<usize> {
        self.remaining_of(pool, pool.surge)
    }

    fn remaining_of(&self, pool: &Pool, surge: u32) -> Option<usize> {
        let limit = pool.limit?;
        let taken = self.claims.counted(limit.mode).saturating_add(self.unseen);
        Some(
            (limit.nodes as usize)
                .saturating_add(surge as usize)
                .saturating_sub(taken),
        )
    }

    /// How many nodes the active budgets allow to be disrupted for a reason; `None` if nothing limits.
    // karpenter: pkg/controllers/disruption/helpers.go NodePoolStats
    // karpenter: pkg/apis/v1/nodepool.go NodePool.GetAllowedDisruptionsByReason
    pub fn budget(&self, pool: &Pool, reason: Reason, now: Timestamp) -> Option<u32> {
        match &pool.budgets {
            Err(_) => Some(0),
            Ok(budgets) => Allowance::nodes(budgets.allowance(reason, self.budgeted, now)),
        }
    }

    /// How many claims are too many under a limit: a surge makes none too many while it lasts.
    pub fn excess(&self, limit: NodeLimit) -> usize {
        let hard = self.claims.excess(limit.nodes, NodeLimitMode::Hard);
        let hard = hard.saturating_sub(self.surged);
        match limit.mode {
            NodeLimitMode::Hard => hard,
            // A pool that says no mode may have a surge, and is counted as Soft here.
            NodeLimitMode::Soft => hard.min(self.claims.excess(limit.nodes, NodeLimitMode::Soft)),
        }
    }

    /// How many nodes budgets take a percentage of.
    pub const fn budgeted(&self) -> u32 {
        self.budgeted
    }

    /// How many nodes use up budgets for a reason.
    // karpenter: pkg/controllers/disruption/helpers.go NodePoolStatsFromNodes
    // karpenter: pkg/controllers/disruption/helpers.go BuildDisruptionBudgetMapping
    pub const fn consumed(&self, reason: Reason) -> u32 {
        match reason {
            Reason::Unhealthy => self.disrupted,
            _ => self.disrupted + self.unready,
        }
    }
}

/// True if budgets take a percentage of its node. A reboot takes the condition `Initialized` away.
// karpenter: pkg/controllers/disruption/helpers.go NodePoolStatsFromNodes
fn is_budgeted(claim: &ClaimState<'_>) -> bool {
    let conditions = claim.conditions;
    let counts = conditions.initialized || conditions.rebooting;
    claim.node.is_some() && counts && !conditions.instance_terminating
}

/// True if Karpenter requests new nodes when it disrupts for a reason.
pub const fn asks_for_replacement(reason: Reason) -> bool {
    !matches!(reason, Reason::Empty)
}

/// How many claims the gate admitted because of a surge that lasts: one ends when Karpenter no longer disrupts a node for
/// it, or that node is on its way out.
fn surged(claims: &[ClaimState<'_>], ledger: &LedgerState) -> usize {
    if ledger.surged.is_empty() {
        return 0;
    }
    let is_surged = |claim: &ClaimState<'_>| claim.deleted.is_none() && ledger.surged.contains(&claim.uid);
    count(claims, is_surged).min(count(claims, ClaimState::is_being_replaced))
}

fn count<'s>(claims: &[ClaimState<'s>], which: impl Fn(&ClaimState<'s>) -> bool) -> usize {
    claims.iter().filter(|claim| which(claim)).count()
}

/// A count as it is shown.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Situation<'_> {
    /// The numbers to show; `unrepaired` nodes wait for their repair.
    pub fn numbers(&self, unrepaired: usize) -> Numbers {
        let (pool, counts) = (self.pool, &self.counts);
        let claims = self.claims.iter();
        let states: Vec<_> = claims.map(|claim| RolloutState::of(claim, pool)).collect();
        let in_state = |state| states.iter().filter(|own| **own == state).count();
        Numbers {
            nodes: number(match pool.limit {
                Some(limit) => counts.claims.counted(limit.mode),
                None => counts.claims.existing,
            }),
            limit: pool.limit.map(|limit| limit.nodes),
            remaining: counts.remaining(pool).map(number),
            mode: pool.limit.map(|limit| limit.mode),
            allowed: Reason::ALL.map(|reason| {
                let budget = counts.budget(pool, reason, self.wall);
                let remaining = counts.remaining_replacements(pool).map(number);
                let remaining = remaining.filter(|_| pool.is_hard() && asks_for_replacement(reason));
                (reason, [budget, remaining].into_iter().flatten().min())
            }),
            held: number(counts.held),
            excess: number(self.excess()),
            unrepaired: number(unrepaired),
            is_rise_withheld: self.is_rise_withheld(),
            rollout: RolloutState::ALL.map(|state| (state, number(in_state(state)))),
        }
    }

    /// The limit to write into a pool that leaves it to poolgate; `None` if it is there already.
    ///
    /// Karpenter drops a node from its own count when it is deleted, or when its replacement has been created. A Hard limit
    /// counts it until it is gone, so at the limit Karpenter would request a node that must be denied, again and again, and
    /// each error slows down its one provisioner for every pool. If the limit is lower by the number of these nodes, Karpenter
    /// does not request one.
    ///
    /// A taint alone does not count: Karpenter sets it before it requests the replacement, and takes it off again if that is
    /// denied. A number that followed it would be too low for the next try, and a repair that is not tried is never stuck.
    pub fn limit_write(&self) -> Option<LimitWrite> {
        let limit = self.pool.limit.filter(|_| self.is_acted_upon())?;
        let in_force = self.scheduled_limit().unwrap_or(limit.nodes);
        let is_going = |claim: &&&ClaimState<'_>| {
            let is_replaced = claim.is_being_disrupted() && self.may_have_replacement(claim);
            claim.deleted.is_some() || is_replaced || self.is_listed_as_drifted(claim)
        };
        let going = match limit.mode {
            NodeLimitMode::Hard => number(self.claims.iter().filter(is_going).count()),
            NodeLimitMode::Soft => 0,
        };
        let nodes = in_force.saturating_sub(going);
        let is_ours = self.pool.leaves_limit_to_poolgate;
        is_ours.then(|| self.pool.limit_write(in_force, nodes)).flatten()
    }

    /// The limit that a schedule has in force now. A clock that may be wrong raises none.
    pub fn scheduled_limit(&self) -> Option<u32> {
        let schedule = self.schedule()?;
        let in_force = schedule.in_force(self.wall);
        Some(if self.settings.is_clock_right {
            in_force
        } else {
            in_force.min(self.pool.stored_limit.unwrap_or_else(|| schedule.lowest()))
        })
    }

    /// True if a schedule would raise the limit now, but for the clock.
    pub fn is_rise_withheld(&self) -> bool {
        let in_force = self.schedule().map(|schedule| schedule.in_force(self.wall));
        self.scheduled_limit() < in_force
    }

    fn schedule(&self) -> Option<&LimitSchedule> {
        let schedule = self.pool.schedule.as_ref().filter(|_| self.is_acted_upon());
        schedule?.as_ref().ok()
    }

    /// The next full minute: windows of budgets and hours of schedules begin and end then.
    pub fn next_minute(&self) -> Option<Moment> {
        let second = u64::try_from(self.wall.as_second().rem_euclid(60)).ok()?;
        let passed = Duration::new(second, u32::try_from(self.wall.subsec_nanosecond()).ok()?);
        Some(self.clock.plus(MINUTE.saturating_sub(passed)))
    }

    /// True if the claim is about to be deleted to make room for its replacement.
    fn is_listed_as_drifted(&self, claim: &ClaimState<'_>) -> bool {
        let listed = self.state.ledger.replacement.as_ref();
        listed
            .is_some_and(|listed| listed.reason == ReplacedFor::Drifted && *claim.uid == *listed.uid.as_str())
    }
}

/// How far a pool's nodes follow its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolloutState {
    /// Nothing is to be replaced.
    UpToDate,
    /// Karpenter has yet to replace it.
    Waiting,
    /// It is on its way out.
    Replacing,
}

impl RolloutState {
    /// How far the replacement of a claim is, if the pool is no longer as it was when its node was made.
    pub fn of(claim: &ClaimState<'_>, pool: &Pool) -> Self {
        let hashes = claim.drift_hash.zip(pool.drift_hash);
        let is_outdated = claim.conditions.drifted || hashes.is_some_and(|(own, current)| own != current);
        if !is_outdated {
            Self::UpToDate
        } else if claim.deleted.is_some() || claim.is_openly_disrupted() {
            Self::Replacing
        } else {
            Self::Waiting
        }
    }

    /// All of them. Each NodeClaim is in one.
    pub const ALL: [Self; 3] = [Self::UpToDate, Self::Waiting, Self::Replacing];

    /// The word for metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UpToDate => "up_to_date",
            Self::Waiting => "waiting",
            Self::Replacing => "replacing",
        }
    }
}

/// The numbers of a pool, before the plan is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    /// How many NodeClaims count, in the pool's mode; all of them if it has no limit.
    pub nodes: u32,
    /// The most nodes that the pool may have; `None` if it has no limit.
    pub limit: Option<u32>,
    /// How many more are possible, minus reservations that have no claim yet.
    pub remaining: Option<u32>,
    /// The mode of the limit.
    pub mode: Option<NodeLimitMode>,
    /// How many nodes may be disrupted for each reason: the least of the active budgets and, in a Hard pool and for
    /// reasons that need replacements, the
    /// remaining nodes. `None`: as many as there are.
    pub allowed: [(Reason, Option<u32>); Reason::ALL.len()],
    /// How many nodes carry poolgate's marks.
    pub held: u32,
    /// How many NodeClaims are above the limit, not counting those that are going already.
    pub excess: u32,
    /// How many nodes Karpenter wants to repair, and cannot.
    pub unrepaired: u32,
    /// True if a schedule would raise the limit, but for the clock of this replica.
    pub is_rise_withheld: bool,
    /// How many NodeClaims are in each state; all of them together.
    pub rollout: [(RolloutState, u32); RolloutState::ALL.len()],
}
