//! The content of a document: its nodes in the order of the text, in one vector.
//!
//! A collection's nodes follow it directly and each node knows where its own end is, so nothing here recurses and a
//! document of any depth is dropped immediately. Aliases stay pointers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Span;
use super::scalar::{Notation, Tag};

/// A node's index in the vector.
pub type NodeId = u32;

/// How a collection is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// By lines and indentation.
    Block,
    /// In brackets, as in JSON.
    Flow,
}

/// One key or value as written.
#[derive(Debug)]
pub struct Node<'t> {
    pub(crate) span: Span,
    /// The first node that is not below this one.
    pub(crate) after: NodeId,
    pub(crate) content: Content<'t>,
}

#[derive(Debug)]
pub enum Content<'t> {
    Scalar {
        text: Cow<'t, str>,
        notation: Notation,
        tag: Tag,
    },
    Mapping(Style),
    Sequence(Style),
    /// Points at an earlier node; `None` if no anchor has the name.
    Alias(Option<NodeId>),
}

/// All nodes of a document, its root first.
#[derive(Debug, Default)]
pub struct Tree<'t> {
    nodes: Vec<Node<'t>>,
    /// The items of each sequence with many nodes: findings are located one by one, each by the index of its item.
    long: BTreeMap<NodeId, Vec<NodeId>>,
}

/// Up to this number of nodes, the items of a sequence are counted from its first.
const FEW: NodeId = 64;

/// As many keys and values as most documents have: a tree that grows is copied each time.
const USUAL: usize = 128;

impl<'t> Tree<'t> {
    pub fn with_usual_capacity() -> Self {
        Self {
            nodes: Vec::with_capacity(USUAL),
            long: BTreeMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn get(&self, id: NodeId) -> Option<&Node<'t>> {
        self.nodes.get(id as usize)
    }

    /// Adds a node that has nothing below it so far.
    pub fn push(&mut self, span: Span, content: Content<'t>) -> NodeId {
        let id = self.next_id();
        self.nodes.push(Node {
            span,
            after: id.saturating_add(1),
            content,
        });
        id
    }

    /// Ends a collection: all nodes added since are below it.
    pub fn close(&mut self, id: NodeId, end: usize) {
        let after = self.next_id();
        if let Some(node) = self.nodes.get_mut(id as usize) {
            node.after = after;
            node.span = node.span.ending_at(end);
            if matches!(node.content, Content::Sequence(_)) && after - id > FEW {
                let items = self.children(id).collect();
                self.long.insert(id, items);
            }
        }
    }

    /// The nodes directly below a collection.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let after = self.get(id).map_or(0, |node| node.after);
        let first = Some(id.saturating_add(1)).filter(|child| *child < after);
        std::iter::successors(first, move |child| {
            self.get(*child)
                .map(|node| node.after)
                .filter(|next| *next < after)
        })
    }

    /// The node directly below a collection that has this index.
    pub fn child(&self, id: NodeId, index: usize) -> Option<NodeId> {
        match self.long.get(&id) {
            Some(items) => items.get(index).copied(),
            None => self.children(id).nth(index),
        }
    }

    /// The keys and values directly below a mapping.
    pub fn entries(&self, id: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> {
        let mut children = self.children(id);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The target of an alias; the node itself for any other node. `None` for an alias without a target, or whose
    /// target contains it.
    pub fn follow(&self, id: NodeId) -> Option<NodeId> {
        let Content::Alias(target) = &self.get(id)?.content else {
            return Some(id);
        };
        let target = (*target)?;
        (!self.holds(target, id)).then_some(target)
    }

    /// Whether one node is part of another.
    pub fn holds(&self, outer: NodeId, inner: NodeId) -> bool {
        outer <= inner && self.get(outer).is_some_and(|node| inner < node.after)
    }

    /// Whether the target of an alias is at this position, or contains it.
    pub fn is_shared(&self, place: Span) -> bool {
        let holds = |node: &Node<'_>| node.span.start() <= place.start() && place.end() <= node.span.end();
        self.nodes.iter().any(|node| match node.content {
            Content::Alias(Some(target)) => self.get(target).is_some_and(holds),
            _ => false,
        })
    }

    fn next_id(&self) -> NodeId {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }
}

/// A node of a document with everything below it, as written.
#[derive(Debug, Clone, Copy)]
pub struct NodeRef<'d, 't> {
    tree: &'d Tree<'t>,
    id: NodeId,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A text, number, boolean or null.
    Scalar,
    /// Keys with values, in block or flow style.
    Mapping(Style),
    /// A list of values, in block or flow style.
    Sequence(Style),
    /// An alias, `*name`: the node that has the anchor `&name` stands here once more.
    Alias,
}

impl<'d, 't> NodeRef<'d, 't> {
    pub(crate) fn root(tree: &'d Tree<'t>) -> Option<Self> {
        (tree.len() > 0).then_some(Self { tree, id: 0 })
    }

    /// The kind of the node.
    pub fn kind(self) -> NodeKind {
        match self.tree.get(self.id).map(|node| &node.content) {
            Some(Content::Mapping(style)) => NodeKind::Mapping(*style),
            Some(Content::Sequence(style)) => NodeKind::Sequence(*style),
            Some(Content::Alias(_)) => NodeKind::Alias,
            Some(Content::Scalar { .. }) | None => NodeKind::Scalar,
        }
    }

    /// The bytes of the text that it takes up.
    pub fn span(self) -> Span {
        self.tree.get(self.id).map_or(Span::new(0, 0), |node| node.span)
    }

    /// A scalar's text without quotes and escapes, whatever it resolves to.
    pub fn text(self) -> Option<&'d str> {
        match &self.tree.get(self.id)?.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The keys and values of a mapping in the order of the text, merge keys included; nothing for other nodes.
    pub fn entries(self) -> impl Iterator<Item = (Self, Self)> {
        let mapping = matches!(self.kind(), NodeKind::Mapping(_));
        let entries = self.tree.entries(self.id).take_while(move |_| mapping);
        entries.map(move |(key, value)| (self.at(key), self.at(value)))
    }

    /// The elements of a sequence; nothing for other nodes.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let sequence = matches!(self.kind(), NodeKind::Sequence(_));
        let items = self.tree.children(self.id).take_while(move |_| sequence);
        items.map(move |id| self.at(id))
    }

    /// The element of a sequence that has this index; `None` for other nodes.
    pub fn item(self, index: usize) -> Option<Self> {
        let sequence = matches!(self.kind(), NodeKind::Sequence(_));
        let item = self.tree.child(self.id, index).filter(|_| sequence)?;
        Some(self.at(item))
    }

    /// The last value that a mapping holds under a key written as `key`, without following merges and aliases.
    pub fn get(self, key: &str) -> Option<Self> {
        self.entries()
            .filter(|(written, _)| written.text() == Some(key))
            .last()
            .map(|(_, value)| value)
    }

    /// Whether its document is written like JSON: in brackets, the first key in quotes.
    pub fn is_in_json(self) -> bool {
        let root = self.at(0);
        let first = root.entries().next().map(|(key, _)| key);
        let is_quoted = |key: Self| {
            let node = key.tree.get(key.id);
            let content = node.map(|node| &node.content);
            matches!(
                content,
                Some(Content::Scalar {
                    notation: Notation::Quoted,
                    ..
                })
            )
        };
        root.kind() == NodeKind::Mapping(Style::Flow) && first.is_some_and(is_quoted)
    }

    fn at(self, id: NodeId) -> Self {
        Self { tree: self.tree, id }
    }
}
