//! The time of a plan.

use jiff::Timestamp;

use crate::nodelimit::ledger::Moment;

/// The time of a plan, by two clocks. How long something has lasted is computed by the monotonic one alone, so that
/// setting the wall clock ends no wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// By the wall clock: for schedules, and to compare with times in objects.
    pub wall: Timestamp,
    /// By this replica's monotonic clock.
    pub clock: Moment,
}
