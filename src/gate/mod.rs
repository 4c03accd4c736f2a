//! The gate of node limits: it is asked before each NodeClaim is stored, and answers by the pool's ledger.
//!
//! A request never waits longer than its deadline. The work is done on the cluster's thread: all creations that wait for
//! one pool are decided together and stored with one write. What is decided, and why that is exact, is in
//! [`poolgate_core::nodelimit::ledger`].

mod claim_lists;
mod context;
mod decision;
mod dispatch;
mod error;
mod handle;
mod ledger_write;
mod metrics;
mod reads;
mod review;
mod round;
mod runner;
mod waiter;

pub use error::OnError;
pub use handle::{Gate, GateSettings};
pub use metrics::GateMetrics;
pub use review::open;
pub use runner::GateRunner;
