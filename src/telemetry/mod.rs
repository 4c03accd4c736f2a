//! What the process reports about itself: log lines, metrics, panics. What is worth reporting is for other rooms to decide.

mod log_limit;
mod log_writer;
mod logging;
mod metrics;
mod panics;

pub(crate) use log_limit::LogLimit;
pub(crate) use logging::{LogArgs, LoggingError};
pub(crate) use metrics::{CONTENT_TYPE, Metrics, Registry};
pub(crate) use panics::{caught, count_panics};
