//! How many nodes may be disrupted under a budget: its `nodes`.

use crate::budget::Budget;
use crate::diagnostic::Origin;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGET_NODES: Rule = rule!("budget-nodes", Error, [Schema, Silent], Shown);

pub fn check(budget: &Budget, findings: &mut Findings<'_>) {
    if let Some(nodes) = budget.nodes.as_ref().present()
        && let Err(error) = &nodes.value
    {
        let path = budget.path("nodes");
        findings
            .report_text(
                &BUDGET_NODES,
                path,
                &nodes.text,
                Origin::Silent,
                error.to_string(),
            )
            .suggest_if_known(error.suggestion.clone());
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
