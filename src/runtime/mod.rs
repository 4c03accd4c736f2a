//! The basis of every long-running command: logs, metrics, tasks, signals, and reloaded files.

pub mod flags;
pub mod lifecycle;
pub mod policy_watch;
pub mod polled_file;
pub mod telemetry;
