//! What became of a step of a replacement.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::DrainObstacle;

/// What became of a step of a replacement.
pub enum Step {
    /// It is done, or there was none.
    Done,
    /// The ledger is no longer the one of the plan.
    Stale,
    /// The drifted node of this claim, by its UID, cannot be drained without harm.
    Refused(Arc<str>, DrainObstacle),
}
