//! What every command that keeps running stands on: logs, metrics, tasks, signals, and files that are read again.

pub mod flags;
pub mod lifecycle;
pub mod policy_watch;
pub mod polled_file;
pub mod telemetry;
