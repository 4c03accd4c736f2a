//! `poolgate serve`: the API server's questions over HTTPS. Knows nothing of NodePools: a body goes to
//! [`crate::admission`], and its answer back.

mod args;
mod body;
mod deadline;
mod heavy;
mod metrics;
mod nodeclaims;
mod rejection;
mod routes;
mod serve;

pub(crate) use args::ServeArgs;
pub(crate) use serve::serve;
