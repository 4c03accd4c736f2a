//! Where objects come from: the user's files and standard input, which of them are patches or no manifests at all, the
//! NodePools in a text, and the cluster that a program hands over.

pub mod cluster;
mod inputs;
mod language;
pub(crate) mod nodepools;
mod patches;
mod read;

pub(crate) use inputs::{Excluded, Input, Source, find, folders};
pub(crate) use patches::{Patches, Whole};
pub use read::read_bytes;
pub(crate) use read::{ReadError, handle, read_text, stdout_handle};
