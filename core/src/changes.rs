//! What a release of Karpenter does differently to NodePools that stay valid.
//!
//! A fact is data: in which releases it is so, which pools it touches, and a sentence. Its source is cited in the release that
//! began with it; a test compares that with the release before ([how to add one](../../CONTRIBUTING.md#add-what-a-release-changes)).

use std::time::Duration;

use crate::budget::{Budgets, Reason};
use crate::facts::{ApiVersion, BALANCED, CAPACITY_TYPE_LABEL, KarpenterVersion, WHEN_EMPTY};
use crate::json::Json;
use crate::policy::{FeatureGate, GateState, Policy};
use crate::pool::{NodePool, Requirement};
use crate::value::duration::NillableDuration;

/// What kind of fact it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Karpenter treats the same NodePool differently.
    Different,
    /// A field that is in use can do more.
    New,
}

impl ChangeKind {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::New => "new",
        }
    }
}

/// A fact about releases.
#[derive(Debug)]
pub struct Change {
    /// Its name, and its anchor on the page.
    pub id: &'static str,
    /// Its kind.
    pub kind: ChangeKind,
    /// The first release in which it is so.
    pub since: KarpenterVersion,
    /// The first release in which it is no longer so.
    pub until: Option<KarpenterVersion>,
    /// Which NodePools it touches: what follows "NodePools".
    pub pools: &'static str,
    /// What is so, for an author of a NodePool: sentences without the last full stop.
    pub text: &'static str,
    /// The field of a NodePool that it touches; `None` if it does not touch the pool.
    touches: fn(&Seen<'_>) -> Option<&'static str>,
}

/// What conditions look at.
struct Seen<'a> {
    pool: &'a NodePool<'a>,
    policy: &'a Policy,
}

const fn release(major: u16, minor: u16, patch: u16) -> KarpenterVersion {
    KarpenterVersion::new(major, minor, patch)
}

const EXPIRE_AFTER: &str = "expireAfter";
const CONSOLIDATE_AFTER: &str = "spec.disruption.consolidateAfter";
const POLICY: &str = "spec.disruption.consolidationPolicy";
const BUDGETS: &str = "spec.disruption.budgets";
const REQUIREMENTS: &str = "spec.template.spec.requirements";
const LIMIT: &str = "spec.limits.nodes";
const REPLICAS: &str = "spec.replicas";

