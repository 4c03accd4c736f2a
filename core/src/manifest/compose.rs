//! Builds the tree of one document from the parser's events.

use std::collections::HashMap;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::scalar::{Notation, Tag};
use super::tree::{Content, NodeId, Style, Tree};
use super::{Limits, ProblemKind, Span, SyntaxError};

/// The namespace of the tags that are written with `!!`.
const STANDARD_TAGS: &str = "tag:yaml.org,2002:";

/// A tree that is being built.
#[derive(Debug)]
pub struct Composer<'t> {
    text: &'t str,
    limits: Limits,
    tree: Tree<'t>,
    /// The collections that are not yet closed, outermost first.
    open: Vec<(NodeId, Style)>,
    anchors: HashMap<usize, NodeId>,
    /// The end of the last thing that is really written: a block has no end of its own.
    written: usize,
}

impl<'t> Composer<'t> {
    pub fn new(text: &'t str, limits: Limits, start: usize) -> Self {
        Self {
            text,
            limits,
            tree: Tree::with_usual_capacity(),
            open: Vec::new(),
            anchors: HashMap::new(),
            written: start,
        }
    }

    /// Adds one event with its position in the text.
    pub fn add(&mut self, event: Event<'t>, span: Span) -> Result<(), ProblemKind> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let notation = match style {
                    ScalarStyle::Plain => Notation::Plain,
                    ScalarStyle::Literal | ScalarStyle::Folded => Notation::Block,
                    _ => Notation::Quoted,
                };
                let span = match notation {
                    Notation::Block => self.without_trailing_space(span),
                    _ => span,
                };
                if self.is_indented_by_tab(span) {
                    return Err(ProblemKind::Syntax(SyntaxError::Tab));
                }
                let tag = tag.map_or(Tag::None, |tag| tag_of(&tag));
                self.leaf(span, anchor, Content::Scalar { text, notation, tag })
            }
            Event::SequenceStart(style, anchor, _) => {
                let style = style_of(style);
                let span = self.dash_before(span, style);
                self.open(span, anchor, style, Content::Sequence(style))
            }
            Event::MappingStart(style, anchor, _) => {
                let style = style_of(style);
                self.open(span, anchor, style, Content::Mapping(style))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close(span);
                Ok(())
            }
            Event::Alias(anchor) => {
                let target = self.anchors.get(&anchor).copied();
                self.leaf(span, 0, Content::Alias(target))
            }
            Event::UnresolvedAlias(_) => self.leaf(span, 0, Content::Alias(None)),
            _ => Ok(()),
        }
    }

    /// The tree of the complete document.
    pub fn finish(self) -> Tree<'t> {
        self.tree
    }

    pub fn is_empty(&self) -> bool {
        self.tree.len() == 0
    }

    /// The opening bracket of the innermost collection, if it is written in brackets.
    pub fn open_bracket(&self) -> Option<Span> {
        let (id, style) = self.open.last()?;
        let start = self.tree.get(*id)?.span.start();
        (*style == Style::Flow).then(|| Span::new(start, start + 1))
    }

    /// The end of the last thing that was understood.
    pub fn written(&self) -> usize {
        self.written
    }

    fn leaf(&mut self, span: Span, anchor: usize, content: Content<'t>) -> Result<(), ProblemKind> {
        self.written = self.written.max(span.end());
        self.push(span, anchor, content).map(drop)
    }

    fn open(
        &mut self,
        span: Span,
        anchor: usize,
        style: Style,
        content: Content<'t>,
    ) -> Result<(), ProblemKind> {
        let limit = self.limits.depth;
        if self.open.len() >= limit {
            return Err(ProblemKind::TooDeep { limit });
        }
        let id = self.push(span, anchor, content)?;
        self.open.push((id, style));
        Ok(())
    }

    fn push(&mut self, span: Span, anchor: usize, content: Content<'t>) -> Result<NodeId, ProblemKind> {
        let limit = self.limits.nodes;
        if self.tree.len() >= limit {
            return Err(ProblemKind::TooManyNodes { limit });
        }
        let id = self.tree.push(span, content);
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        Ok(id)
    }

    fn close(&mut self, end: Span) {
        if let Some((id, style)) = self.open.pop() {
            if style == Style::Flow {
                self.written = self.written.max(end.end());
            }
            self.tree.close(id, self.written);
        }
    }

    /// Whether a tab is between the beginning of the line and a scalar in a block. The parser accepts it at the
    /// outermost level; kubectl never does.
    fn is_indented_by_tab(&self, span: Span) -> bool {
        let in_block = self.open.last().is_none_or(|(_, style)| *style == Style::Block);
        let before = self.text.as_bytes().get(..span.start()).unwrap_or_default();
        let mut before = before.iter().rev();
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        in_block
            && before.clone().take_while(is_blank).any(|byte| *byte == b'\t')
            && before
                .find(|byte| !is_blank(byte))
                .is_none_or(|byte| *byte == b'\n')
    }

    /// A sequence in block style begins at its first dash. If that is not indented deeper than the key above, the
    /// parser reports the position after the dash.
    fn dash_before(&self, span: Span, style: Style) -> Span {
        let below_key = self
            .open
            .last()
            .and_then(|(id, _)| self.tree.get(*id))
            .is_some_and(|parent| matches!(parent.content, Content::Mapping(_)));
        let before = self.text.get(..span.start()).unwrap_or_default();
        let before = before.trim_end_matches([' ', '\t']);
        if style == Style::Block && below_key && before.ends_with('-') {
            Span::new(before.len() - 1, span.end())
        } else {
            span
        }
    }

    /// A block scalar ends with its last word; the parser reports the beginning of the next line's content.
    fn without_trailing_space(&self, span: Span) -> Span {
        span.ending_at(span.start() + span.slice(self.text).trim_end().len())
    }
}

fn style_of(style: StructureStyle) -> Style {
    match style {
        StructureStyle::Block => Style::Block,
        StructureStyle::Flow => Style::Flow,
    }
}

fn tag_of(tag: &granit_parser::Tag) -> Tag {
    tag.suffix_in_namespace(STANDARD_TAGS)
        .map_or(Tag::Other, |name| Tag::named(&name))
}
