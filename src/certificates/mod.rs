//! `poolgate certificates`: makes the serving certificate and its authority, and tells the webhook configurations whom to
//! trust, where there is no cert-manager.
//!
//! A look at what is stored, a pure decision about the next step, that step, and a look again. Nothing that is needed for
//! safety lies in memory.

mod args;
mod decide;
mod keeper;
mod metrics;
mod objects;
mod run;
mod store;

pub(crate) use args::CertificatesArgs;
pub(crate) use run::certificates;
