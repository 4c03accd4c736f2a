//! How many nodes a pool has, may have, and may lose.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::claim::{ClaimState, Disruption};
use super::node::{Marks, Node};
use super::outcome::Numbers;
use super::pool::Pool;
use super::state::PoolState;
use crate::api::{ClaimCounts, NodeLimit, NodeLimitMode};
use crate::budget::{Allowance, Reason};

/// The counts of a pool at one moment.
#[derive(Debug)]
pub struct Counts {
    /// How many NodeClaims there are, and how many of them a limit counts.
    pub claims: ClaimCounts,
    /// UIDs that were admitted and have no claim in view.
    pub unseen: usize,
    /// The nodes that budgets take a percentage of.
    budgeted: u32,
    /// Of those, the nodes that use up budgets.
    disrupting: u32,
    /// Nodes with poolgate's marks.
    held: usize,
    /// Claims that were admitted above the limit, as far as a node is still being replaced for each.
    surged: usize,
}

impl Counts {
    pub fn of(state: &PoolState<'_>) -> Self {
        let seen: BTreeSet<&str> = state.claims.iter().map(|state| &*state.claim.uid).collect();
        let reservations: BTreeSet<&str> = state.ledger.reservations.iter().map(|uid| &**uid).collect();
        Self {
            claims: ClaimCounts {
                existing: state.claims.len(),
                undeleted: count(state, |claim| claim.claim.deleted.is_none()),
                staying: count(state, |claim| !claim.is_going()),
            },
            unseen: reservations.difference(&seen).count(),
            budgeted: number(count(state, ClaimState::is_budgeted)),
            disrupting: number(count(state, |claim| {
                claim.is_budgeted() && claim.uses_up_budget()
            })),
            surged: surged(state),
            held: count(state, |claim| {
                claim.node.is_some_and(|node| node.marks.any_is_ours())
            }),
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
    pub fn budget(&self, pool: &Pool, reason: Reason, now: Timestamp) -> Option<u32> {
        match &pool.budgets {
            None => Some(0),
            Some(budgets) => Allowance::nodes(budgets.allowance(reason, self.budgeted, now)),
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

    /// How many nodes use up budgets.
    pub const fn disrupting(&self) -> u32 {
        self.disrupting
    }

    pub fn numbers(&self, pool: &Pool, excess: usize, now: Timestamp) -> Numbers {
        let remaining = self.remaining(pool).map(number);
        Numbers {
            nodes: number(match pool.limit {
                Some(limit) => self.claims.counted(limit.mode),
                None => self.claims.existing,
            }),
            limit: pool.limit.map(|limit| limit.nodes),
            remaining,
            mode: pool.limit.map(|limit| limit.mode),
            allowed: Reason::ALL.map(|reason| {
                let budget = self.budget(pool, reason, now);
                let places = self.remaining_replacements(pool).map(number);
                let places = places.filter(|_| pool.is_hard() && asks_for_replacement(reason));
                (reason, [budget, places].into_iter().flatten().min())
            }),
            held: number(self.held),
            excess: number(excess),
            unrepaired: 0,
        }
    }
}

impl Pool {
    /// Whether its limit must never be exceeded.
    pub(crate) fn is_hard(&self) -> bool {
        self.limit.is_some_and(|limit| limit.mode == NodeLimitMode::Hard)
    }
}

impl ClaimState<'_> {
    /// Whether the gate makes room for its replacement.
    pub(crate) fn is_being_replaced(&self) -> bool {
        let conditions = self.claim.conditions;
        let is_disrupted = conditions.disruption.is_some() && !conditions.rebooting;
        self.claim.deleted.is_none() && conditions.initialized && is_disrupted
    }

    /// Whether it is deleted or Karpenter is disrupting its node.
    pub(crate) fn is_going(&self) -> bool {
        self.claim.deleted.is_some() || self.is_being_disrupted()
    }

    /// Whether Karpenter is disrupting its node or about to. A reboot is not a disruption here: the node stays.
    pub(crate) fn is_being_disrupted(&self) -> bool {
        self.node.is_some_and(Node::is_being_disrupted) && !self.claim.conditions.rebooting
    }

    /// Whether it is not deleted, and Karpenter is disrupting its node, which is not closed.
    pub(crate) fn is_openly_disrupted(&self) -> bool {
        self.claim.deleted.is_none()
            && self.is_being_disrupted()
            && self.node.is_some_and(|node| !self.is_closed(node.marks))
    }

    /// Whether these marks keep Karpenter from disrupting the node for the reason for which it wants to.
    fn is_closed(&self, marks: Marks) -> bool {
        if self.is_to_be_repaired() {
            marks.do_not_repair
        } else {
            marks.do_not_disrupt
        }
    }

    /// Whether Karpenter wants to replace the node because it is broken.
    pub(crate) fn is_to_be_repaired(&self) -> bool {
        let conditions = self.claim.conditions;
        let is_repair = |disruption: Disruption| disruption.is_repair;
        self.claim.deleted.is_none() && !conditions.rebooting && conditions.disruption.is_some_and(is_repair)
    }

    /// Whether budgets take a percentage of it (`BuildDisruptionBudgetMapping`).
    fn is_budgeted(&self) -> bool {
        let conditions = self.claim.conditions;
        self.node.is_some() && conditions.initialized && !conditions.instance_terminating
    }

    /// Whether it uses up budgets.
    fn uses_up_budget(&self) -> bool {
        self.is_going() || self.claim.conditions.rebooting || self.node.is_some_and(|node| !node.is_ready)
    }
}

/// Whether Karpenter requests new nodes when it disrupts for a reason.
pub const fn asks_for_replacement(reason: Reason) -> bool {
    !matches!(reason, Reason::Empty)
}

/// How many claims the gate admitted because of a surge that lasts: one ends when Karpenter no longer disrupts a node for
/// it, or that node is on its way out.
fn surged(state: &PoolState<'_>) -> usize {
    if state.ledger.surged.is_empty() {
        return 0;
    }
    let is_surged = |claim: &ClaimState<'_>| {
        claim.claim.deleted.is_none() && state.ledger.surged.contains(&claim.claim.uid)
    };
    count(state, is_surged).min(count(state, ClaimState::is_being_replaced))
}

fn count<'s>(state: &PoolState<'s>, which: impl Fn(&ClaimState<'s>) -> bool) -> usize {
    state.claims.iter().filter(|claim| which(claim)).count()
}

/// A count as it is shown.
pub fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
