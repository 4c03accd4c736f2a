//! Which object to write to or to delete.

use std::sync::Arc;

use super::claim::Claim;
use super::node::Node;

/// A node to write to, or a claim to delete.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The name of the object; neither kind has a namespace.
    pub name: Arc<str>,
    /// Its UID, for the precondition.
    pub uid: Arc<str>,
}

impl ObjectRef {
    /// A reference to this node.
    pub fn to_node(node: &Node) -> Self {
        Self {
            name: Arc::clone(&node.name),
            uid: Arc::clone(&node.uid),
        }
    }

    pub(crate) fn to_claim(claim: &Claim) -> Self {
        Self {
            name: Arc::clone(&claim.name),
            uid: Arc::clone(&claim.uid),
        }
    }
}
