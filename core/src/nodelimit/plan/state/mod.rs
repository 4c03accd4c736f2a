//! All inputs of a plan.

mod claim;
mod marks;
mod pod;
mod pool;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::nodelimit::ledger::{Moment, Replacement, Stopped};
use crate::pods::Needs;

pub use claim::{Claim, ClaimState, Conditions, DEADLINE_ANNOTATION, Disruption, Node, ObjectRef, Tries};
pub use marks::{HeldFor, Marks};
pub use pod::{
    DELETION_COST_ANNOTATION, DISRUPTION_COST_ANNOTATION, DoNotDisrupt, Pod, PodCosts, Protection,
    written_cost,
};
pub use pool::{Condition, LimitWrite, Pool, PoolDetails};

/// How long the turn of a drifted node lasts in a pool at its limit, by default.
pub(crate) const ROTATION: Duration = Duration::from_mins(2);

/// How long everything must have been steady before anything is terminated, by default.
pub const SETTLE: Duration = Duration::from_mins(3);

/// A pool and everything that belongs to it at one moment.
#[derive(Debug, Clone)]
pub struct PoolState<'s> {
    /// The NodePool itself.
    pub pool: &'s Pool,
    /// Its NodeClaims (label `karpenter.sh/nodepool`), in any order.
    pub claims: Vec<ClaimState<'s>>,
    /// The needs of the cluster's pending pods (`PodScheduled` is `False`, reason `Unschedulable`), in any order.
    /// Several pods of one kind may be listed once.
    pub pending: Vec<&'s Needs>,
    /// What the pool's ledger says.
    pub ledger: LedgerState,
    /// Since when everything has been steady: the last start, change of a definition or end of a gate outage.
    /// `None` while it is not.
    pub steady_since: Option<Moment>,
    /// When the number of denials in the ledger was last seen to change.
    pub denied_at: Option<Moment>,
    /// When the number of denials in any pool's ledger was last seen to change.
    pub denied_anywhere_at: Option<Moment>,
    /// True if a drifted claim of another pool is being replaced.
    pub replaces_elsewhere: bool,
    /// How many claims may be terminated now, by the configured rate.
    pub terminations_left: usize,
    /// The settings that are the same for every pool.
    pub settings: Settings,
}

/// What a plan needs of a pool's ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerState {
    /// Which ledger it is; `None` if it is missing.
    pub identity: Option<LedgerIdentity>,
    /// UIDs that were admitted, whether or not a claim of that UID is in view.
    pub reservations: Vec<Arc<str>>,
    /// The last claim of the pool that the gate denied.
    pub denial: Option<LastDenial>,
    /// UIDs of the victims of a running termination, in any order.
    pub victims: Vec<Arc<str>>,
    /// The claim that may be deleted to make room for its replacement.
    pub replacement: Option<Replacement>,
    /// Why nothing more is replaced.
    pub stopped: Option<Stopped>,
    /// UIDs that were admitted above the limit while nodes were replaced, the oldest first.
    pub surged: Vec<Arc<str>>,
}

/// Tells a ledger from the ones before and after it: another one replaces a lost one, and an open one
/// replaces a closed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerIdentity {
    /// The UID of the object that it is stored in.
    pub object: Arc<str>,
    /// What a closed ledger was closed over; `None` if it is open.
    pub closed_over: Option<u64>,
}

impl LedgerState {
    /// True if a claim may be deleted, by its UID.
    pub fn lists(&self, uid: &str) -> bool {
        let is_it = |replacement: &Replacement| replacement.uid.as_str() == uid;
        self.victims.iter().any(|victim| **victim == *uid) || self.replacement.as_ref().is_some_and(is_it)
    }

    /// True if its reservations are all that there are. A missing ledger may have had some.
    pub(crate) fn is_open(&self) -> bool {
        let identity = self.identity.as_ref();
        identity.is_some_and(|identity| identity.closed_over.is_none())
    }
}

/// A claim that the gate denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastDenial {
    /// When, by the wall clock of the replica that denied it.
    pub at: Timestamp,
    /// How many denials there were in all.
    pub total: u64,
}

/// Settings that are the same for every pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long the turn of a drifted node lasts. That of one that Karpenter would consolidate lasts at least six
    /// minutes, because Karpenter may not look before.
    pub rotation: Duration,
    /// How long everything must have been steady before anything is terminated.
    pub settle: Duration,
    /// What poolgate may do to NodeClaims.
    pub rights: Rights,
    /// True if the wall clock agrees with the API server's. If not, no schedule raises a limit.
    pub is_clock_right: bool,
}

/// What poolgate may do to NodeClaims. What it may not do is reported, whatever a pool says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// The verb `terminate`: it may delete claims above a limit. The API server knows no such verb; the fence of the
    /// manifests asks for it.
    pub terminate: bool,
    /// The verb `delete`: without it nothing is deleted.
    pub delete: bool,
    /// The verb `patch`: it may bound how long a deleted claim is drained.
    pub patch: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rotation: ROTATION,
            settle: SETTLE,
            rights: Rights::ALL,
            is_clock_right: true,
        }
    }
}

impl Rights {
    /// Every right; assumed by default.
    pub const ALL: Self = Self {
        terminate: true,
        delete: true,
        patch: true,
    };

    /// True if claims above a limit may be deleted.
    pub(crate) const fn may_terminate(self) -> bool {
        self.terminate && self.delete
    }
}

/// The time of a plan, by two clocks. How long something has lasted is computed by the monotonic one alone, so that
/// setting the wall clock ends no wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// By the wall clock: for schedules, and to compare with times in objects.
    pub wall: Timestamp,
    /// By this replica's monotonic clock.
    pub clock: Moment,
}
