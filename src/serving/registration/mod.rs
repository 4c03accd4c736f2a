//! Whether the API server calls the paths that are served, and trusts the certificate. With `failurePolicy: Ignore`
//! nothing else would report it.
//!
//! The webhook configurations are read and compared at an interval; no answer waits for that.

mod compare;
mod look;

pub use compare::{DELETIONS, Problem, Serves, compare, host_and_path};
pub use look::{Registration, RegistrationMetrics, read};
