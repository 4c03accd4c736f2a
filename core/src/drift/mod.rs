//! Drift: which nodes Karpenter replaces because their NodePool has changed. For `karpenter.sh/v1` only.

mod hash;
mod requirements;

pub use hash::{HASH_ANNOTATION, HASH_VERSION, HASH_VERSION_ANNOTATION, template_hash};
pub use requirements::labels_match;
