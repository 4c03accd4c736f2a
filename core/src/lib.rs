//! The decisions of poolgate: pure functions over plain data, shared by the webhook, the command line and the
//! reconciler.
//!
//! Nothing here does I/O, reads a clock (time is an argument), logs, or panics on any input. A module
//! imports only from floors below its own; `tests/offline/structure.rs` lists them.

pub mod api;
pub mod budget;
pub mod changes;
pub mod defaults;
pub mod diagnostic;
pub mod drift;
pub mod facts;
pub mod json;
pub mod manifest;
#[cfg(feature = "nodelimit")]
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod nodelimit;
pub mod pods;
pub mod policy;
pub mod policy_file;
pub mod pool;
pub mod review;
#[cfg(test)]
mod test_cost;
#[macro_use]
pub mod rules;
pub mod scale;
pub mod sha256;
pub mod value;
