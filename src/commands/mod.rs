//! The commands that answer once and exit. Each is one module; none knows of the server.

pub(crate) mod admit;
pub(crate) mod budgets;
pub(crate) mod completions;
pub(crate) mod crd;
pub(crate) mod default;
mod insertion;
mod nodepools;
pub(crate) mod policy;
pub(crate) mod rules;
