//! What is reported of nodes that must be replaced although the pool is full.

use super::{News, names};
use crate::nodelimit::ledger::{ReplacedFor, Replacement};
use crate::nodelimit::plan::memory::Topic;
use crate::nodelimit::plan::outcome::EventReason;
use crate::nodelimit::plan::replacement::{Ended, Obstacle, ReplacementOutcome, Replacements};
use crate::nodelimit::plan::situation::Situation;

/// What to report on each topic.
pub(super) fn topics(now: &Situation<'_>, decided: &Replacements<'_>) -> [(Topic, Option<News>); 4] {
    let ended = |outcome: ReplacementOutcome| decided.ended.iter().find(|ended| ended.outcome == outcome);
    let listed = decided
        .ledger
        .as_ref()
        .and_then(|ledger| ledger.replacement.as_ref());
    [
        (
            Topic::ReplacementStarted,
            listed.map(|listed| started(now, listed)),
        ),
        (Topic::ReplacementBlocked, blocked(decided)),
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

fn started(now: &Situation<'_>, listed: &Replacement) -> News {
    let Replacement {
        node, claim, reason, ..
    } = listed;
    let (why, bound) = match reason {
        ReplacedFor::Unhealthy => {
            let seconds = now.pool.repair_grace_period.as_secs();
            (
                "Karpenter wants to repair",
                format!("; it is drained for {seconds} s at most"),
            )
        }
        ReplacedFor::Drifted => ("drifted:", String::new()),
    };
    let message = format!(
        "{why} node {node} (NodeClaim {claim}), and the pool is full: it is terminated first and then replaced{bound}"
    );
    News::of(EventReason::ReplacementStarted, message, listed.uid.to_string())
}

fn blocked(decided: &Replacements<'_>) -> Option<News> {
    let obstacle = decided
        .obstacle
        .filter(|obstacle| obstacle.stays() || *obstacle == Obstacle::NotHard)?;
    let waiting = names(&decided.waiting);
    (!waiting.is_empty()).then_some(())?;
    let message =
        format!("Karpenter wants to repair {waiting}, and no replacement may be created: {obstacle}");
    let what = format!("{obstacle} {}", decided.waiting.len());
    Some(News::of(EventReason::ReplacementBlocked, message, what))
}

fn dropped(ended: &Ended) -> News {
    let node = &ended.node;
    let message = format!(
        "node {node} is not replaced: Karpenter has not asked to repair it for a minute. It has recovered, or too many \
         nodes of the pool are broken (event NodeRepairBlocked), or a budget is closed"
    );
    News::of(EventReason::ReplacementDropped, message, node.to_string())
}

fn stopped(ended: &Ended) -> News {
    let node = &ended.node;
    let message = format!(
        "no new node was initialized within 15 minutes after {node} was gone: no other node of this pool is terminated \
         to be replaced until spec.template changes or NodeClassReady turns true anew"
    );
    News::of(EventReason::ReplacementStopped, message, node.to_string())
}
