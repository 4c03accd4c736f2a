//! The object that a template belongs to, which decides the paths of its fields.

use super::ApiVersion;
use super::shape::{Shape, nodeclaim, nodepool};
use crate::diagnostic::FieldPath;

/// The object that a template belongs to; its paths begin accordingly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateOwner {
    /// A NodePool; the template is under `spec.template`.
    Pool,
    /// A NodeClaim; it is the template itself.
    Claim,
}

impl TemplateOwner {
    /// The fields and constraints of the object.
    pub(crate) const fn shape(self, version: ApiVersion) -> &'static Shape {
        match self {
            Self::Pool => nodepool(version),
            Self::Claim => nodeclaim(version),
        }
    }

    /// The path of a field below `metadata`.
    pub(crate) fn metadata_path(self, field: &'static str) -> FieldPath {
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
