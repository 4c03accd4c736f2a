//! Turns the text into the value that the API server receives: scalars resolved, aliases followed, merges applied,
//! keys converted to text.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::json::{self, FieldMask, Json};

use super::key::{Key, key_name, key_of};
use super::merge;
use super::problem::{ProblemKind, Problems};
use super::scalar::{self, Notation, Tag};
use super::template::{is_helms, is_template};
use super::tree::{Content, NodeId, Style, Tree};
use super::variables::{Filled, Variables, has_variable};
use super::{Limits, Span};

/// What aliases may still add, over all documents of a text.
#[derive(Debug, Clone, Copy)]
pub struct AliasBudget {
    pub(crate) nodes: usize,
    pub(crate) bytes: usize,
}

/// How a document is read.
#[derive(Debug)]
pub struct Reading<'r> {
    pub(crate) limits: Limits,
    /// The values to fill in; `None` if variables are ordinary text.
    pub(crate) variables: Option<&'r Variables>,
    /// True if the text is a template of Helm's, once that was asked.
    pub(crate) is_helms: &'r OnceCell<bool>,
    pub(crate) budget: &'r mut AliasBudget,
}

/// The value of a document.
#[derive(Debug, Default)]
pub struct Resolved<'t> {
    /// `None` if a bound was exceeded, which is then among the problems.
    pub value: Option<Json<'t>>,
    pub problems: Problems,
    /// The positions of variables that were not filled in.
    pub variables: Vec<Span>,
    /// How many elements a variable in a list became, if that is not one.
    pub lengths: HashMap<NodeId, usize>,
}

/// The value of a tree.
pub fn value<'t>(text: &str, tree: &Tree<'t>, reading: Reading<'_>) -> Resolved<'t> {
    if tree.len() == 0 {
        return Resolved {
            value: Some(Json::Null),
            ..Resolved::default()
        };
    }
    let (limits, budget) = (reading.limits, reading.budget);
    let allowed = AliasBudget {
        nodes: budget.nodes.min(limits.alias_nodes),
        bytes: budget.bytes.min(limits.alias_bytes),
    };
    let mut resolver = Resolver {
        text,
        tree,
        limits,
        variables: reading.variables,
        is_helms: reading.is_helms,
        left: allowed,
        aliases: 0,
        depth: 0,
        in_brackets: false,
        problems: Problems::default(),
        open: Vec::new(),
        lengths: HashMap::new(),
    };
    let value = resolver.value(0);
    let left = resolver.left;
    budget.nodes = budget.nodes.saturating_sub(allowed.nodes - left.nodes);
    budget.bytes = budget.bytes.saturating_sub(allowed.bytes - left.bytes);
    Resolved {
        value: value.ok(),
        problems: resolver.problems,
        variables: resolver.open,
        lengths: resolver.lengths,
    }
}

/// A bound was exceeded; the problem is recorded.
struct Stop;

struct Resolver<'r, 't> {
    text: &'r str,
    tree: &'r Tree<'t>,
    limits: Limits,
    left: AliasBudget,
    /// How many aliases are being followed, one inside the other.
    aliases: usize,
    /// How many collections are open, aliases followed. Bounds the recursion.
    depth: usize,
    /// True if the node is inside of brackets, where a comma ends a scalar.
    in_brackets: bool,
    variables: Option<&'r Variables>,
    is_helms: &'r OnceCell<bool>,
    problems: Problems,
    /// The positions of variables that were not filled in.
    open: Vec<Span>,
    lengths: HashMap<NodeId, usize>,
}

/// What ends a scalar inside of brackets.
const BETWEEN_BRACKETS: [char; 5] = [',', '[', ']', '{', '}'];

/// The entries of a mapping that is being filled.
type Entries<'t> = BTreeMap<Cow<'t, str>, Json<'t>>;

/// The mapping that a merge adds to.
struct Outer<'k, 't> {
    /// Its keys that are written out above the merge.
    explicit: &'k HashSet<Cow<'t, str>>,
    /// The position of the merge; `None` if it was reported before and an alias led to it again.
    merge: Option<Span>,
}

