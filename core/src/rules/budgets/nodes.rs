//! How many nodes may be disrupted under a budget: its `nodes`.

use crate::budget::DEFAULT_NODES;
use crate::diagnostic::Origin;
use crate::karpenter::{Budget, Field};
use crate::rule::Rule;
use crate::rules::findings::Findings;
use crate::rules::origins::by_crd_or;
use crate::value::nodes::BudgetNodes;

pub static BUDGET_NODES: Rule = rule!("budget-nodes", Error, [Schema, Silent], Shown);

/// Returns the number if it can be read.
pub fn check(budget: &Budget<'_>, findings: &mut Findings<'_>) -> Option<BudgetNodes> {
    let text = match budget.nodes {
        Field::Absent => return Some(DEFAULT_NODES),
        Field::Mistyped => return None,
        Field::Present(text) => text,
    };
    match BudgetNodes::parse(text) {
        Ok(nodes) => Some(nodes),
        Err(error) => {
            findings
                .report(&BUDGET_NODES, budget.path("nodes"), text, error.to_string())
                .origin(by_crd_or(Origin::Silent, error.is_let_through))
                .suggest_if_known(error.suggestion);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::errors;

    fn budget(budget: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": [budget]}}})
    }

    #[test]
    fn nodes_beyond_32_bits_are_denied() {
        for nodes in ["2147483648", "4294967297", "99999999999999999999"] {
            let denied = errors(&budget(&json!({"nodes": nodes})));
            assert_eq!(denied.len(), 1, "{nodes}");
            assert!(denied[0].ends_with("[budget-nodes]"), "{denied:?}");
        }
        assert_eq!(errors(&budget(&json!({"nodes": "2147483647"}))), [""; 0]);
    }
}
