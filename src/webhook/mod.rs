//! `poolgate serve`: admission reviews over HTTPS. Does not depend on NodePools: a body is passed to
//! [`crate::admission`], and its answer is sent back.

mod args;
mod body;
mod deadline;
mod heavy;
mod metrics;
mod rejection;
mod routes;
mod serve;

pub use args::ServeArgs;
pub use serve::serve;