/// All facts, the oldest first.
pub static CHANGES: [Change; 16] = [
    Change {
        id: "expiration-ignores-budgets",
        kind: ChangeKind::Different,
        // karpenter 1.0.0: pkg/controllers/nodeclaim/expiration/controller.go Controller.Reconcile
        since: release(1, 0, 0),
        until: None,
        pools: "with an `expireAfter` other than `Never`",
        text: "A node is deleted as soon as expireAfter is over, before it has a replacement, and whatever budgets say. Before, \
               expiration was a disruption that budgets limit",
        touches: |seen| {
            let text = seen.pool.expire_after.present()?;
            is_after(text, |_| true).then_some(EXPIRE_AFTER)
        },
    },
    Change {
        id: "empty-before-drifted",
        kind: ChangeKind::Different,
        // karpenter 1.5.0: pkg/controllers/disruption/drift.go Drift.ComputeCommand
        since: release(1, 5, 0),
        until: None,
        pools: "whose budgets tell `Empty` and `Drifted` apart, if they consolidate",
        text: "Nodes without pods go before drifted ones. A node that has drifted and has no pods counts against the budgets of \
               the reason Empty first, no longer against those of Drifted",
        touches: |seen| {
            (seen.consolidates() && seen.tell_apart(Reason::Empty, Reason::Drifted)).then_some(BUDGETS)
        },
    },
    Change {
        id: "drifted-empty-nodes-stay",
        kind: ChangeKind::Different,
        // karpenter 1.5.0: pkg/controllers/disruption/drift.go Drift.ComputeCommand
        since: release(1, 5, 0),
        // karpenter 1.7.0: pkg/controllers/disruption/drift.go Drift.ComputeCommand
        until: Some(release(1, 7, 0)),
        pools: "with `consolidateAfter: Never`",
        text: "Drift passes over nodes without pods, so a drifted node that is empty stays, because consolidateAfter is Never",
        touches: |seen| {
            let after = seen.consolidate_after()?;
            let is_never = NillableDuration::decode(after).ok()? == NillableDuration::Never;
            (is_never && !seen.is_static()).then_some(CONSOLIDATE_AFTER)
        },
    },
    Change {
        id: "reserved-capacity-on",
        kind: ChangeKind::Different,
        // karpenter 1.6.0: pkg/operator/options/options.go Options.AddFlags
        since: release(1, 6, 0),
        until: None,
        pools: "whose requirement of `karpenter.sh/capacity-type` names `reserved`",
        text: "The feature gate ReservedCapacity is on by default, so the capacity type reserved of this requirement is in use: \
               Karpenter launches nodes into the reservations of the node class first",
        touches: |seen| seen.requires_reserved().then_some(REQUIREMENTS),
    },
    Change {
        id: "min-values-policy",
        kind: ChangeKind::New,
        // karpenter 1.6.0: pkg/operator/options/options.go MinValuesPolicy
        since: release(1, 6, 0),
        until: None,
        pools: "with `minValues`",
        text: "With Karpenter's setting MIN_VALUES_POLICY=BestEffort, minValues no longer keeps nodes from being launched when too \
               few values are left",
        touches: |seen| seen.has_min_values().then_some(REQUIREMENTS),
    },
    Change {
        id: "both-bounds",
        kind: ChangeKind::Different,
        // karpenter 1.9.0: pkg/scheduling/requirement.go Requirement.BoundedNodeSelectorRequirements
        since: release(1, 9, 0),
        until: None,
        pools: "that require a lower and an upper bound of one label",
        text: "A NodeClaim keeps both bounds of a label. Before, Karpenter kept one of Gt and Lt, so nodes could be larger or smaller \
               than the NodePool allows",
        touches: |seen| seen.has_both_bounds().then_some(REQUIREMENTS),
    },
    Change {
        id: "bounds-with-equal",
        kind: ChangeKind::New,
        since: KarpenterVersion::GTE_LTE,
        until: None,
        pools: "that require `Gt` or `Lt`",
        text: "The operators Gte and Lte say the bound itself: Gte 8 in place of Gt 7",
        touches: |seen| {
            let is_bound = |one: &Requirement<'_>| matches!(one.operator.present(), Some("Gt" | "Lt"));
            seen.requirements().iter().any(is_bound).then_some(REQUIREMENTS)
        },
    },
    Change {
        id: "node-limit-early",
        kind: ChangeKind::Different,
        // karpenter 1.11.0: pkg/controllers/provisioning/scheduling/scheduler.go Scheduler.addToNewNodeClaim
        since: KarpenterVersion::NODE_LIMIT,
        until: None,
        pools: "with `limits.nodes`, static ones aside",
        text: "A NodePool at its limit of nodes is passed over before a node is planned: its pods get nodes of other NodePools, or \
               an event. In one pass it may still exceed the limit",
        touches: |seen| {
            let limits = seen.pool.limits.present()?;
            (limits.get("nodes").is_some() && !seen.is_static()).then_some(LIMIT)
        },
    },
    Change {
        id: "receiving-nodes-protected",
        kind: ChangeKind::Different,
        // karpenter 1.14.0: pkg/utils/disruption/disruption.go IsUnderConsolidateAfter
        since: release(1, 14, 0),
        until: None,
        pools: "with a `consolidateAfter` above 0",
        text: "A node whose pods changed within consolidateAfter takes no pods of other nodes that Karpenter wants to disrupt. So it \
               consolidates fewer nodes, and replaces more of the drifted ones with new ones",
        touches: |seen| {
            let after = seen.consolidate_after()?;
            is_after(after, |length| !length.is_zero()).then_some(CONSOLIDATE_AFTER)
        },
    },
    Change {
        id: "empty-is-not-underutilized",
        kind: ChangeKind::Different,
        // karpenter 1.14.0: pkg/controllers/disruption/consolidation.go consolidation.ShouldDisrupt
        since: release(1, 14, 0),
        until: None,
        pools: "whose budgets tell `Empty` and `Underutilized` apart, if they consolidate nodes with pods",
        text: "A node without pods goes for the reason Empty only. Before, consolidation also removed it as Underutilized, against \
               other budgets",
        touches: |seen| {
            let is_touched =
                seen.consolidates_underutilized() && seen.tell_apart(Reason::Empty, Reason::Underutilized);
            is_touched.then_some(BUDGETS)
        },
    },
    Change {
        id: "balanced",
        kind: ChangeKind::New,
        since: KarpenterVersion::BALANCED,
        until: None,
        pools: "with `WhenEmptyOrUnderutilized`",
        text: "consolidationPolicy: Balanced weighs what a consolidation saves against what it disrupts, where \
               WhenEmptyOrUnderutilized takes every saving",
        touches: |seen| seen.consolidates_underutilized().then_some(POLICY),
    },
    Change {
        id: "min-values-of-pods",
        kind: ChangeKind::Different,
        // karpenter 1.14.3: pkg/cloudprovider/types.go InstanceTypes.SatisfiesMinValues
        since: KarpenterVersion::MIN_VALUES_OF_PODS,
        until: None,
        pools: "with `minValues`",
        text: "minValues counts only the values that pods still allow, such as the zone of a volume. A pod that leaves fewer gets no \
               node of this NodePool, unless MIN_VALUES_POLICY is BestEffort",
        touches: |seen| seen.has_min_values().then_some(REQUIREMENTS),
    },
    Change {
        id: "repair-within-budgets",
        kind: ChangeKind::Different,
        // karpenter 1.15.0: pkg/controllers/disruption/repair.go Repair.Reason
        since: KarpenterVersion::UNHEALTHY,
        until: None,
        pools: "with a budget for all reasons, if the gate `NodeRepair` is known to be on",
        text: "Broken nodes are replaced within the budgets: a budget without reasons limits repair, too. Before, repair ignored \
               budgets. The setting LEGACY_NODE_REPAIR brings that back",
        touches: |seen| (seen.repairs() && seen.limits_all_reasons()).then_some(BUDGETS),
    },
    Change {
        id: "reason-unhealthy",
        kind: ChangeKind::New,
        since: KarpenterVersion::UNHEALTHY,
        until: None,
        pools: "whose budgets all name their reasons, if the gate `NodeRepair` is known to be on",
        text: "The reason Unhealthy gives repair a budget of its own. Without one that names it, and without one for all reasons, \
               nothing limits repair",
        touches: |seen| {
            (seen.repairs() && !seen.limits_all_reasons() && seen.names_reasons()).then_some(BUDGETS)
        },
    },
    Change {
        id: "uninitialized-nodes-repaired",
        kind: ChangeKind::Different,
        // karpenter 1.15.0: pkg/controllers/state/statenode.go IgnoreNodeUninitializedError
        since: release(1, 15, 0),
        until: None,
        pools: "with `startupTaints`, if the gate `NodeRepair` is known to be on",
        text: "Nodes that never become initialized, such as those whose startup taint stays, are replaced by repair. Before, nothing \
               replaced them",
        touches: |seen| {
            let taints = seen.pool.template.startup_taints.as_ref().present()?;
            (seen.repairs() && !taints.is_empty()).then_some("spec.template.spec.startupTaints")
        },
    },
    Change {
        id: "terminate-first-drift",
        kind: ChangeKind::New,
        // karpenter 1.15.0: pkg/operator/options/options.go FeatureGates.TerminateFirstDrift
        since: KarpenterVersion::TERMINATE_FIRST_DRIFT,
        until: None,
        pools: "with `replicas`",
        text: "With the feature gate TerminateFirstDrift, drifted nodes of a static NodePool at its limit are terminated first, \
               instead of waiting for a place",
        touches: |seen| seen.is_static().then_some(REPLICAS),
    },
];

