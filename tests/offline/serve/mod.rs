//! What comes in at the door of `poolgate serve`: the real server over real sockets, with clients that behave as they should and
//! clients that do not. Each test starts a server of its own on ports of its own.

mod client;
mod clients;
mod command_line;
mod connections;
mod crowds;
mod deaf;
mod memory;
mod observed;
mod policy;
mod readme;
mod requests;
mod rotation;
mod shutdown;
mod unreachable;
