//! `poolgate gate`: the webhook that decides on each NodeClaim before it is stored, by the ledger of its pool.
//!
//! A pool for which creations wait has one task: they are decided together and stored with one write, and each waits
//! no longer than its deadline. The decision, and why it is exact, is in [`poolgate_core::nodelimit::ledger`].

mod args;
mod claim_lists;
mod claims;
mod context;
mod decision;
mod error;
mod ledger_write;
mod metrics;
mod pool_lists;
mod pools;
mod reads;
mod review;
mod round;
mod routes;
mod run;
mod waiter;

pub use args::GateArgs;
pub use run::gate;

// The entry points of the simulation.
#[cfg(test)]
pub use {
    context::{GateContext, Shared},
    metrics::GateMetrics,
    pools::Gate,
    routes::{ClaimWebhook, PATHS},
    run::follow,
};
