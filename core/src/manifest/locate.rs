//! Finds the position of a field in the text by its path, and the path by its position.

use crate::diagnostic::{FieldPath, Segment};

use super::key::key_name;
use super::merge::{self, MappingLine};
use super::scalar::{Notation, Tag};
use super::tree::{Content, NodeId};
use super::{Document, Span};

/// The position of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The value itself. If an alias or a merge led to it, this is in the text that several fields share.
    pub value: Span,
    /// Its key; `None` for list items and for the root.
    pub key: Option<Span>,
    /// The first alias on the way to it.
    pub alias: Option<Span>,
    /// The first alias on the way to its key: the value may be an alias while the key is written out.
    pub key_alias: Option<Span>,
    /// What may be written in place of the value.
    pub value_form: Form,
    /// What may be written in place of the key.
    pub key_form: Form,
}

/// What may be written in place of a key or value, in its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any scalar, in any notation.
    Open,
    /// Any scalar, which a tag makes a text.
    Text,
    /// No scalar: it is a block, whose `|` or `>` is outside of the span, or a tag says what it must be.
    Fixed,
}

/// A node on the way down a path.
#[derive(Clone, Copy)]
struct FoundNode {
    node: NodeId,
    key: Option<NodeId>,
    alias: Option<Span>,
    key_alias: Option<Span>,
}

impl Document<'_> {
    /// The position of the value at `path`; `None` if there is no such value.
    pub fn locate(&self, path: &FieldPath) -> Option<Location> {
        let found = self.found(path)?;
        Some(Location {
            value: self.tree.get(found.node)?.span,
            key: found.key.and_then(|key| Some(self.tree.get(key)?.span)),
            alias: found.alias,
            key_alias: found.key_alias,
            value_form: self.form(found.node),
            key_form: found.key.map_or(Form::Open, |key| self.form(key)),
        })
    }

    fn form(&self, id: NodeId) -> Form {
        match self.tree.get(id).map(|node| &node.content) {
            Some(Content::Scalar { notation, tag, .. }) => match (notation, tag) {
                (Notation::Block, _) => Form::Fixed,
                (_, Tag::None) => Form::Open,
                (_, Tag::Text | Tag::Other) => Form::Text,
                _ => Form::Fixed,
            },
            _ => Form::Open,
        }
    }

    /// True if aliases use this text in other places, too.
    pub fn is_shared(&self, span: Span) -> bool {
        self.tree.is_shared(span)
    }

    /// Follows a path down.
    fn found(&self, path: &FieldPath) -> Option<FoundNode> {
        let root = FoundNode {
            node: 0,
            key: None,
            alias: None,
            key_alias: None,
        };
        let mut segments = path.segments().iter();
        segments.try_fold(self.followed(root), |at, segment| {
            let below = self.child(at, segment)?;
            Some(FoundNode {
                key_alias: below.alias,
                ..self.followed(below)
            })
        })
    }

    /// The text to point at for the value at `path`: the value, or the alias in its place.
    pub fn span_of(&self, path: &FieldPath) -> Option<Span> {
        self.locate(path).map(|place| place.alias.unwrap_or(place.value))
    }

    /// The text to point at for the key of the value at `path`: the key, or the alias that brings it in.
    pub fn key_span_of(&self, path: &FieldPath) -> Option<Span> {
        let place = self.locate(path)?;
        place.alias.or(place.key)
    }

    /// The path of the innermost key or value at byte `offset`; the root's path if `offset` is outside all of them.
    pub fn path_at(&self, offset: usize) -> FieldPath {
        let begun = |id: &NodeId| self.tree.get(*id).is_some_and(|node| node.span.start() <= offset);
        let mut path = FieldPath::root();
        let mut at = Some(0);
        while let Some(id) = at {
            at = match self.tree.get(id).map(|node| &node.content) {
                Some(Content::Mapping(_)) => {
                    let entry = self.tree.entries(id).take_while(|(key, _)| begun(key)).last();
                    entry.and_then(|(key, value)| {
                        path = std::mem::take(&mut path).key(key_name(&self.tree, key)?.into_owned());
                        Some(value).filter(begun)
                    })
                }
                Some(Content::Sequence(_)) => {
                    let item = self.items(id).take_while(|(_, value)| begun(value)).last();
                    item.map(|(index, value)| {
                        path = std::mem::take(&mut path).index(index);
                        value
                    })
                }
                _ => None,
            };
        }
        path
    }

    /// The nodes of a sequence, each with the index of its first element.
    fn items(&self, id: NodeId) -> impl Iterator<Item = (usize, NodeId)> {
        self.tree.children(id).scan(0, |next, node| {
            let index = *next;
            *next += self.lengths.get(&node).copied().unwrap_or(1);
            Some((index, node))
        })
    }

    /// The node of an element.
    fn item(&self, id: NodeId, index: usize) -> Option<NodeId> {
        if self.lengths.is_empty() {
            return self.tree.child(id, index);
        }
        let is_in = |(first, node): &(usize, NodeId)| {
            let length = self.lengths.get(node).copied().unwrap_or(1);
            (*first..first + length).contains(&index)
        };
        self.items(id).find(is_in).map(|(_, node)| node)
    }

    /// The target of an alias, with the alias recorded. An alias without a target stays as it is.
    fn followed(&self, at: FoundNode) -> FoundNode {
        let node = self.tree.follow(at.node).unwrap_or(at.node);
        let here = self.tree.get(at.node).map(|alias| alias.span);
        FoundNode {
            node,
            alias: at.alias.or(here.filter(|_| node != at.node)),
            ..at
        }
    }

    fn child(&self, at: FoundNode, segment: &Segment) -> Option<FoundNode> {
        match segment {
            Segment::Key(name) => self.entry(at, name, self.limits.depth),
            Segment::Index(index) => {
                let is_sequence = matches!(self.tree.get(at.node)?.content, Content::Sequence(_));
                let node = self.item(at.node, *index).filter(|_| is_sequence)?;
                let key = None;
                Some(FoundNode { node, key, ..at })
            }
        }
    }

    /// The entry that gives a mapping its value of that name: the last one with that name, merges included.
    fn entry(&self, at: FoundNode, name: &str, depth: usize) -> Option<FoundNode> {
        if !matches!(self.tree.get(at.node)?.content, Content::Mapping(_)) {
            return None;
        }
        let mut found = None;
        for part in merge::parts(&self.tree, at.node) {
            let later = match part {
                MappingLine::Entry { key, value } => {
                    let written = key_name(&self.tree, key);
                    let found = FoundNode {
                        node: value,
                        key: Some(key),
                        ..at
                    };
                    written.is_some_and(|written| written == name).then_some(found)
                }
                MappingLine::Merge { value, .. } => self.merged(at, value, name, depth),
            };
            found = later.or(found);
        }
        found
    }

    /// The entry that a merge adds.
    fn merged(&self, at: FoundNode, value: NodeId, name: &str, depth: usize) -> Option<FoundNode> {
        let depth = depth.checked_sub(1)?;
        let sources = merge::sources(&self.tree, value);
        let found =
            sources.filter_map(|node| self.entry(self.followed(FoundNode { node, ..at }), name, depth));
        found.last()
    }
}
