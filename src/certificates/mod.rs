//! `poolgate certificates`: makes the serving certificate and its CA, and writes the CA into the webhook
//! configurations, for clusters without cert-manager.
//!
//! It reads what is stored, decides on the next step in a pure function, does that step, and reads again. Nothing
//! that is needed for safety is kept in memory only.

mod args;
mod decide;
mod error;
mod keeper;
mod metrics;
mod objects;
mod run;
mod store;

pub use args::CertificatesArgs;
pub use run::certificates;
