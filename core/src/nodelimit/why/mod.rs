//! Why a node stays: what Karpenter wants with it, and what keeps it.
//!
//! [`explain`] decides from the state that a plan has and from the few things that only a report needs. Which conditions it
//! tests, it takes from the plan, so that a report and the reconciler agree.

mod blocked;
mod budgets;
mod cause;
mod causes;
mod commands;
mod consolidation;
mod details;
mod drain;
mod known_pool;
mod pods;
mod replacement;
mod seen;
#[cfg(test)]
mod tests;
mod wanted;

use jiff::Timestamp;

use crate::budget::Reason;

pub use blocked::{Blocked, BlockedNode};
pub use cause::{Cause, CauseKind};
pub use causes::keeps_from_drift;
pub use commands::{repaired_if, to_replace_now};
pub use details::Details;
pub use known_pool::KnownPool;
pub use seen::Seen;
pub use wanted::{Goal, Wanted};

/// Decides why a node stays.
pub fn explain(seen: &Seen<'_>) -> Explanation {
    let wanted = wanted::all(seen);
    let is_leaving = |one: &Wanted| matches!(one.goal, Goal::Deleted | Goal::Expired);
    Explanation {
        expires: wanted::expires(seen).filter(|_| !wanted.iter().any(is_leaving)),
        reasons: wanted::reasons(&wanted),
        causes: causes::all(seen, &wanted),
        wanted,
    }
}

/// Why a node stays.
#[derive(Debug)]
pub struct Explanation {
    /// Why it should go; none if Karpenter has no reason yet.
    pub wanted: Vec<Wanted>,
    /// The reasons by which budgets count it. If nothing is wanted, it could be underutilized.
    pub reasons: Vec<Reason>,
    /// When it expires, if it has not and does.
    pub expires: Option<Timestamp>,
    /// What keeps it, the nearest first.
    pub causes: Vec<Cause>,
}
