//! The nodes of a pool at or above its limit that wait, and the commands that help.

use jiff::Timestamp;
use poolgate_core::api::{AT_LIMIT_ANNOTATION, AtLimit, OVER_LIMIT_ANNOTATION, OverLimit};
use poolgate_core::diagnostic::first_few;
use poolgate_core::nodelimit::ledger::{Replacement, Stopped};
use poolgate_core::nodelimit::plan::{ClaimState, above_limit};
use poolgate_core::nodelimit::why::{repaired_if, to_replace_now};

use super::seen_pool::PoolFacts;

/// How many nodes are named.
pub const MOST_NAMES: usize = 5;

impl PoolFacts<'_> {
    /// Replacements in progress and waiting, a sentence or two each.
    pub fn replacements(&self) -> Vec<String> {
        let ledger = self.known.ledger.as_ref();
        let replaced = ledger.and_then(|ledger| Some(self.step_of(ledger.replacement.as_ref()?)));
        let surged = ledger.map_or(0, |ledger| ledger.surged.len());
        let surge = (surged > 0).then(|| {
            format!(
                "{surged} admitted above the limit by the surge. Each takes the place of a node that Karpenter \
                 replaces, when that node is gone"
            )
        });
        [replaced, surge, self.barred(), self.broken()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The excess over the limit, and the commands that help.
    pub fn above(&self) -> Option<String> {
        let limit = self.known.pool.limit?;
        let excess = self.known.excess().filter(|&excess| excess > 0)?;
        let then = match self.over_limit {
            Some(OverLimit::Report) => ", which stay (over-limit is report)",
            Some(OverLimit::Terminate) => ", to be terminated (over-limit is terminate)",
            None => "",
        };
        let keep = self
            .known
            .with_limit((limit.nodes as usize).saturating_add(excess));
        let delete = if self.over_limit == Some(OverLimit::Terminate) {
            String::new()
        } else {
            format!(
                ". To terminate them, which requires reconciler.terminate=true in Helm: kubectl annotate \
                 nodepool {} --overwrite {OVER_LIMIT_ANNOTATION}=Terminate",
                self.name()
            )
        };
        let above = above_limit(excess, limit.nodes);
        Some(format!("{above}{then}. To raise the limit: {keep}{delete}"))
    }

    /// The stop of replacements, and its end.
    pub fn stop(&self) -> Option<String> {
        let Stopped { at, .. } = self.known.ledger.as_ref()?.stopped?;
        let since = Timestamp::from_second(at).ok();
        let since = since.map(|at| format!(" since {at:.0}")).unwrap_or_default();
        Some(format!(
            "replacements have stopped{since}, because the last one got no new node. Karpenter's log and \
             the NodePool's conditions say why. Replacements resume when spec.template changes or NodeClassReady \
             becomes true again"
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
        if self.known.claims.is_none() {
            return subject;
        }
        let mut its = self.known_claims();
        let its = its.find(|known| *known.claim.uid == *replacement.uid.as_str());
        match its.map(|known| (&known.details, known.claim.deleted)) {
            None => format!("{subject}. It is gone, {}", self.awaited(replacement)),
            Some((_, None)) => format!("{subject}. It will be terminated first"),
            Some((details, Some(since))) => {
                let bound = details.deadline.map_or_else(
                    || "its drain has no deadline yet".to_owned(),
                    |end| format!("its machine is terminated no later than {end:.0}"),
                );
                format!("{subject}. It has been terminating since {since:.0}, and {bound}")
            }
        }
    }

    /// The next step after the replaced node.
    fn awaited(&self, replacement: &Replacement) -> String {
        let is_newer = |claim: &&ClaimState<'_>| claim.created.as_second() > replacement.newest;
        match self.claims().filter(is_newer).min_by_key(|claim| claim.created) {
            Some(newer) => format!("and NodeClaim {} must be initialized", newer.name),
            None => "and Karpenter must create a new NodeClaim".into(),
        }
    }

    /// The nodes that poolgate keeps Karpenter from repairing for now.
    fn barred(&self) -> Option<String> {
        let nodes = self.nodes()?.filter(|node| node.marks.held_for().repair);
        let names: Vec<&str> = nodes.map(|node| &*node.name).collect();
        let (count, ways_on) = (names.len(), self.ways_on());
        (count > 0).then(|| {
            format!(
                "repair is held until there is room for a replacement: {}. {ways_on}",
                first_few(names, MOST_NAMES)
            )
        })
    }

    /// Nodes of a full pool that are not ready, which Karpenter may never replace.
    fn broken(&self) -> Option<String> {
        if self.known.free() != Some(0) {
            return None;
        }
        let replaced = self
            .known
            .ledger
            .as_ref()
            .and_then(|ledger| ledger.replacement.as_ref());
        let is_told = |claim: &ClaimState<'_>, held_for_repair: bool| {
            held_for_repair || replaced.is_some_and(|replaced| replaced.uid.as_str() == &*claim.uid)
        };
        let broken = self.claims().filter_map(|claim| {
            let node = claim.node.filter(|node| !node.is_ready)?;
            let stays = claim.deleted.is_none() && claim.conditions.initialized;
            (stays && !is_told(claim, node.marks.held_for().repair)).then_some((&*node.name, &*claim.name))
        });
        let mut broken: Vec<(&str, &str)> = broken.collect();
        broken.sort_unstable();
        let (_, first) = broken.first()?;
        let (delete, repair) = (to_replace_now(first), repaired_if(self.known.pool.details.repair));
        let names = first_few(broken.iter().map(|(name, _)| *name), MOST_NAMES);
        Some(format!(
            "not ready, and not replaced because the pool is full: {names}. {repair}. {delete}"
        ))
    }

    /// The outlook of nodes that wait for repair, and the commands that help.
    fn ways_on(&self) -> String {
        let with_room = self.known.with_room().filter(|_| self.known.pool.is_hard());
        let Some(with_room) = with_room else {
            return "Another pool is full and denied the replacement. Give that pool room".into();
        };
        if self.known.free() > Some(0) {
            return "There is room now, so each gets its turn within minutes".into();
        }
        let name = self.name();
        let room = format!("To give the pool room: {with_room}");
        if self.at_limit == Some(AtLimit::Block) {
            return format!(
                "at-limit is Block, so they wait for room. {room}. To terminate them first: kubectl annotate \
                 nodepool {name} --overwrite {AT_LIMIT_ANNOTATION}=Repair"
            );
        }
        format!("Each is terminated first in its turn. If not, the event ReplacementBlocked says why. {room}")
    }
}
