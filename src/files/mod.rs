//! The user's files: which are meant, how they are named in output, which are only parts, how one is read and replaced,
//! and how an object is written as one.
//!
//! Knows nothing of NodePools.

mod inputs;
mod patches;
mod printable;
mod read;
mod replace;
pub(crate) mod yaml;

pub(crate) use inputs::{Input, Inputs, Source, find};
pub(crate) use patches::{Patches, Whole};
pub(crate) use printable::{clean, name};
pub(crate) use read::{ReadError, read_text};
pub(crate) use replace::replace;
