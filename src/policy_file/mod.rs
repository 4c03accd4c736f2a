//! The policy file: YAML or JSON to the policy that core checks by, with the position of every mistake; and the watch that
//! loads a changed file while requests are answered.
//!
//! One table (`fields`) says what may be in a file. The checks and the JSON Schema follow it; `consistency` checks fields
//! against each other.

mod args;
mod check;
mod consistency;
mod decode;
mod fields;
mod file;
mod grammar;
mod metrics;
mod mistakes;
mod read;
mod schema;
mod watch;

#[cfg(test)]
mod tests;

pub use args::WatchedPolicyArgs;
pub use file::LoadError;
pub use file::{load, placed};
pub use mistakes::{Mistake, Mistakes};
pub use read::{ReadPolicy, read};
pub use schema::schema;
pub use watch::IfUnusable;
pub use watch::PolicyInForce;
