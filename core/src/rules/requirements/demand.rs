//! The demand of a pool on one label of its nodes.

use std::fmt;

use super::scope::Scope;
use crate::diagnostic::{FieldPath, first_few};
use crate::facts::{
    LabelKind, Operator, Part, Provider, Selection, as_read, canonical_label, is_on_every_instance_type,
};
use crate::pool::Template;

/// How many values a message names; the others are only counted.
const MOST_SHOWN: usize = 5;

/// A valid requirement, or a label of the template, which Karpenter turns into one.
#[derive(Debug)]
pub struct Demand<'a> {
    pub at: At<'a>,
    /// The key of the label, by the name that Karpenter uses.
    pub key: &'a str,
    pub kind: LabelKind,
    /// The part of an instance type's name that the provider makes the label of, if it does.
    pub part: Option<Part>,
    pub operator: Operator,
    pub values: Vec<&'a str>,
    pub min_values: Option<i64>,
    /// The values that it allows, as they are written.
    written: Selection<'a>,
    provider: Option<&'static Provider>,
}

/// Where a demand is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At<'a> {
    /// The requirement with this index.
    Requirement(usize),
    /// The template label with this key, as it is written.
    Label(&'a str),
}

impl At<'_> {
    /// The path of the requirement or label.
    pub fn path(self) -> FieldPath {
        match self {
            Self::Requirement(index) => Template::requirements_path().index(index),
            Self::Label(written) => Template::labels_path().key(written.to_owned()),
        }
    }

    /// The path of a field of the requirement. A label has no fields.
    pub fn field(self, name: &'static str) -> FieldPath {
        match self {
            Self::Requirement(_) => self.path().key(name),
            Self::Label(_) => self.path(),
        }
    }

    /// The path of a value.
    pub fn value(self, position: usize) -> FieldPath {
        match self {
            Self::Requirement(_) => self.field("values").index(position),
            Self::Label(_) => self.path(),
        }
    }
}

impl<'a> Demand<'a> {
    /// The demand on the label as written.
    pub fn new(
        at: At<'a>,
        written: &'a str,
        kind: LabelKind,
        (operator, values): (Operator, Vec<&'a str>),
        min_values: Option<i64>,
        scope: &Scope<'a>,
    ) -> Self {
        let key = canonical_label(written, scope.labels.provider);
        let part = scope
            .naming
            .zip(scope.labels.provider)
            .and_then(|(naming, provider)| naming.part(key, provider));
        Self {
            at,
            key,
            kind,
            part,
            operator,
            written: Selection::new(operator, &values),
            values,
            min_values,
            provider: scope.labels.provider,
        }
    }

    /// The values that it allows, by the provider's release that allows most.
    pub fn selection(&self) -> Selection<'a> {
        as_read(self.key, self.written.clone(), self.provider)
    }

    /// The values that it allows, as they are written.
    pub const fn written(&self) -> &Selection<'a> {
        &self.written
    }

    /// True if it allows a value.
    pub fn allows(&self, value: &str) -> bool {
        self.written.has(value)
    }

    /// True if it names values to choose from, or to avoid.
    pub const fn lists_values(&self) -> bool {
        matches!(self.operator, Operator::In | Operator::NotIn)
    }

    pub const fn is_label(&self) -> bool {
        matches!(self.at, At::Label(_))
    }

    /// Where it is, in a title.
    pub fn place(&self) -> String {
        match self.at {
            At::Requirement(index) => format!("requirements[{index}]"),
            At::Label(_) => "a label of the template".to_owned(),
        }
    }

    /// True if its `minValues` is more than this.
    pub fn asks_for_more_than(&self, count: usize) -> bool {
        let least = self.min_values.and_then(|least| usize::try_from(least).ok());
        least.is_some_and(|least| least > count)
    }

    /// How many different values it lists; none if its operator takes no list.
    pub fn distinct(&self) -> usize {
        self.written.listed()
    }

    /// True if every instance type certainly carries the label.
    pub fn is_on_every_instance_type(&self) -> bool {
        is_on_every_instance_type(self.key, self.provider)
    }
}

/// All demands on one label, requirements first.
#[derive(Debug)]
pub struct Group<'d, 'a> {
    /// The first requirement.
    pub first: &'d Demand<'a>,
    /// All of them, the first included.
    pub demands: Vec<&'d Demand<'a>>,
}

impl<'d, 'a> Group<'d, 'a> {
    /// The groups of these demands, which have requirements first. Labels that no requirement is about are in none.
    pub fn all(demands: &'d [Demand<'a>]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for demand in demands {
            match groups.iter_mut().find(|group| group.first.key == demand.key) {
                Some(group) => group.demands.push(demand),
                None if demand.is_label() => {}
                None => groups.push(Self {
                    first: demand,
                    demands: vec![demand],
                }),
            }
        }
        groups
    }

    /// The values that all of them allow.
    pub fn selection(&self) -> Selection<'a> {
        Selection::all(self.demands.iter().map(|demand| demand.selection()))
    }

    pub fn requirements(&self) -> impl Iterator<Item = &'d Demand<'a>> {
        self.demands.iter().copied().filter(|demand| !demand.is_label())
    }
}

impl fmt::Display for Demand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (At::Label(_), [value]) = (self.at, self.values.as_slice()) {
            return write!(f, "the label {}: {}", self.key, shown(value));
        }
        write!(f, "{} {}", self.key, self.operator.as_str())?;
        if self.values.is_empty() {
            return Ok(());
        }
        let values = self.values.iter().map(|value| shown(value));
        write!(f, " [{}]", first_few(values, MOST_SHOWN))
    }
}

/// A value as a message lists it: an empty one would not be seen.
fn shown(value: &str) -> &str {
    if value.is_empty() { "\"\"" } else { value }
}
