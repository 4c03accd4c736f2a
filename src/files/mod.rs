//! The user's files: which are read, how they are named in output, which are patches; how a file is read, compared
//! and replaced, and how an object is written as YAML, or rows in columns; the standard streams.
//!
//! Of NodePools only the name of their group is known here.

mod columns;
mod diff;
mod excluded;
mod identity;
mod inputs;
mod language;
mod patches;
mod printable;
mod read;
mod replace;
mod streams;
pub mod yaml;

pub use columns::columns;
pub use diff::diff;
pub use excluded::Excluded;
pub use identity::FileIdentity;
pub use inputs::{Input, Inputs, Source, find, folders};
pub use patches::{Patches, Whole};
pub use printable::{clean, name, xml};
pub use read::read_text;
pub use replace::replace;
pub use streams::{print, remark, stdin, with_causes};
