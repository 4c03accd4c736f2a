//! The disruption that the budgets of a NodePool allow over time, as Karpenter computes it.
//!
//! [`Budgets`] are the budgets of a pool, parsed once; [`Budgets::allowance`] says how many nodes may be disrupted for a
//! reason at an instant and which budget decides, [`Budgets::next_change`] when that number changes,
//! [`Budgets::week`] what it is in each hour of a week. [`MaintenanceHours::variants`] is the opposite: from hours to budgets.
//! Time and the number of nodes are arguments.
//!
//! Does not subtract nodes that are being disrupted already, as Karpenter does, and gives no advice.

mod allowance;
mod gaps;
mod list;
mod maintenance;
mod reasons;
mod timeline;
mod timing;

#[cfg(test)]
mod tests;

pub use allowance::Allowance;
pub use gaps::{Filling, Gap, GapTimes, OpenWeek};
pub(crate) use gaps::{budget_text, never_allows_drift};
pub use list::{Budget, Budgets, Parsed, UnreadableBudget};
pub use maintenance::{MaintenanceHours, SeasonalBudgets, WrittenWindow};
pub use reasons::{Reason, Reasons};
pub use timeline::{AllowanceRange, Change, HOURS};
pub use timing::{Timing, Windows, is_supported, utc};
