//! The gate of node limits on a real API server.

mod answers;
mod census;
mod cost;
mod creators;
mod crowd;
mod fairness;
mod faults;
mod gated;
mod objects;
mod replicas;
mod surge;
