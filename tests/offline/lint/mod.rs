//! `poolgate lint`, the real program: files in, findings with their places out.

mod corpus;
mod fixed;
mod formats;
mod hostile;
mod ignored;
mod inputs;
mod places;
mod program;
