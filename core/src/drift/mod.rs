//! Drift: which nodes Karpenter replaces because their NodePool has changed, and how fast. For `karpenter.sh/v1` only.
//!
//! Does not know what the provider compares besides, such as images and node classes.

mod change;
mod current;
mod hash;
mod pace;
mod requirements;

pub use change::{Doubt, DriftClaim, HashChange, TemplateChange};
pub use current::CurrentTemplate;
pub use hash::{HASH_ANNOTATION, HASH_VERSION, HASH_VERSION_ANNOTATION, template_hash};
pub use pace::{AtATime, Pace, Start};
pub use requirements::Demanded;
