//! The gate of node limits: asked before each NodeClaim is stored, it answers by the pool's ledger.
//!
//! Who asks never waits for longer than it says. The work is done on the cluster's thread: all who wait for one pool are
//! decided together and stored with one write. What is decided, and why that is exact, is in
//! [`poolgate_core::nodelimit::ledger`].

mod claim_lists;
mod context;
mod dispatch;
mod error;
mod handle;
mod reads;
mod round;
mod runner;
mod waiter;

pub(crate) use error::OnError;
pub(crate) use handle::{AdmitRequest, Gate, GateDecision, GateSettings};
pub(crate) use runner::GateRunner;
