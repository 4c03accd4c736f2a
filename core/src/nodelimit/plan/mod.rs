//! What is to be done for a pool so that its node limit holds: which nodes to keep from disruption, what to
//! terminate, which events to write.
//!
//! [`plan`] decides, over plain data and a time that is given. It knows nothing of clusters, watches or writes, nor
//! of when it is called: carried out, a plan leaves nothing to do for the next one.

mod claim;
mod counts;
mod memory;
mod node;
mod offer;
mod outcome;
mod pod;
mod pool;
mod resources;
mod state;
mod taints;

use counts::Counts;
use jiff::Timestamp;

pub use claim::{Claim, ClaimState, Conditions};
pub use memory::Memory;
pub use node::{DISRUPTED_TAINT, HELD_ANNOTATION, HELD_LABEL, KEEP_MARK, Marks, Node};
pub use offer::{Offer, Requirement};
pub use outcome::{ClaimRef, Event, EventReason, NodeRef, Numbers, Plan, Release, WAKE_ANNOTATION};
pub use pod::{DELETION_COST_ANNOTATION, DO_NOT_DISRUPT_ANNOTATION, DoNotDisrupt, Needs, Pod, deletion_cost};
pub use pool::Pool;
pub use resources::{PODS, Resources};
pub use state::{LedgerState, PoolState, ROTATION, SETTLE, Settings};
pub use taints::{Effect, Taint, Toleration};

/// Decides what is to be done for a pool now.
///
/// The same state and memory give the same plan, whatever the order of claims, pods and what else stands in lists.
/// Takes time in proportion to the claims (times their logarithm) and the pods.
pub fn plan(state: &PoolState<'_>, memory: &Memory, now: Timestamp) -> Plan {
    let counts = Counts::of(state);
    let excess = state
        .pool
        .limit
        .map_or(0, |limit| counts.excess(limit.nodes, limit.mode));
    Plan {
        hold: Vec::new(),
        release: Vec::new(),
        wake: false,
        victims: None,
        terminate: Vec::new(),
        events: Vec::new(),
        numbers: counts.numbers(state.pool, excess, now),
        again_at: None,
        memory: memory.clone(),
    }
}
