//! `poolgate serve`: the reviews of NodePools. What a NodePool gets is decided in [`crate::admission`]; a body is passed to
//! it, and its answer is sent back.

mod args;
mod routes;
mod run;

pub use args::ServeArgs;
pub use run::serve;
