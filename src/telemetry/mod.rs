//! What the process reports about itself: log lines, metrics, panics. Other modules decide what is worth reporting.

mod log_limit;
mod log_once;
mod logging;
mod metrics;
mod panics;

pub use log_limit::LogLimit;
pub use log_once::LogOnce;
pub use logging::LogArgs;
pub use metrics::{CONTENT_TYPE, Counters, Invariants, Label, Registry};
pub use panics::{caught, count_panics};
