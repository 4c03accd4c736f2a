//! All requirements and template labels about one label, under all its names.

use std::fmt;

use super::{Entry, Scope};
use crate::diagnostic::FieldPath;
use crate::json::FewMap;
use crate::karpenter::{LabelKind, Operator, Selection, Template, canonical_label, selection_of};

/// How many values a message names; the others are only counted.
const MOST_SHOWN: usize = 5;

/// One requirement or template label about a label.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// An element of `requirements`.
    Entry(&'a Entry<'a>),
    /// A label of the template.
    Label {
        /// The key as it is written.
        written: &'a str,
        /// The key that Karpenter uses.
        key: &'a str,
        /// The value of the label.
        value: &'a str,
    },
}

/// All entries of one label, in their order, requirements first.
#[derive(Debug)]
pub struct Group<'a> {
    /// The kind of the label.
    pub kind: &'a LabelKind<'a>,
    /// The requirements and template labels; at least one requirement.
    pub sources: Vec<Source<'a>>,
}

impl<'a> Group<'a> {
    /// Groups valid requirements by label, together with the valid template labels of the same name.
    pub fn all(entries: &'a [Entry<'a>], labels: &[(&'a str, &'a str)], scope: &Scope<'_>) -> Vec<Self> {
        let mut indexes: FewMap<&str, usize> = FewMap::default();
        let mut groups: Vec<Self> = Vec::with_capacity(entries.len());
        for entry in entries {
            let index = indexes.insert(entry.key, groups.len()).copied();
            match index.and_then(|index| groups.get_mut(index)) {
                Some(group) => group.sources.push(Source::Entry(entry)),
                None => groups.push(Self {
                    kind: &entry.kind,
                    sources: vec![Source::Entry(entry)],
                }),
            }
        }
        for &(written, value) in labels {
            let key = canonical_label(written, scope.provider);
            let group = indexes.get(&key).and_then(|index| groups.get_mut(*index));
            if let Some(group) = group {
                group.sources.push(Source::Label { written, key, value });
            }
        }
        groups
    }

    /// The requirements among the sources.
    pub fn entries(&self) -> impl Iterator<Item = &'a Entry<'a>> {
        self.sources.iter().filter_map(|source| match source {
            Source::Entry(entry) => Some(*entry),
            Source::Label { .. } => None,
        })
    }

    /// The values that all of them allow together.
    pub fn selection(&self, scope: &Scope<'_>) -> Selection<'a> {
        Selection::all(self.sources.iter().map(|source| source.selection(scope)))
    }

    /// Whether no instance type has the label.
    pub fn is_custom(&self) -> bool {
        self.kind.is_custom()
    }
}

impl<'a> Source<'a> {
    /// The values that it allows, by the provider's release that allows most.
    pub fn selection(&self, scope: &Scope<'_>) -> Selection<'a> {
        let operator = match self {
            Self::Entry(entry) => entry.operator,
            Self::Label { .. } => Operator::In,
        };
        selection_of(self.key(), operator, self.values(), scope.provider)
    }

    /// The key of the label, by the name that Karpenter uses.
    pub const fn key(&self) -> &'a str {
        match self {
            Self::Entry(entry) => entry.key,
            Self::Label { key, .. } => key,
        }
    }

    /// The values that it names.
    pub fn values(&self) -> &[&'a str] {
        match self {
            Self::Entry(entry) => &entry.values,
            Self::Label { value, .. } => std::slice::from_ref(value),
        }
    }

    /// Whether it allows a value. To ask for few values, [`Source::selection`] costs too much.
    pub fn allows(&self, value: &str) -> bool {
        match self {
            Self::Entry(entry) => match entry.operator {
                Operator::In => entry.values.contains(&value),
                Operator::NotIn => !entry.values.contains(&value),
                operator => Selection::new(operator, &entry.values).has(value),
            },
            Self::Label { value: only, .. } => *only == value,
        }
    }

    /// Whether a node must carry the label because of it.
    pub const fn demands_label(&self) -> bool {
        match self {
            Self::Entry(entry) => entry.operator.demands_label(),
            Self::Label { .. } => true,
        }
    }

    /// How many values it names.
    pub const fn count(&self) -> usize {
        match self {
            Self::Entry(entry) => entry.values.len(),
            Self::Label { .. } => 1,
        }
    }

    /// The field to report a finding at.
    pub fn path(&self) -> FieldPath {
        match self {
            Self::Entry(entry) => Scope::entry(entry.index),
            Self::Label { written, .. } => Template::labels_path().key((*written).to_owned()),
        }
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(entry) => entry.fmt(f),
            Self::Label { key, value, .. } => write!(f, "the label {key}: {}", shown(value)),
        }
    }
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.operator.as_str())?;
        if self.values.is_empty() {
            return Ok(());
        }
        let values = self.values.iter().take(MOST_SHOWN);
        let shown = values.map(|value| shown(value)).collect::<Vec<_>>();
        write!(f, " [{}", shown.join(", "))?;
        match self.values.len() - shown.len() {
            0 => f.write_str("]"),
            more => write!(f, " and {more} more]"),
        }
    }
}

/// A value as a message lists it: an empty one would not be seen.
fn shown(value: &str) -> &str {
    if value.is_empty() { "\"\"" } else { value }
}
