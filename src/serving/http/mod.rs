//! HTTP/1.1 over sockets, by hyper, with a limit on everything: how many connections, and how long a client may take. A
//! server stops without losing a request. Knows neither the content of requests nor the source of certificates.
//!
//! HTTP/1.1 alone, because the API server speaks nothing else to a webhook.

mod bind;
mod metrics;
mod places;
mod server;
mod threads;
mod tls;
mod writing;

pub use bind::{BindError, EVERYWHERE, ListenAddr, bind, local_addr};
pub use metrics::HttpMetrics;
pub use server::{Peer, Server};
pub use threads::Threads;
pub use tls::Tls;
