//! The commands that answer once and end. Each is one file; none knows of the server.

pub(crate) mod rules;
