//! Serving requests: sockets and TLS, the intake of webhooks, the wire format of admission, probes, and how a process
//! starts and stops.

pub mod admission;
pub mod certs;
pub mod cluster_watch;
pub mod http;
pub mod probes;
pub mod process;
pub mod registration;
pub mod webhook;
