//! Where objects come from: the user's files and standard input, their documents with the class of each, and the cluster that
//! a program hands over. Also which files are never written.

pub(crate) mod child;
pub mod cluster;
mod documents;
mod inputs;
mod language;
mod left_alone;
mod mention;
pub(crate) mod origin;
mod outputs;
mod patches;
mod read;
mod render;
mod renderable;
mod templates;

pub(crate) use documents::{Class, SourceDocument, SourceObject, SourceText, pools};
pub(crate) use inputs::{
    Excludes, Identity, Input, Skipped, Source, find, folders, is_excluded, is_template_folder, name,
    patterns,
};
pub(crate) use left_alone::{LeftAlone, depends_on_variable, is_open};
pub(crate) use outputs::Written;
pub(crate) use patches::{Patches, Whole, kustomizations};
pub use read::read_bytes;
pub(crate) use read::{ReadError, read_finite, read_text};
pub(crate) use render::Renderer;
pub(crate) use renderable::{RenderArgs, Renderable};
pub(crate) use templates::{Template, Templates};
