//! HTTP/1.1 over sockets with a limit on everything: how many connections, and how long a client may take for each step.
//! A server stops without losing a request. Knows neither the content of requests nor the source of certificates.
//!
//! HTTP/1.1 alone, because the API server speaks nothing else to a webhook.

mod bind;
mod connection;
mod metrics;
mod progress;
mod server;
mod slots;
mod tls;

pub use bind::{BindError, Interface, ListenAddr, bind, local_addr};
pub use connection::Peer;
pub use metrics::HttpMetrics;
pub use server::Server;
pub use tls::Tls;
