//! What the process tells about itself: log lines, numbers, panics. Knows nothing of what is worth telling.

mod log_limit;
mod log_writer;
mod logging;
mod metrics;
mod panics;

pub(crate) use log_limit::LogLimit;
pub(crate) use logging::{LogArgs, LoggingError};
pub(crate) use metrics::{CONTENT_TYPE, Metrics, Registry};
pub(crate) use panics::{caught, count_panics};