impl Change {
    /// Whether it is so in a release.
    pub fn holds_in(&self, release: KarpenterVersion) -> bool {
        release >= self.since && self.until.is_none_or(|until| release < until)
    }
}

/// What is so for a NodePool in one release, and was not so in another, with the field that each fact touches.
pub fn between<'a>(
    pool: &'a NodePool<'a>,
    policy: &'a Policy,
    (from, to): (KarpenterVersion, KarpenterVersion),
) -> impl Iterator<Item = (&'static Change, &'static str)> {
    let begins = move |change: &&Change| !change.holds_in(from) && change.holds_in(to);
    let seen = Seen { pool, policy };
    let touched = CHANGES.iter().filter(begins);
    touched.filter_map(move |change| Some((change, (change.touches)(&seen)?)))
}

/// Whether a text is a duration, not `Never`, and `holds` is true for it.
fn is_after(text: &str, holds: impl Fn(Duration) -> bool) -> bool {
    matches!(NillableDuration::decode(text), Ok(NillableDuration::After(length)) if holds(length))
}

impl Seen<'_> {
    fn consolidate_after(&self) -> Option<&str> {
        let disruption = self.pool.disruption.as_ref().present()?;
        disruption.consolidate_after.present()
    }

    fn is_static(&self) -> bool {
        !self.pool.replicas.is_absent()
    }

    /// Whether Karpenter removes its empty nodes.
    fn consolidates(&self) -> bool {
        let after = self.consolidate_after().unwrap_or("0s");
        !self.is_static() && is_after(after, |_| true)
    }

    /// Whether it also removes nodes with pods, by the policy of all savings.
    fn consolidates_underutilized(&self) -> bool {
        let disruption = self.pool.disruption.as_ref().present();
        let policy = disruption.and_then(|disruption| disruption.consolidation_policy.present());
        self.consolidates() && policy != Some(WHEN_EMPTY) && policy != Some(BALANCED)
    }

    fn budgets(&self) -> Option<Budgets> {
        Budgets::parse(self.pool).ok()
    }

    /// Whether a budget is for one of these reasons and not for the other.
    fn tell_apart(&self, one: Reason, other: Reason) -> bool {
        let budgets = self.budgets();
        let mut budgets = budgets.iter().flat_map(Budgets::iter);
        budgets.any(|budget| budget.reasons().has(one) != budget.reasons().has(other))
    }

    /// Whether a budget is for all reasons.
    fn limits_all_reasons(&self) -> bool {
        let budgets = self.budgets();
        let mut budgets = budgets.iter().flat_map(Budgets::iter);
        budgets.any(|budget| budget.reasons().has(Reason::Unhealthy) && budget.reasons().has(Reason::Drifted))
    }

    /// Whether a budget names its reasons.
    fn names_reasons(&self) -> bool {
        let budgets = self.budgets();
        let mut budgets = budgets.iter().flat_map(Budgets::iter);
        budgets.any(|budget| !budget.reasons().has(Reason::Unhealthy))
    }

    /// Whether Karpenter is known to repair its broken nodes.
    fn repairs(&self) -> bool {
        let settings = self.pool.template.settings();
        self.policy.cluster.gate(FeatureGate::NodeRepair, settings) == GateState::On
    }

    fn requirements(&self) -> &[Requirement<'_>] {
        self.pool.template.requirements()
    }

    fn has_min_values(&self) -> bool {
        self.requirements().iter().any(|one| !one.min_values.is_absent())
    }

    fn has_both_bounds(&self) -> bool {
        let bounded = |operators: [&str; 2]| -> Vec<&str> {
            let requirements = self.requirements().iter();
            let bounds = requirements.filter(|one| {
                let operator = one.operator.present();
                operator.is_some_and(|operator| operators.contains(&operator))
            });
            bounds.filter_map(|one| one.key.present()).collect()
        };
        let upper = bounded(["Lt", "Lte"]);
        bounded(["Gt", "Gte"]).iter().any(|key| upper.contains(key))
    }

    /// Whether a requirement names the capacity type `reserved`.
    fn requires_reserved(&self) -> bool {
        let is_it = |one: &&Requirement<'_>| {
            one.key.present() == Some(CAPACITY_TYPE_LABEL) && one.operator.present() == Some("In")
        };
        let named = self
            .requirements()
            .iter()
            .filter(is_it)
            .filter_map(|one| one.values.present());
        named
            .flatten()
            .filter_map(Json::as_str)
            .any(|value| value == "reserved")
    }
}

/// The name of the field in a NodePool of this version.
pub fn field(field: &'static str, version: ApiVersion) -> String {
    if field == EXPIRE_AFTER {
        NodePool::expire_after_path(version).to_string()
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests;
