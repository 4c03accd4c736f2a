//! What is reported of nodes that must be replaced although the pool is full.

use super::{News, listed};
use crate::nodelimit::ledger::{ReplacedFor, Replacement, Uid};
use crate::nodelimit::plan::memory::Topic;
use crate::nodelimit::plan::outcome::EventReason;
use crate::nodelimit::plan::replacement::{Obstacle, Replacements};
use crate::nodelimit::plan::replacement_outcome::{Ended, ReplacementOutcome};
use crate::nodelimit::plan::situation::Situation;

/// What to report on each topic.
pub fn topics(situation: &Situation<'_>, decided: &Replacements<'_>) -> [(Topic, Option<News>); 5] {
    let ended = |outcome: ReplacementOutcome| decided.ended.iter().find(|ended| ended.outcome == outcome);
    let begun = decided.ledger.as_ref();
    let begun = begun.and_then(|ledger| ledger.replacement.as_ref());
    [
        (
            Topic::ReplacementStarted,
            begun.map(|replacement| started(situation, replacement)),
        ),
        (Topic::ReplacementBlocked, blocked(decided)),
        (Topic::ReplacementRefused, decided.refused.as_deref().map(refused)),
        (
            Topic::ReplacementDropped,
            ended(ReplacementOutcome::Dropped).map(dropped),
        ),
        (
            Topic::ReplacementStopped,
            ended(ReplacementOutcome::Stopped).map(stopped),
        ),
    ]
}

fn started(situation: &Situation<'_>, replacement: &Replacement) -> News {
    let Replacement {
        uid,
        claim,
        node,
        reason,
        ..
    } = replacement;
    let then = "and the pool is full: it is terminated first and then replaced";
    let message = match reason {
        ReplacedFor::Unhealthy => {
            let bound = bound(situation, uid);
            // Karpenter does not count the node any more: see `spec_limit`.
            let denied = if situation.pool.leaves_limit_to_poolgate {
                ""
            } else {
                "; until it is gone, Karpenter asks for its place and is denied"
            };
            format!(
                "Karpenter wants to repair node {node} (NodeClaim {claim}), {then}; it is drained for at most \
                 {bound}{denied}"
            )
        }
        ReplacedFor::Drifted => format!("node {node} (NodeClaim {claim}) has drifted, {then}"),
    };
    News::new(EventReason::ReplacementStarted, message, uid.to_string())
}

/// How long the drain of a claim may take.
fn bound(situation: &Situation<'_>, uid: &Uid) -> String {
    let claim = situation
        .claims
        .iter()
        .find(|claim| *claim.claim.uid == *uid.as_str());
    if claim.is_some_and(|claim| claim.claim.has_grace_period) {
        return "its terminationGracePeriod".to_owned();
    }
    format!("{} s", situation.pool.repair_grace_period.as_secs())
}

fn blocked(decided: &Replacements<'_>) -> Option<News> {
    let is_told = |obstacle: &Obstacle| obstacle.stays() || *obstacle == Obstacle::NotHard;
    let obstacle = decided.obstacle.filter(is_told)?;
    let nodes = decided.waiting.iter().filter_map(|claim| claim.node);
    let nodes: Vec<&str> = nodes.map(|node| &*node.name).collect();
    let (count, nodes) = (nodes.len(), listed(nodes));
    let message =
        format!("Karpenter wants to repair node {nodes}, and no replacement may be created: {obstacle}");
    let what = format!("{obstacle} {count}");
    (count > 0).then(|| News::new(EventReason::ReplacementBlocked, message, what))
}

fn refused(why: &str) -> News {
    let message = format!("a drifted node is not replaced: {why}");
    News::new(EventReason::ReplacementBlocked, message, why.to_owned())
}

fn dropped(ended: &Ended) -> News {
    let node = &ended.node;
    let message = format!(
        "node {node} is not replaced: Karpenter has not asked to repair it for a minute. It has recovered, or too many \
         nodes of the pool are broken (event NodeRepairBlocked), or a budget is closed"
    );
    News::new(EventReason::ReplacementDropped, message, node.to_string())
}

fn stopped(ended: &Ended) -> News {
    let node = &ended.node;
    let message = format!(
        "no new node was initialized within 15 minutes after {node} was gone: no other node of this pool is terminated \
         to be replaced until spec.template changes or NodeClassReady becomes true again"
    );
    News::new(EventReason::ReplacementStopped, message, node.to_string())
}
