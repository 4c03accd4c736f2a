//! The stored object that an update replaces: all of it, or only the part that is always read.

use std::borrow::Cow;

use super::{NODE_LIMIT_ANNOTATION, NODE_LIMIT_MODE_ANNOTATION};
use crate::json::{Json, Part};

/// The parts of a stored NodePool that checks and defaults read by its view. What is missing here is missing in that
/// view, too.
pub const STORED_OUTLINE: Part<'_> = Part::Only(&[
    (
        "metadata",
        Part::Only(&[
            (
                "annotations",
                Part::Only(&[
                    (NODE_LIMIT_ANNOTATION, Part::All),
                    (NODE_LIMIT_MODE_ANNOTATION, Part::All),
                ]),
            ),
            ("deletionTimestamp", Part::All),
        ]),
    ),
    (
        "spec",
        Part::Only(&[
            ("disruption", Part::Only(&[("nodeLimitMode", Part::All)])),
            ("limits", Part::Only(&[("nodes", Part::All)])),
            ("replicas", Part::All),
            (
                "template",
                Part::Only(&[("spec", Part::Only(&[("nodeClassRef", Part::All)]))]),
            ),
        ]),
    ),
    (
        "status",
        Part::Only(&[
            ("nodes", Part::All),
            ("resources", Part::Only(&[("nodes", Part::All)])),
        ]),
    ),
]);

/// The stored object that an update replaces.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    /// All of it.
    Whole(&'a Json<'a>),
    /// Its [`STORED_OUTLINE`], and how to read the rest, which only a new object with an error is compared with.
    Outlined {
        /// The outline.
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
