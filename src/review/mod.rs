//! The reviews of NodePools: `poolgate serve` answers the API server, `poolgate admit` one review from standard input.

mod admit;
mod args;
mod claims;
mod reviewer;
mod routes;
mod run;
mod scale;

pub use admit::{AdmitArgs, run as admit};
pub use args::ServeArgs;
pub use reviewer::{Endpoint, MutateVerdict, Reviewer};
pub use run::serve;
