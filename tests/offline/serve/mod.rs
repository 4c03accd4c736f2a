//! What comes in at the door: the real server over real sockets, with clients that behave as they should and
//! clients that do not. Each test starts a server of its own on ports of its own.

mod client;
mod command_line;
mod connections;
mod observed;
mod policy;
mod readme;
mod requests;
mod rotation;
mod server;
mod shutdown;
mod unreachable;
