//! A node as far as it is known.

use jiff::Timestamp;

use super::details::Details;
use super::known_pool::KnownPool;
use crate::nodelimit::plan::{BudgetsByNamespace, ClaimState, Condition, PodOnNode};

/// A NodeClaim, its node and its pods, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'s> {
    /// The time by the wall clock.
    pub now: Timestamp,
    /// The claim, as a plan sees it.
    pub state: &'s ClaimState<'s>,
    /// Further fields for a report.
    pub details: &'s Details,
    /// The condition `Ready` of its node.
    pub ready: Option<&'s Condition>,
    /// Its pool; `None` if it could not be read.
    pub pool: Option<&'s KnownPool<'s>>,
    /// The pods on the node; `None` if they could not be read.
    pub pods: Option<&'s [PodOnNode]>,
    /// All `PodDisruptionBudget`s; `None` if they could not be read.
    pub budgets: Option<&'s BudgetsByNamespace>,
    /// Whether Karpenter has said why it does not repair the node.
    pub is_called_broken: bool,
}

impl Seen<'_> {
    /// Whether no pod on the node needs another one.
    pub(super) fn is_empty(&self) -> Option<bool> {
        (self.state.node.is_some() && self.pods.is_some()).then(|| self.state.is_empty())
    }
}
