//! The user's files: which are read, how they are named in output, which are patches; how a file is read, compared
//! and replaced; rows in columns, the standard streams, and text that fits into the terminal.
//!
//! Of NodePools only the name of their group is known here.

mod columns;
mod diff;
mod excluded;
mod inputs;
mod language;
mod patches;
mod printable;
mod read;
mod replace;
mod streams;
mod terminal;

pub use columns::columns;
pub(crate) use diff::diff;
pub(crate) use excluded::Excluded;
pub(crate) use inputs::{Input, Source, find, folders};
pub(crate) use patches::{Patches, Whole};
pub use printable::clean;
pub(crate) use printable::{name, xml};
pub use read::read_bytes;
pub(crate) use read::{handle, read_text, stdout_handle};
pub use replace::replace;
pub(crate) use streams::with_causes;
pub use streams::{print, remark, stdin};
pub(crate) use terminal::line_width;
pub use terminal::{width, wrapped};
