//! The user's files: which are meant, how they are named in output, and how one is replaced.
//!
//! Knows nothing of what is in them.

mod inputs;
mod printable;
mod replace;

pub(crate) use inputs::{Input, Inputs, Source, find};
pub(crate) use printable::clean;
pub(crate) use replace::replace;
