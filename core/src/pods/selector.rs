//! Selectors of labels, as objects have them.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{LabelRequirement, Term};
use crate::facts::Operator;

/// A requirement on a label, in a selector or a term.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Expression {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

/// Terms that a node may match: those of a required affinity.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelector {
    node_selector_terms: Vec<SelectorTerm>,
}

/// One of them, or a preference.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectorTerm {
    match_expressions: Option<Vec<Expression>>,
    match_fields: Option<Vec<IgnoredAny>>,
}

impl Expression {
    /// What it requires, or the operator if nobody knows it.
    pub fn read(self) -> Result<LabelRequirement, String> {
        let Some(operator) = Operator::parse(&self.operator) else {
            return Err(self.operator);
        };
        Ok(LabelRequirement {
            key: self.key,
            operator,
            values: self.values.unwrap_or_default(),
        })
    }
}

impl NodeSelector {
    /// Its terms. An object that lacks them matches as one without a selector does.
    pub fn terms(&self) -> Vec<Term> {
        let terms = self.node_selector_terms.iter().enumerate();
        terms.map(|(index, term)| term.read(index)).collect()
    }
}

impl SelectorTerm {
    /// The term with this index in its list.
    pub fn read(&self, index: usize) -> Term {
        let written = self.match_expressions.as_deref().unwrap_or_default();
        let expressions: Vec<_> = written.iter().filter_map(|one| one.clone().read().ok()).collect();
        let has_fields = self
            .match_fields
            .as_ref()
            .is_some_and(|fields| !fields.is_empty());
        Term {
            index,
            has_more: has_fields || expressions.len() < written.len(),
            expressions,
        }
    }
}
