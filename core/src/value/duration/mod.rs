//! Lengths of time: as Go reads them, and as the budgets of Karpenter's CRD allow them.

mod budget;
mod go;

pub use budget::{BudgetDuration, BudgetDurationError};
pub use go::{GoDuration, GoDurationError};
