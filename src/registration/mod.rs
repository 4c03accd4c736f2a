//! Whether the API server asks what is served, and trusts in it: nobody else says so where a failure is ignored.
//!
//! What is registered is read again and again and compared; no answer waits for it.

mod compare;
mod look;

pub(crate) use compare::{Served, called, compare};
pub(crate) use look::{Registration, RegistrationMetrics};
