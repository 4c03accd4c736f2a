//! What tells objects apart, in sixteen bytes whatever the text.

use aws_lc_rs::digest::{SHA256, digest};

/// Stands for a text that names something and is never shown, such as the UID of a pod. Half of a SHA-256: no two texts
/// are found that have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; Self::BYTES]);

impl Key {
    const BYTES: usize = 16;

    /// Of this text.
    pub(crate) fn of(text: &str) -> Self {
        let hash = digest(&SHA256, text.as_bytes());
        let half = hash.as_ref().first_chunk().copied();
        Self(half.unwrap_or_default())
    }
}
