//! The commands that answer once and exit. Each is one module; none knows of the server.

pub mod admit;
pub mod budgets;
pub mod completions;
pub mod crd;
pub mod default;
mod insertion;
mod nodepools;
pub mod policy;
pub mod rules;
