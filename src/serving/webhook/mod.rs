//! A webhook server, without what it decides: HTTPS with the certificate and the client CA of its flags, bodies within
//! bounds, deadlines, and answers to what is no review. `serve` and `gate` are such servers.

mod args;
mod body;
pub mod deadline;
mod intake;
mod metrics;
mod rejection;
mod server;

pub use args::{CertificateChoice, WebhookArgs};
pub use intake::Intake;
pub use metrics::Route;
pub use rejection::Rejection;
pub use server::WebhookServer;
