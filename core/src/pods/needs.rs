//! What a pod needs of its node.

use std::collections::BTreeMap;
use std::fmt;

use super::{Resources, Toleration};
use crate::diagnostic::FieldPath;
use crate::facts::{Operator, Selection};

/// What a pod needs of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Needs {
    /// Its resource requests, all containers and the overhead together, without its own entry under the node's
    /// `pods`.
    pub requests: Resources,
    /// `spec.nodeSelector`: labels that the node must have.
    pub node_selector: BTreeMap<String, String>,
    /// The required node affinity: the node must match one of the terms, if there are any.
    pub required: Vec<Term>,
    /// The preferred node affinity, the heaviest term first.
    pub preferred: Vec<Term>,
    /// `spec.tolerations`: taints that the node may have.
    pub tolerations: Vec<Toleration>,
    /// What else decides where it may run.
    pub others: Others,
}

/// A term of a node affinity.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// Its index in the pod's list.
    pub index: usize,
    /// `matchExpressions`: the node's labels must meet all of them.
    pub expressions: Vec<LabelRequirement>,
    /// True if it has `matchFields`, or an expression that cannot be read.
    pub has_more: bool,
}

/// What decides where a pod may run, besides the labels, taints and resources of a node.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Others {
    /// True if it must be near other pods, away from them, or spread with them (`DoNotSchedule`).
    pub pods: bool,
    /// True if it has volumes that may be bound to a place.
    pub volumes: bool,
    /// True if it needs ports of its node.
    pub ports: bool,
    /// True if it has resource claims.
    pub claims: bool,
    /// True if it would like to be near other pods, away from them, or spread with them. This alone binds it to no place.
    pub prefers: bool,
}

/// What a template, a selector or a term requires of a label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    /// The key of the label.
    pub key: String,
    /// How it relates to the values.
    pub operator: Operator,
    /// The values that the operator compares the label with; empty for `Exists` and `DoesNotExist`.
    pub values: Vec<String>,
}

/// Where a pod requires something of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// `spec.nodeSelector`, by key.
    Selector(String),
    /// The required node affinity, by the indexes of term and expression.
    Required(usize, usize),
    /// The preferred node affinity, by the indexes of term and expression.
    Preferred(usize, usize),
}

impl Needs {
    /// Where the pod says what it needs of labels.
    pub fn places(&self) -> impl Iterator<Item = Where> {
        let selector = self.node_selector.keys().cloned().map(Where::Selector);
        let of = |terms: &[Term], place: fn(usize, usize) -> Where| {
            let each = |term: &Term| {
                let index = term.index;
                (0..term.expressions.len()).map(move |expression| place(index, expression))
            };
            terms.iter().flat_map(each).collect::<Vec<_>>()
        };
        let required = of(&self.required, Where::Required);
        selector
            .chain(required)
            .chain(of(&self.preferred, Where::Preferred))
    }

    /// True if more than the node selector, taints and resources decides where it may run.
    pub fn is_bound(&self) -> bool {
        let Others {
            pods,
            volumes,
            ports,
            claims,
            prefers: _,
        } = self.others;
        pods || volumes || ports || claims || !self.required.is_empty()
    }
}

impl LabelRequirement {
    /// The values that it allows, as they are written.
    pub fn selection(&self) -> Selection<'_> {
        let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        Selection::new(self.operator, &values)
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.operator.as_str())?;
        if self.values.is_empty() && !matches!(self.operator, Operator::In | Operator::NotIn) {
            return Ok(());
        }
        write!(f, " [{}]", self.values.join(", "))
    }
}

impl Where {
    /// The path below a pod.
    pub fn path(&self) -> FieldPath {
        const AFFINITY: [&str; 3] = ["spec", "affinity", "nodeAffinity"];
        match self {
            Self::Selector(key) => FieldPath::of(&["spec", "nodeSelector"]).key(key.clone()),
            Self::Required(term, expression) => FieldPath::of(&AFFINITY)
                .key("requiredDuringSchedulingIgnoredDuringExecution")
                .key("nodeSelectorTerms")
                .index(*term)
                .key("matchExpressions")
                .index(*expression),
            Self::Preferred(term, expression) => FieldPath::of(&AFFINITY)
                .key("preferredDuringSchedulingIgnoredDuringExecution")
                .index(*term)
                .key("preference")
                .key("matchExpressions")
                .index(*expression),
        }
    }
}
