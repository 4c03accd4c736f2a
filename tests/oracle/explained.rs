//! Differences that are meant, each with its reason and an example that shows that it is still there.

use poolgate_core::karpenter::ApiVersion;
use serde_json::{Value, json};

use super::case::Case;
use super::compare::{Kind, Mismatch};

/// A difference that is meant.
pub(crate) struct Explained {
    /// Why the two differ, and why that is right.
    pub(crate) why: &'static str,
    /// Whether this is the difference.
    pub(crate) covers: fn(&Case, &Mismatch) -> bool,
    /// A case with the difference: the object, and the stored one on an update.
    pub(crate) example: fn() -> Case,
}

/// All of them.
pub(crate) const EXPLAINED: &[Explained] = &[];

/// Whether a difference is meant.
pub(crate) fn is_explained(case: &Case, mismatch: &Mismatch) -> bool {
    EXPLAINED
        .iter()
        .any(|explained| (explained.covers)(case, mismatch))
}
