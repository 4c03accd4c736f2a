//! The one entry that webhook and command line share: an object in, defaults and findings out.

use serde_json::Value;

use crate::defaults::DefaultValue;
use crate::diagnostic::Report;
use crate::karpenter::{ApiVersion, GROUP, Release};
use crate::policy::Policy;

/// What kind of object is to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A NodePool of this version.
    NodePool(ApiVersion),
}

impl Subject {
    /// The subject that group, version and kind name; none for everything that poolgate does not judge.
    pub fn of(group: &str, version: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            (GROUP, "NodePool") => ApiVersion::parse(version).map(Self::NodePool),
            _ => None,
        }
    }
}

/// An object that is about to be stored.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What the object says it is.
    pub subject: Subject,
    /// The object as it came; of any shape.
    pub object: &'a Value,
    /// The stored object that this one replaces, on an update.
    pub old: Option<&'a Value>,
}

/// What poolgate makes of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// What to write into the object, in this order, so that each parent stands before its children.
    pub defaults: Vec<DefaultValue>,
    /// What is wrong with the object.
    pub report: Report,
}

/// Judges an object.
pub fn review(_request: &Request<'_>, _policy: &Policy, _release: Release) -> Review {
    Review::default()
}
