//! The stored object that an update replaces: all of it, or only the part that is always read.

use std::borrow::Cow;

use super::{NODE_LIMIT_ANNOTATION, NODE_LIMIT_MODE_ANNOTATION};
use crate::json::{FieldMask, Json};

/// The parts of a stored NodePool that checks and defaults read by its view. What is missing here is missing in that
/// view, too.
pub const STORED_OUTLINE: FieldMask<'_> = FieldMask::Only(&[
    (
        "metadata",
        FieldMask::Only(&[
            (
                "annotations",
                FieldMask::Only(&[
                    (NODE_LIMIT_ANNOTATION, FieldMask::All),
                    (NODE_LIMIT_MODE_ANNOTATION, FieldMask::All),
                ]),
            ),
            ("deletionTimestamp", FieldMask::All),
        ]),
    ),
    (
        "spec",
        FieldMask::Only(&[
            (
                "disruption",
                FieldMask::Only(&[("nodeLimitMode", FieldMask::All)]),
            ),
            ("limits", FieldMask::Only(&[("nodes", FieldMask::All)])),
            ("replicas", FieldMask::All),
            (
                "template",
                FieldMask::Only(&[("spec", FieldMask::Only(&[("nodeClassRef", FieldMask::All)]))]),
            ),
        ]),
    ),
    (
        "status",
        FieldMask::Only(&[
            ("nodes", FieldMask::All),
            ("resources", FieldMask::Only(&[("nodes", FieldMask::All)])),
        ]),
    ),
]);

/// The stored object that an update replaces.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    /// The whole object.
    Whole(&'a Json<'a>),
    /// Its [`STORED_OUTLINE`], and how to read the rest, which only a new object with an error is compared with.
    Outlined {
        /// The part of the object that [`STORED_OUTLINE`] keeps.
        outline: &'a Json<'a>,
        /// A text that holds the whole object.
        text: &'a [u8],
        /// Reads the whole object from the text. `None` if it cannot: what the outline leaves out may be nested too
        /// deep, or hold a number out of range.
        read: fn(&[u8]) -> Option<Json<'_>>,
    },
}

impl<'a> Stored<'a> {
    /// As much of it as its view needs.
    pub(crate) const fn outline(self) -> &'a Json<'a> {
        match self {
            Self::Whole(object) | Self::Outlined { outline: object, .. } => object,
        }
    }

    /// All of it; `None` if it cannot be read. Takes the time of reading it.
    pub(crate) fn whole(self) -> Option<Cow<'a, Json<'a>>> {
        match self {
            Self::Whole(object) => Some(Cow::Borrowed(object)),
            Self::Outlined { text, read, .. } => read(text).map(Cow::Owned),
        }
    }
}