impl<'t> Resolver<'_, 't> {
    fn value(&mut self, id: NodeId) -> Result<Json<'t>, Stop> {
        let tree = self.tree;
        let Some(node) = tree.get(id) else {
            return Ok(Json::Null);
        };
        match &node.content {
            Content::Scalar { text, notation, tag } => {
                self.spend(id, text.len())?;
                Ok(self.scalar(node.span, text, *notation, *tag))
            }
            Content::Mapping(style) => {
                self.spend(id, 0)?;
                self.nested(id, *style, |this| {
                    let mut entries = Entries::new();
                    this.fill(id, &mut entries, None)?;
                    Ok(Json::Object(entries.into_iter().collect()))
                })
            }
            Content::Sequence(style) => {
                self.spend(id, 0)?;
                self.nested(id, *style, |this| {
                    let mut items = Vec::new();
                    for item in tree.children(id) {
                        match this.several(item) {
                            Some(several) => items.extend(several),
                            None => items.push(this.value(item)?),
                        }
                    }
                    Ok(Json::Array(items))
                })
            }
            Content::Alias(_) => match self.target(id) {
                Some(target) => self.aliased(|this| this.value(target)),
                None => Ok(Json::Null),
            },
        }
    }

    fn scalar(&mut self, span: Span, text: &Cow<'t, str>, notation: Notation, tag: Tag) -> Json<'t> {
        let text = match self.variables.and_then(|variables| variables.fill(text)) {
            None => text.clone(),
            Some(Filled::Text(value)) if notation != Notation::Plain => value.into(),
            Some(Filled::Text(value)) if self.stays_plain(value.trim()) => value.trim().to_owned().into(),
            // A list in brackets, or a text in quotes.
            Some(Filled::Text(value)) if tag == Tag::None => match json::read(&value, FieldMask::All) {
                Ok(value) => return value.into_owned(),
                Err(_) => return self.left_open(span, text),
            },
            Some(_) => return self.left_open(span, text),
        };
        let Ok(scalar) = scalar::resolve(text.clone(), notation, tag) else {
            let (tag, text) = (tag.as_str(), text.into_owned());
            self.report(span, ProblemKind::WrongTag { tag, text });
            return Json::Null;
        };
        scalar.into_json().unwrap_or_else(|| {
            self.report(span, ProblemKind::NotFinite);
            Json::String(text)
        })
    }

    /// True if a text that was filled in is exactly one scalar.
    fn stays_plain(&self, text: &str) -> bool {
        scalar::stays_plain(text) && !(self.in_brackets && text.contains(BETWEEN_BRACKETS))
    }

    /// The elements that a variable in a list in brackets became, if that is not one: `a, b` in `[${A}]`.
    fn several(&mut self, item: NodeId) -> Option<Vec<Json<'t>>> {
        let (variables, tree) = (self.variables.filter(|_| self.in_brackets)?, self.tree);
        let Content::Scalar {
            text,
            notation: Notation::Plain,
            tag: Tag::None,
        } = &tree.get(item)?.content
        else {
            return None;
        };
        let Filled::Text(filled) = variables.fill(text)? else {
            return None;
        };
        let is_one = !filled.contains(',') && !filled.trim().is_empty();
        let words = || {
            let words = filled.split(',').map(str::trim);
            let is_word = |word: &str| !word.is_empty() && self.stays_plain(word);
            words.clone().all(is_word).then(|| {
                let words =
                    words.map(|word| scalar::resolve(word.to_owned().into(), Notation::Plain, Tag::None));
                words
                    .map(|word| word.ok()?.into_json())
                    .collect::<Option<Vec<_>>>()
            })?
        };
        if is_one {
            return None;
        }
        let elements = match json::read(&format!("[{filled}]"), FieldMask::All).map(Json::into_owned) {
            Ok(Json::Array(elements)) => elements,
            _ => words()?,
        };
        self.lengths.insert(item, elements.len());
        Some(elements)
    }

    /// A value with a variable that was not filled in, as written.
    fn left_open(&mut self, span: Span, text: &Cow<'t, str>) -> Json<'t> {
        if self.aliases == 0 {
            self.open.push(span);
        }
        Json::String(text.clone())
    }

    /// Writes the parts of a mapping into `map`, the later over the earlier.
    fn fill(&mut self, id: NodeId, map: &mut Entries<'t>, outer: Option<&Outer<'_, 't>>) -> Result<(), Stop> {
        let tree = self.tree;
        // The keys written out so far; `map` may hold others as well.
        let mut explicit = outer.map(|_| HashSet::new());
        for part in merge::parts(tree, id) {
            let (key, value) = match part {
                merge::MappingLine::Entry { key, value } => (key, value),
                merge::MappingLine::Merge { key, value } => {
                    let keys = explicit.get_or_insert_with(|| map.keys().cloned().collect());
                    let merge = tree.get(key).map(|node| node.span).filter(|_| self.aliases == 0);
                    let outer = Outer {
                        explicit: keys,
                        merge,
                    };
                    self.merge(value, map, &outer)?;
                    continue;
                }
            };
            let name = self.key(key)?;
            let value = self.value(value)?;
            let Some(name) = name else { continue };
            if let Some(outer) = outer
                && let Some(merge) = outer.merge
                && outer.explicit.contains(&name)
                && map.get(&name) != Some(&value)
            {
                let kind = ProblemKind::MergeReplaces {
                    key: name.clone().into_owned(),
                };
                self.problems.push(merge, kind);
            }
            let replaced = map.insert(name.clone(), value);
            let is_again = match &mut explicit {
                Some(keys) => !keys.insert(name.clone()),
                None => replaced.is_some(),
            };
            if is_again {
                self.duplicate(id, key, &name);
            }
        }
        Ok(())
    }

    /// Writes the entries that a merge adds into `map`.
    fn merge(&mut self, value: NodeId, map: &mut Entries<'t>, outer: &Outer<'_, 't>) -> Result<(), Stop> {
        let tree = self.tree;
        if merge::is_list(tree, value) {
            self.spend(value, 0)?;
        }
        merge::sources(tree, value).try_for_each(|source| self.merge_one(source, map, outer))
    }

    fn merge_one(
        &mut self,
        source: NodeId,
        map: &mut Entries<'t>,
        outer: &Outer<'_, 't>,
    ) -> Result<(), Stop> {
        let tree = self.tree;
        let Some(target) = self.target(source) else {
            return Ok(());
        };
        let Some(node) = tree.get(target) else {
            return Ok(());
        };
        let Content::Mapping(style) = node.content else {
            let span = tree.get(source).map_or(node.span, |node| node.span);
            self.report(span, ProblemKind::MergeOfNoMapping);
            return Ok(());
        };
        let mut fill = |this: &mut Self| {
            this.spend(target, 0)?;
            this.nested(target, style, |this| this.fill(target, map, Some(outer)))
        };
        if target == source {
            fill(self)
        } else {
            self.aliased(fill)
        }
    }

    /// The key as the API server sees it; `None` if it cannot be a key, which is then among the problems.
    fn key(&mut self, id: NodeId) -> Result<Option<Cow<'t, str>>, Stop> {
        let tree = self.tree;
        let Some(target) = self.target(id) else {
            return Ok(None);
        };
        let (Some(written), Some(node)) = (tree.get(id), tree.get(target)) else {
            return Ok(None);
        };
        let Content::Scalar { text, notation, tag } = &node.content else {
            let kind = if is_template(self.text, written.span.start()) {
                ProblemKind::Template {
                    is_helms: *self.is_helms.get_or_init(|| is_helms(self.text)),
                }
            } else {
                ProblemKind::CompoundKey
            };
            self.report(written.span, kind);
            return Ok(None);
        };
        self.spend(id, text.len())?;
        if self.variables.is_some() && self.aliases == 0 && has_variable(text) {
            self.open.push(written.span);
        }
        Ok(match key_of(text, *notation, *tag) {
            Ok(Key::Text(name)) => Some(name),
            Ok(Key::Other(name)) => {
                let becomes = name.clone();
                self.report(written.span, ProblemKind::NonTextKey { becomes });
                Some(name.into())
            }
            Err(kind) => {
                self.report(written.span, kind);
                None
            }
        })
    }

    /// Records that `key` is in the mapping for the second time.
    fn duplicate(&mut self, mapping: NodeId, key: NodeId, name: &str) {
        let tree = self.tree;
        if self.aliases > 0 {
            return;
        }
        // To find the first of the two, the mapping is searched: not done for a problem that is only counted.
        let first = if self.problems.is_full() {
            None
        } else {
            let mut keys = tree.entries(mapping).map(|(key, _)| key);
            keys.find(|other| key_name(tree, *other).is_some_and(|other| other == name))
        };
        let span = |id: NodeId| tree.get(id).map(|node| node.span);
        let kind = ProblemKind::DuplicateKey { key: name.to_owned() };
        self.problems
            .push_related(span(key).unwrap_or(Span::new(0, 0)), first.and_then(span), kind);
    }

    /// The node, with an alias followed; `None` if it leads nowhere, which is then among the problems.
    fn target(&mut self, id: NodeId) -> Option<NodeId> {
        let target = self.tree.follow(id);
        if target.is_none()
            && let Some(node) = self.tree.get(id)
        {
            let kind = match node.content {
                Content::Alias(None) => ProblemKind::UnknownAlias {
                    name: node.span.slice(self.text).trim_start_matches('*').to_owned(),
                },
                _ => ProblemKind::RecursiveAlias,
            };
            self.report(node.span, kind);
        }
        target
    }

    /// Records a problem, unless the same text was seen before and an alias led to it again.
    fn report(&mut self, span: Span, kind: ProblemKind) {
        if self.aliases == 0 {
            self.problems.push(span, kind);
        }
    }

    fn aliased<T>(&mut self, follow: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        self.aliases += 1;
        let result = follow(self);
        self.aliases -= 1;
        result
    }

    fn nested<T>(
        &mut self,
        id: NodeId,
        style: Style,
        walk: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let limit = self.limits.depth;
        if self.depth >= limit {
            return Err(self.stop(id, ProblemKind::TooDeep { limit }));
        }
        let outside = self.in_brackets;
        self.in_brackets = style == Style::Flow;
        self.depth += 1;
        let result = walk(self);
        self.depth -= 1;
        self.in_brackets = outside;
        result
    }

    /// Charges a node that an alias adds to the budget.
    fn spend(&mut self, id: NodeId, bytes: usize) -> Result<(), Stop> {
        if self.aliases == 0 {
            return Ok(());
        }
        match (self.left.nodes.checked_sub(1), self.left.bytes.checked_sub(bytes)) {
            (Some(nodes), Some(bytes)) => {
                self.left = AliasBudget { nodes, bytes };
                Ok(())
            }
            _ => Err(self.stop(id, ProblemKind::TooMuchAliased)),
        }
    }

    fn stop(&mut self, id: NodeId, kind: ProblemKind) -> Stop {
        let span = self.tree.get(id).map_or(Span::new(0, 0), |node| node.span);
        self.problems.push(span, kind);
        Stop
    }
}
