//! Drift: which nodes Karpenter replaces because their NodePool has changed, and how fast. v1beta1 is converted first.
//!
//! Does not know what the provider compares besides, such as images and node classes.

mod change;
mod conversion;
mod current;
mod hash;
mod pace;
mod requirements;

pub use change::{Doubt, DriftClaim, HashChange, TemplateChange};
pub(crate) use conversion::KUBELET_ANNOTATION;
pub use conversion::converted;
pub use current::CurrentTemplate;
pub use hash::{HASH_ANNOTATION, HASH_VERSION, HASH_VERSION_ANNOTATION, template_hash};
pub use pace::{Pace, Room, Start};
pub use requirements::Demanded;
