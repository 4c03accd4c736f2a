//! Durations: as Go reads them, as Karpenter reads them if `Never` is legal, and as the budgets of its CRD allow
//! them.

mod budget;
mod go;
mod nillable;
mod units;

pub use budget::BudgetDuration;
pub use go::{GoDuration, GoDurationError};
pub use nillable::{NillableDuration, NillableDurationError};
