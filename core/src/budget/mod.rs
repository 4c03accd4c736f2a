//! What the budgets of a NodePool allow, when, and until when, as Karpenter computes it.
//!
//! [`Budgets`] reads all budgets of a pool; [`Budgets::allowance`] says how many nodes may be disrupted for a
//! reason at an instant and which budget decides, [`Budgets::next_change`] when that number changes,
//! [`Budgets::week`] what it is in each hour of a week. [`MaintenanceHours::variants`] is the opposite: from hours to budgets.
//! Time and the number of nodes are arguments.
//!
//! Does not subtract nodes that are being disrupted already, as Karpenter does, and does not say what is wise.

mod allowance;
mod change;
mod filling;
mod gaps;
mod hours;
mod list;
mod maintenance;
mod never_allows;
mod parsed;
mod reasons;
mod timeline;
mod week;
mod window;

#[cfg(test)]
mod tests;

pub use allowance::{Allowance, value};
pub use change::Change;
pub use filling::{Filling, Notation};
pub use gaps::{Gap, GapTimes, OpenWeek};
pub use hours::{HoursError, WeeklyHours};
pub use list::{Budgets, Entry, Timing, UnreadableBudget};
pub use maintenance::{Closed, LocalHours, MaintenanceHours, SeasonalBudgets};
pub(crate) use never_allows::never_allows_drift;
pub(crate) use parsed::{Parsed, ParsedBudget};
pub use reasons::{Reason, Reasons};
pub use week::{HOURS, Spread};
pub use window::{Windows, is_supported};
