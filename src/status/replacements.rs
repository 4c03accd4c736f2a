//! Which nodes of a pool at or above its limit wait for what, and what to type.

use jiff::Timestamp;
use poolgate_core::api::{
    AT_LIMIT_ANNOTATION, AtLimit, HELD_ANNOTATION, NODE_LIMIT_ANNOTATION, NodeLimitMode,
    OVER_LIMIT_ANNOTATION, OverLimit,
};
use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::ledger::{Replacement, Stopped};
use poolgate_core::nodelimit::plan::{DEADLINE_ANNOTATION, HeldFor, above_limit};
use poolgate_core::policy::GateState;

use super::facts::ClaimObject;
use super::pools::{KnownLimit, PoolFacts};

/// How many nodes are named.
const MOST_NAMES: usize = 5;

impl PoolFacts<'_> {
    /// What is under way, and what waits: a sentence or two each.
    pub fn replacements(&self) -> Vec<String> {
        let ledger = self.ledger().ok().flatten().map(|stored| &stored.ledger);
        let replaced = ledger.and_then(|ledger| Some(self.step_of(ledger.replacement()?)));
        let surged = ledger.map_or(0, |ledger| ledger.surged().len());
        let surge = (surged > 0).then(|| {
            format!(
                "{surged} admitted above the limit, as the surge allows: each takes the place of a node that Karpenter \
                 replaces when that one is gone"
            )
        });
        [replaced, surge, self.barred(), self.broken()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// That there are more nodes than the limit allows, and what to type.
    pub fn above(&self) -> Option<String> {
        let limit = self.limit?;
        let excess = self.limit_report(limit).excess.filter(|&excess| excess > 0)?;
        let then = match limit.over_limit {
            Some(OverLimit::Report) => ", and they stay (over-limit is report)",
            Some(OverLimit::Terminate) => ", and are to be terminated (over-limit is terminate)",
            None => "",
        };
        let keep = self.with_limit(limit, (limit.nodes as usize).saturating_add(excess));
        let delete = if limit.over_limit == Some(OverLimit::Terminate) {
            String::new()
        } else {
            format!(
                ". To have them terminated, which also needs the right (Helm: reconciler.terminate=true): kubectl annotate \
                 nodepool {} --overwrite {OVER_LIMIT_ANNOTATION}=Terminate",
                self.object.metadata.name
            )
        };
        let above = above_limit(excess, limit.nodes);
        Some(format!("{above}{then}. To raise the limit: {keep}{delete}"))
    }

    /// That nothing more is replaced, and what ends that.
    pub fn stop(&self) -> Option<String> {
        let stored = self.ledger().ok().flatten()?;
        let Stopped { at, .. } = stored.ledger.stopped()?;
        let since = Timestamp::from_second(at).ok();
        let since = since.map(|at| format!(" since {at:.0}")).unwrap_or_default();
        Some(format!(
            "no node is terminated to be replaced{since}, because no new node came for the last one. Karpenter's log and \
             the NodePool's conditions say why. Replacing resumes when spec.template changes, or NodeClassReady becomes true again"
        ))
    }

    /// The step of the replacement that is under way.
    fn step_of(&self, replacement: &Replacement) -> String {
        let Replacement {
            claim, node, reason, ..
        } = replacement;
        let subject = format!(
            "{node} (NodeClaim {claim}) is being replaced, because it is {}",
            reason.as_str()
        );
        let Some(claims) = &self.claims else {
            return subject;
        };
        let its = claims
            .iter()
            .find(|claim| *claim.metadata.uid == *replacement.uid.as_str());
        match its.map(|claim| (claim, claim.metadata.deleted())) {
            None => format!("{subject}: it is gone, {}", self.awaited(replacement)),
            Some((_, None)) => format!("{subject}: it is listed, and will be terminated first"),
            Some((claim, Some(since))) => {
                let bound = claim.metadata.annotation(DEADLINE_ANNOTATION).map_or_else(
                    || "nothing bounds its drain yet".to_owned(),
                    |end| format!("its machine goes at {end} at the latest"),
                );
                format!("{subject}: it has been on the way out since {since:.0}, and {bound}")
            }
        }
    }

    /// What comes after the replaced node.
    fn awaited(&self, replacement: &Replacement) -> String {
        let created = |claim: &ClaimObject| claim.metadata.created().map(Timestamp::as_second);
        let claims = self.claims.iter().flatten();
        let newer = claims.filter(|claim| created(claim) > Some(replacement.newest));
        match newer.min_by_key(|claim| created(claim)) {
            Some(newer) => format!("and NodeClaim {} must be initialized", newer.metadata.name),
            None => "and Karpenter must create a new NodeClaim".into(),
        }
    }

    /// The nodes that poolgate keeps Karpenter from repairing for now.
    fn barred(&self) -> Option<String> {
        let nodes = self.nodes?.values().filter(|node| {
            let held_for = node.metadata.annotation(HELD_ANNOTATION).map(HeldFor::parse);
            held_for.is_some_and(|held_for| held_for.repair)
                && node.metadata.label(NODEPOOL_LABEL) == Some(&*self.object.metadata.name)
        });
        let names: Vec<&str> = nodes.map(|node| &*node.metadata.name).collect();
        let (count, ways_on) = (names.len(), self.ways_on());
        (count > 0).then(|| {
            format!(
                "to be repaired, and kept from it while there is no place for a replacement: {}. {ways_on}",
                listed_names(names)
            )
        })
    }

    /// Nodes of a full pool that are not ready, which Karpenter may never replace.
    fn broken(&self) -> Option<String> {
        let limit = self.limit?;
        let nodes = self.nodes?;
        if self.limit_report(limit).free != Some(0) {
            return None;
        }
        let listed = self.ledger().ok().flatten();
        let replaced = listed.and_then(|stored| Some(&stored.ledger.replacement()?.uid));
        let mut broken: Vec<(&str, &ClaimObject)> = Vec::new();
        for &claim in self.claims.iter().flatten() {
            let node = claim.status.node_name.as_deref().and_then(|name| nodes.get(name));
            let Some(node) = node.filter(|node| !node.status.conditions.is_true("Ready")) else {
                continue;
            };
            let held_for = node.metadata.annotation(HELD_ANNOTATION).map(HeldFor::parse);
            let is_told = held_for.is_some_and(|held_for| held_for.repair)
                || replaced.is_some_and(|uid| uid.as_str() == &*claim.metadata.uid);
            let stays = claim.metadata.deletion_timestamp.is_none();
            if stays && !is_told && claim.status.conditions.is_true("Initialized") {
                broken.push((&node.metadata.name, claim));
            }
        }
        broken.sort_by_key(|(name, _)| *name);
        let (_, first) = broken.first()?;
        let (delete, repair) = (to_replace_now(first), repaired_if(self.repair));
        let names = listed_names(broken.iter().map(|(name, _)| *name).collect());
        Some(format!(
            "not ready, and the pool is full, so nothing takes the place of: {names}. {repair}. {delete}"
        ))
    }

    /// What becomes of nodes that wait for repair, and what to type.
    fn ways_on(&self) -> String {
        let hard = self.limit.filter(|limit| limit.mode == NodeLimitMode::Hard);
        let Some(limit) = hard else {
            return "The pool that denied the replacement is another one, which is full: give that one room"
                .into();
        };
        if self.limit_report(limit).free > Some(0) {
            return "There is room now: each has its turn within minutes".into();
        }
        let name = &*self.object.metadata.name;
        let room = format!("To give the pool room: {}", self.with_room(limit));
        if limit.at_limit == Some(AtLimit::Block) {
            return format!(
                "at-limit is Block, so they wait for room. {room}. To have them terminated first: kubectl annotate \
                 nodepool {name} --overwrite {AT_LIMIT_ANNOTATION}=Repair"
            );
        }
        format!(
            "In its turn, each is terminated first; if not, the event ReplacementBlocked says why. {room}"
        )
    }

    /// The command that gives the pool room for one node more.
    pub fn with_room(&self, limit: KnownLimit) -> String {
        let nodes = self.claims.as_ref().map_or(0, Vec::len);
        let enough = nodes.max(limit.nodes as usize).saturating_add(1);
        self.with_limit(limit, enough)
    }

    /// The command that sets the limit.
    fn with_limit(&self, limit: KnownLimit, nodes: usize) -> String {
        let name = &self.object.metadata.name;
        if limit.is_annotated {
            format!("kubectl annotate nodepool {name} --overwrite {NODE_LIMIT_ANNOTATION}={nodes}")
        } else {
            format!(
                r#"kubectl patch nodepool {name} --type=merge --patch='{{"spec":{{"limits":{{"nodes":"{nodes}"}}}}}}'"#
            )
        }
    }
}

/// What replaces a node whatever Karpenter wants.
pub fn to_replace_now(claim: &ClaimObject) -> String {
    format!(
        "To replace it now: kubectl delete nodeclaim {} --wait=false",
        claim.metadata.name
    )
}

/// Whether Karpenter repairs nodes that are not ready.
pub const fn repaired_if(gate: GateState) -> &'static str {
    match gate {
        GateState::On => {
            "Karpenter repairs such a node only when the toleration of its provider for the condition is over"
        }
        GateState::Off => "Karpenter repairs no nodes here: the policy says that its gate NodeRepair is off",
        GateState::Unknown => {
            "Karpenter repairs nodes only with its gate NodeRepair, which is off by default"
        }
        GateState::Fixed => "It is not known whether this provider repairs nodes",
    }
}

/// The first of these names, and how many there are besides.
pub fn listed_names(mut names: Vec<&str>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let listed = names.join(", ");
    match more {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}
