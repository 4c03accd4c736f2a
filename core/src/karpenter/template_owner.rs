//! Whose template it is, and so where its fields stand.

use crate::diagnostic::FieldPath;

/// Where a template stands, and so what its paths begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateOwner {
    /// In a NodePool, under `spec.template`.
    Pool,
    /// It is a NodeClaim.
    Claim,
}

impl TemplateOwner {
    /// The path of a field below `metadata`.
    pub fn metadata_path(self, field: &'static str) -> FieldPath {
        match self {
            Self::Pool => FieldPath::of(&["spec", "template", "metadata", field]),
            Self::Claim => FieldPath::of(&["metadata", field]),
        }
    }

    /// The path of a field below `spec`.
    pub fn path(self, field: &'static str) -> FieldPath {
        match self {
            Self::Pool => FieldPath::of(&["spec", "template", "spec", field]),
            Self::Claim => FieldPath::of(&["spec", field]),
        }
    }
}
