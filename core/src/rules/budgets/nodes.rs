//! How many nodes may be disrupted under a budget: its `nodes`.

use crate::budget::ParsedBudget;
use crate::diagnostic::Origin;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGET_NODES: Rule = rule!("budget-nodes", Error, Schema);

pub fn check(budget: &ParsedBudget<'_>, findings: &mut Findings<'_>) {
    if let Some(nodes) = budget.nodes.as_ref().present()
        && let Err(error) = &nodes.value
    {
        let path = budget.view.path("nodes");
        findings
            .report_text(&BUDGET_NODES, path, nodes.text, Origin::Silent, error.to_string())
            .suggest_if_known(error.suggestion.clone());
    }
}
