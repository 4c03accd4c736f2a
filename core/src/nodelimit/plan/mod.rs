//! What to do for a pool so that its node limit holds: which nodes to keep from disruption, what to terminate,
//! which events to write.
//!
//! [`plan`] decides from plain data and a given time. It knows nothing of clusters, watches or writes, or of when
//! it is called: once a plan is carried out, the next one has nothing left to do.

mod claim;
mod counts;
mod drain;
mod events;
mod excess;
mod fit;
mod held_for;
mod holds;
mod marks;
mod memory;
mod node;
mod node_template;
mod now;
mod object_ref;
mod order;
mod outcome;
mod pod;
mod pool;
mod recent_limits;
mod remaining;
mod replacement;
mod replacement_memory;
mod replacement_outcome;
mod resources;
mod situation;
mod spec_limit;
mod state;
mod taints;

#[cfg(test)]
mod tests;
mod tries;
mod turns;

use replacement::Obstacle;
use situation::Situation;

pub use claim::{Claim, ClaimState, Conditions, DEADLINE_ANNOTATION, Disruption};
pub use drain::{DrainObstacle, MOST_PODS_ON_NODE, NamespacedName, PodDisruptionBudget, PodOnNode};
pub use events::{above_limit, of_limit};
pub use held_for::HeldFor;
pub use memory::Memory;
pub use node::{Marks, Node};
pub use node_template::{NodeTemplate, Requirement};
pub use now::Now;
pub use object_ref::ObjectRef;
pub use outcome::{Event, EventReason, Hold, Numbers, Plan, Unhold};
pub use pod::{DELETION_COST_ANNOTATION, DeletionCost, DoNotDisrupt, Needs, Pod};
pub use pool::Pool;
pub use replacement_outcome::{Deadline, Ended, ReplacementOutcome, ReplacementState};
pub use resources::{PODS, Resources};
pub use state::{LastDenial, LedgerIdentity, LedgerState, PoolState, Rights, SETTLE, Settings};
pub use taints::{Effect, Taint, Toleration};
pub use tries::Tries;

/// Decides what to do for a pool now.
///
/// The same state and memory give the same plan, whatever the order of claims, pods and other lists. Takes time in
/// proportion to the claims (times their logarithm) and the pods.
pub fn plan(state: &PoolState<'_>, memory: &Memory, now: Now) -> Plan {
    let mut memory = memory.clone();
    let situation = Situation::assess(state, &mut memory, now);
    let holds = holds::decide(&situation, &mut memory);
    let termination = excess::decide(&situation);
    let replacements = replacement::decide(&situation, &mut memory);
    let (hold, unhold) = marks::changes(&situation, &holds, &replacements);
    let events = events::tell(&situation, &holds, &termination, &replacements, &mut memory);
    Plan {
        hold,
        unhold,
        spec_limit: spec_limit::decide(&situation),
        store_ledger: state.ledger.identity.is_none()
            && (excess::terminates(&situation) && situation.excess() > 0
                || replacements.obstacle == Some(Obstacle::Ledger)),
        victims: termination.victims,
        terminate: termination.terminate,
        replacement: replacements.ledger,
        replace: replacements.delete,
        deadline: replacements.deadline,
        ended: replacements.ended,
        events,
        numbers: Numbers {
            unrepaired: counts::number(replacements.waiting.len()),
            ..situation.counts.numbers(state.pool, situation.excess(), now.wall)
        },
        again_at: [holds.again_at, termination.again_at, replacements.again_at]
            .into_iter()
            .flatten()
            .min(),
        memory,
    }
}
