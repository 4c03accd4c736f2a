//! `poolgate reconcile`: keeps Karpenter from attempts that a pool's node limit forbids, and deletes NodeClaims above
//! the limit.
//!
//! Watches fill an index; a queue says which pool is due; core's plan says what to do about it; `apply` does it.
//! Nothing that is needed for safety is kept in memory only: marks are on the nodes, victims in the ledger, and the
//! replica that takes over reads both.

mod apply;
mod args;
mod blocked;
mod controller;
mod followers;
mod index;
mod metrics;
mod pace;
mod parts;
mod pool;
mod queue;
mod reads;
mod replace;
mod rights;
mod run;
mod terminate;
mod watched_state;
mod writers;

pub use args::ReconcileArgs;
pub use run::reconcile;

// The entry points of the simulation.
#[cfg(test)]
pub use {
    metrics::ReconcileMetrics,
    parts::{Lines, Reconciler},
    run::unhold_with,
};
