//! What the process reports about itself: log lines, metrics, panics. Other modules decide what is worth reporting.

mod log_limit;
mod logging;
mod metrics;
mod panics;

pub use log_limit::LogLimit;
pub use logging::LogArgs;
pub use metrics::{CONTENT_TYPE, Counters, Invariants, Label, Registry};
pub use panics::{caught, count_panics};
