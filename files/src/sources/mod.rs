//! Where objects come from: the user's files and standard input, which of them are patches, templates or no manifests at
//! all, the NodePools in a text, and the cluster that a program hands over. Also which files are never written.

pub(crate) mod child;
pub mod cluster;
mod inputs;
mod language;
mod mention;
pub(crate) mod nodepools;
pub(crate) mod origin;
mod outputs;
mod patches;
mod read;
mod render;
mod renderable;
mod templates;

pub(crate) use inputs::{Excluded, Identity, Input, Source, find, folders};
pub(crate) use mention::names_karpenter;
pub(crate) use outputs::{Written, spare_by_stdout};
pub(crate) use patches::{Patches, Whole};
pub use read::read_bytes;
pub(crate) use read::{ReadError, read_finite, read_text};
pub(crate) use render::Renderer;
pub(crate) use renderable::{RenderArgs, Renderable};
pub(crate) use templates::{Template, Templates};
