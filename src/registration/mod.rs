//! Whether the API server calls the paths that are served, and trusts the certificate. Where failures are ignored, nothing
//! else reports it.
//!
//! What is registered is read again and again and compared; no answer waits for it.

mod compare;
mod look;

pub(crate) use compare::{Served, called, compare};
pub(crate) use look::{Registration, RegistrationMetrics};
