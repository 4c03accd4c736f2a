//! The user's files: which are meant, how they are named in output, which are only parts, and how one is replaced.
//!
//! Knows nothing of NodePools.

mod inputs;
mod patches;
mod printable;
mod replace;

pub(crate) use inputs::{Input, Inputs, Source, find};
pub(crate) use patches::{Patches, Whole};
pub(crate) use printable::clean;
pub(crate) use replace::replace;
