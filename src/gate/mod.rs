//! `poolgate gate`: it is asked before each NodeClaim is stored, and answers by the ledger of its pool.
//!
//! One thread has the connections, the cluster's thread decides, and a channel is between them: a request never waits longer
//! than its deadline, whatever the other thread does. All creations that wait for one pool are decided together and stored
//! with one write. What is decided, and why that is exact, is in [`poolgate_core::nodelimit::ledger`].

mod args;
mod claim_lists;
mod context;
mod decision;
mod dispatch;
mod error;
mod handle;
mod ledger_write;
mod metrics;
mod pool_lists;
mod reads;
mod review;
mod round;
mod routes;
mod run;
mod runner;
mod waiter;

pub use args::GateArgs;
pub use run::gate;

// What the simulation enters by.
#[cfg(test)]
pub use {
    context::Clients,
    metrics::GateMetrics,
    routes::{ClaimWebhook, PATHS},
    runner::GateRunner,
};
