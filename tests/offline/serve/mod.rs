//! The network side of `poolgate serve`: the real server over real sockets, with correct and with faulty clients.
//! Each test starts its own server on its own ports.

mod client;
mod clients;
mod command_line;
mod connections;
mod crowds;
mod deaf;
mod large_pools;
mod memory;
mod observed;
mod policy;
mod readme;
mod requests;
mod rotation;
mod shutdown;
mod strangers;
mod unreachable;
