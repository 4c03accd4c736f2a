//! The gate of node limits: asked before each NodeClaim is stored, it answers by the pool's ledger.
//!
//! Who asks never waits for longer than it says. The work is done on the cluster's thread: all who wait for one pool are
//! decided together and stored with one write. What is decided, and why that is exact, stands in
//! [`poolgate_core::nodelimit::ledger`].

mod calls;
mod desk;
mod dispatch;
mod error;
mod facts;
mod handle;
mod round;
mod waiter;

pub(super) use desk::{Desk, Shared};
pub(super) use dispatch::Dispatcher;
pub(crate) use handle::{Ask, Gate, GateSettings, OnError, Outcome};
pub(super) use waiter::Message;
