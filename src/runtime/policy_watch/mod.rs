//! The policy in force: loaded from its file, and again when the file changes, while requests are answered.

mod args;
mod metrics;
mod watch;

pub use args::WatchedPolicyArgs;
pub use watch::{IfUnusable, PolicyInForce};
