//! The parts of a mapping in their order: its own entries, and those that `<<` adds, as kubectl applies it.
//!
//! The lookup of a value and the lookup of a position must use these parts in this order. On duplicate keys the last one
//! wins: `<<` replaces the entries above it, and the entries below it replace those of `<<`.

use super::scalar::{Notation, Tag};
use super::tree::{Content, NodeId, Tree};

/// A line of a mapping, as it is filled.
#[derive(Debug, Clone, Copy)]
pub enum MappingLine {
    /// Gives `key` its value.
    Entry { key: NodeId, value: NodeId },
    /// Adds the entries of all [`sources`] of `value`.
    Merge { key: NodeId, value: NodeId },
}

/// The parts of a mapping, in the order in which they fill it.
pub fn parts(tree: &Tree<'_>, mapping: NodeId) -> impl Iterator<Item = MappingLine> {
    tree.entries(mapping).map(|(key, value)| {
        if is_merge(tree, key) {
            MappingLine::Merge { key, value }
        } else {
            MappingLine::Entry { key, value }
        }
    })
}

/// The mappings that a merge adds, in the order in which they fill the mapping. The first of a list has priority, so it
/// comes last. A source may be an alias, or no mapping at all, which is a mistake; an alias of a list is one.
pub fn sources(tree: &Tree<'_>, value: NodeId) -> impl Iterator<Item = NodeId> {
    let (list, single) = if is_list(tree, value) {
        (tree.children(value).collect(), None)
    } else {
        (Vec::new(), Some(value))
    };
    list.into_iter().rev().chain(single)
}

/// True if the value of a merge is a list of sources.
pub fn is_list(tree: &Tree<'_>, value: NodeId) -> bool {
    let is_list = |content: &Content<'_>| matches!(content, Content::Sequence(_));
    tree.get(value).is_some_and(|node| is_list(&node.content))
}

/// True if a key is the merge key: `<<` without quotes and tags.
fn is_merge(tree: &Tree<'_>, key: NodeId) -> bool {
    tree.get(key).is_some_and(|node| {
        matches!(
            &node.content,
            Content::Scalar { text, notation: Notation::Plain, tag: Tag::None } if text == "<<"
        )
    })
}
