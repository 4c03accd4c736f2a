//! An identifier of an object in sixteen bytes, however long its text is.

use aws_lc_rs::digest::{SHA256, digest};

/// Replaces a text that identifies something and is never shown, such as the UID of a pod. Half of a SHA-256, so
/// two texts do not collide in practice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; Self::BYTES]);

impl Key {
    const BYTES: usize = 16;

    /// The key of this text.
    pub fn of(text: &str) -> Self {
        let hash = digest(&SHA256, text.as_bytes());
        let half = hash.as_ref().first_chunk().copied();
        Self(half.unwrap_or_default())
    }

    /// The key of the machine that a `providerID` names, if it names one.
    pub fn of_machine(provider_id: &str) -> Option<Self> {
        (!provider_id.is_empty()).then(|| Self::of(provider_id))
    }
}
