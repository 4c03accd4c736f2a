//! Budgets of the NodePool that allow no disruption now.

use poolgate_core::budget::{Allowance, Budgets, Change, Reason, is_supported};
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, DISRUPTED_TAINT, NODEPOOL_LABEL, NodePool};

use super::cause::{Cause, Kind};
use super::seen::Seen;
use crate::status::facts::{ClaimObject, NodeObject};
use crate::status::pools::PoolFacts;

/// The label by which Karpenter shows that pods may be scheduled to a node.
const INITIALIZED: &str = "karpenter.sh/initialized";

/// Why no more nodes of the pool may be disrupted for these reasons, if that is so.
pub fn causes(seen: &Seen<'_>, reasons: &[Reason]) -> Vec<Cause> {
    let Some(pool) = seen.pool.filter(|_| is_supported(seen.now)) else {
        return Vec::new();
    };
    let object = pool.object.kept();
    let object = Json::from(&object);
    let budgets = match Budgets::parse(&NodePool::view(ApiVersion::V1, &object)) {
        Ok(budgets) => budgets,
        Err(unreadable) => {
            let text = format!("Karpenter cannot read {}: {}", unreadable.path, unreadable.why);
            return vec![Cause::new(Kind::BudgetUnreadable, text)];
        }
    };
    let Some(in_use) = InUse::of(pool) else {
        return Vec::new();
    };
    let mut causes: Vec<Cause> = Vec::new();
    for &reason in reasons {
        let cause = cause(seen, &budgets, reason, in_use);
        causes.extend(cause.filter(|cause| causes.iter().all(|other| other.text != cause.text)));
    }
    causes
}

fn cause(seen: &Seen<'_>, budgets: &Budgets, reason: Reason, in_use: InUse) -> Option<Cause> {
    let pool = &seen.pool?.object.metadata.name;
    let name = |index: usize| {
        let budget = if budgets.are_written() {
            format!("spec.disruption.budgets[{index}]")
        } else {
            "the default budget of 10%".to_owned()
        };
        format!("{budget} of NodePool {pool}")
    };
    let consumed = in_use.consumed(reason);
    let word = reason.as_str();
    match budgets.allowance(reason, in_use.nodes, seen.now) {
        Allowance::Blocked { budget } => Some(
            Cause::new(
                Kind::BudgetUnreadable,
                format!(
                    "Karpenter cannot read the schedule of {}, and then allows no disruption at all",
                    name(budget)
                ),
            )
            .change("poolgate lint --cluster says what is wrong with it"),
        ),
        Allowance::Limited { nodes: 0, budget } => {
            let (when, until) = match budgets.next_change(reason, in_use.nodes, seen.now) {
                Change::At { at, .. } => ("now", Some(at)),
                Change::NotBefore(_) => ("now", None),
                Change::Never => ("at any time", None),
            };
            let text = format!(
                "{} allows no node to be disrupted for {word} {when}",
                name(budget)
            );
            Some(Cause::new(Kind::BudgetClosed, text).until(until).change(
                "Change its nodes, reasons or schedule to let nodes go; poolgate budgets --cluster shows the effect",
            ))
        }
        Allowance::Limited { nodes, budget } if consumed >= nodes => {
            let text = format!(
                "{} allows {nodes} of {} nodes at once for {word}, and {consumed} are on their way out or not ready",
                name(budget),
                in_use.nodes
            );
            Some(Cause::new(Kind::BudgetUsedUp, text))
        }
        Allowance::Unlimited | Allowance::Limited { .. } => None,
    }
}

/// The nodes of a pool, as Karpenter counts them for budgets.
#[derive(Debug, Clone, Copy, Default)]
struct InUse {
    /// Those to which pods may be scheduled.
    nodes: u32,
    /// Of these, those on their way out.
    leaving: u32,
    /// Of the others, those that are not ready.
    not_ready: u32,
}

impl InUse {
    /// `None` if NodeClaims or nodes could not be read.
    fn of(pool: &PoolFacts<'_>) -> Option<Self> {
        let mut in_use = Self::default();
        for claim in pool.claims.as_ref()? {
            let node = claim.status.node_name.as_deref();
            if let Some(node) = pool.nodes?.get(node.unwrap_or_default()) {
                in_use.add(claim, node);
            }
        }
        Some(in_use)
    }

    fn add(&mut self, claim: &ClaimObject, node: &NodeObject) {
        let conditions = &claim.status.conditions;
        let is_rebooting = conditions.is_true("Rebooting");
        let is_initialized = node.metadata.label(INITIALIZED) == Some("true");
        let is_its = node.metadata.label(NODEPOOL_LABEL).is_some();
        if conditions.is_true("InstanceTerminating") || !is_its || !(is_initialized || is_rebooting) {
            return;
        }
        self.nodes += 1;
        let mut taints = node.spec.taints.iter().flatten();
        let is_disrupted = taints.any(|taint| taint.key == DISRUPTED_TAINT);
        if claim.metadata.deletion_timestamp.is_some() || is_rebooting || is_disrupted {
            self.leaving += 1;
        } else if !node.status.conditions.is_true("Ready") {
            self.not_ready += 1;
        }
    }

    /// How many count against budgets for a reason.
    const fn consumed(self, reason: Reason) -> u32 {
        match reason {
            Reason::Unhealthy => self.leaving,
            _ => self.leaving + self.not_ready,
        }
    }
}
