//! The time of a plan.

use jiff::Timestamp;

use crate::nodelimit::ledger::Moment;

/// The time of a plan, by two clocks. How long something has lasted is computed by the monotonic one alone, so that a
/// wall clock that is set ends no wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// By the wall clock: for schedules, and beside times that objects carry.
    pub wall: Timestamp,
    /// By this replica's monotonic clock.
    pub clock: Moment,
}
