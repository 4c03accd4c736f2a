//! What the process reports about itself: log lines, metrics, panics. Other modules decide what is worth reporting.

mod log_limit;
mod log_writer;
mod logging;
mod metrics;
mod panics;

pub(crate) use log_limit::LogLimit;
pub(crate) use log_writer::finish as finish_log;
pub(crate) use logging::LogArgs;
pub(crate) use metrics::{CONTENT_TYPE, Counters, Label, Registry};
pub(crate) use panics::{caught, count_panics};
