//! The gate of node limits on a real API server.

mod answers;
mod objects;
mod replicas;
