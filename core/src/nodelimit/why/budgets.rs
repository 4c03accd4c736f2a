//! Budgets of the NodePool that allow no disruption now.

use super::{Cause, CauseKind, Seen};
use crate::budget::{Allowance, Budgets, Change, Reason, is_supported};
use crate::nodelimit::plan::Counts;

/// What opens a budget: Karpenter's default.
const OPEN: &str = "10%";

/// Why no more nodes of the pool may be disrupted for these reasons, if that is so.
pub fn causes(seen: &Seen<'_>, reasons: &[Reason]) -> Vec<Cause> {
    let Some(known) = seen.pool.filter(|_| is_supported(seen.now)) else {
        return Vec::new();
    };
    let budgets = match &known.pool.budgets {
        Ok(budgets) => budgets,
        Err(unreadable) => {
            let text = format!("Karpenter cannot parse {}: {}", unreadable.path, unreadable.why);
            return vec![Cause::new(CauseKind::BudgetUnreadable, text)];
        }
    };
    let counts = known.counts.as_ref().filter(|_| known.knows_nodes);
    // A percentage of no node is no node: it says nothing about a pool whose nodes are starting.
    let Some(counts) = counts.filter(|counts| counts.budgeted() > 0) else {
        return Vec::new();
    };
    let mut causes: Vec<Cause> = Vec::new();
    for &reason in reasons {
        let cause = cause(seen, &known.pool.name, budgets, reason, counts);
        causes.extend(cause.filter(|cause| causes.iter().all(|other| other.text != cause.text)));
    }
    causes
}

fn cause(seen: &Seen<'_>, pool: &str, budgets: &Budgets, reason: Reason, counts: &Counts) -> Option<Cause> {
    let name = |index: usize| {
        let budget = if budgets.are_written() {
            format!("spec.disruption.budgets[{index}]")
        } else {
            "the default budget of 10%".to_owned()
        };
        format!("{budget} of NodePool {pool}")
    };
    let (all, consumed, word) = (counts.budgeted(), counts.consumed(reason), reason.as_str());
    match budgets.allowance(reason, all, seen.now) {
        Allowance::Blocked { budget } => Some(
            Cause::new(
                CauseKind::BudgetUnreadable,
                format!(
                    "Karpenter cannot parse the schedule of {}, so it allows no disruption",
                    name(budget)
                ),
            )
            .change("poolgate lint --cluster shows the mistake"),
        ),
        Allowance::Limited { nodes: 0, budget } => {
            let (when, until) = match budgets.next_change(reason, all, seen.now) {
                Change::At { at, .. } => ("now", Some(at)),
                Change::NotBefore(_) => ("now", None),
                Change::Never => ("at any time", None),
            };
            let text = format!("{} allows no disruption for {word} {when}", name(budget));
            let patch = format!(
                r#"[{{"op":"replace","path":"/spec/disruption/budgets/{budget}/nodes","value":"{OPEN}"}}]"#
            );
            Some(Cause::new(CauseKind::BudgetClosed, text).until(until).change(format!(
                "To open it until the manifest is applied again: kubectl patch nodepool {pool} --type=json --patch='{patch}'"
            )))
        }
        Allowance::Limited { nodes, budget } if consumed >= nodes => {
            let text = format!(
                "{} allows {nodes} of {all} nodes simultaneously for {word}, but {consumed} are on their way out or not ready",
                name(budget),
            );
            Some(Cause::new(CauseKind::BudgetUsedUp, text))
        }
        Allowance::Unlimited | Allowance::Limited { .. } => None,
    }
}
