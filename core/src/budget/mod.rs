//! What the budgets of a NodePool allow, when, and until when, as Karpenter computes it.
//!
//! [`Budgets`] reads all budgets of a pool; [`Budgets::allowance`] says how many nodes may be disrupted for a
//! reason at an instant and which budget decides, [`Budgets::next_change`] when that number changes,
//! [`Budgets::week`] what it is in each hour of a week. [`Wish::variants`] is the opposite: from hours to budgets.
//! Time and the number of nodes are arguments.
//!
//! Does not subtract nodes that are being disrupted already, as Karpenter does, and does not say what is wise.

mod allowance;
mod change;
mod frozen;
mod hours;
mod list;
mod parsed;
mod plan;
mod reasons;
mod walk;
mod week;
mod window;

#[cfg(test)]
mod tests;

pub use allowance::{Allowance, value};
pub use change::Change;
pub(crate) use frozen::never_allows_drift;
pub use hours::{HoursError, WeeklyHours};
pub use list::{Budgets, Entry, Timing, UnreadableBudget};
pub(crate) use parsed::{Parsed, ParsedBudget, TextError};
pub use plan::{Closed, LocalHours, Variant, Wish};
pub use reasons::{Reason, Reasons};
pub use week::HOURS;
pub use window::{Window, Windows, is_reckoned};
