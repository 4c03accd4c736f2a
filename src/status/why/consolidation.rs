//! Settings of the NodePool that keep a node from consolidation.

use jiff::Timestamp;
use poolgate_core::budget::Reason;
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, Field, NodePool, WHEN_EMPTY};
use poolgate_core::value::duration::NillableDuration;

use super::cause::{Cause, Kind};
use super::seen::Seen;
use crate::cluster::objects::instant;

/// Why it is not consolidated, if these reasons are about that.
pub fn causes(seen: &Seen<'_>, reasons: &[Reason]) -> Option<Cause> {
    let is_consolidation = |reason: &Reason| matches!(reason, Reason::Empty | Reason::Underutilized);
    let pool = seen.pool.filter(|_| reasons.iter().all(is_consolidation))?;
    let object = pool.object.kept();
    let object = Json::from(&object);
    let view = NodePool::view(ApiVersion::V1, &object);
    let name = &pool.object.metadata.name;
    if !view.replicas.is_absent() {
        let text = format!(
            "NodePool {name} is static: Karpenter keeps its spec.replicas nodes and consolidates none"
        );
        return Some(Cause::new(Kind::ConsolidationDisabled, text));
    }
    let disruption = view.disruption.present()?;
    let after = disruption.consolidate_after.present().unwrap_or("0s");
    let NillableDuration::After(length) = NillableDuration::decode(after).ok()? else {
        let text = format!("NodePool {name} has spec.disruption.consolidateAfter: Never");
        return Some(
            Cause::new(Kind::ConsolidationDisabled, text)
                .change("With a duration such as 5m, empty and underused nodes go"),
        );
    };
    let end = unchanged_since(seen)?.checked_add(length).ok();
    if let Some(end) = end.filter(|&end| seen.now < end) {
        let text = format!(
            "its pods changed less than {after} ago, which is spec.disruption.consolidateAfter of NodePool {name}"
        );
        return Some(Cause::new(Kind::ConsolidateAfter, text).until(Some(end)));
    }
    let is_for_empty = disruption.consolidation_policy == Field::Present(WHEN_EMPTY);
    (is_for_empty && seen.is_empty() == Some(false)).then(|| {
        let text = format!(
            "NodePool {name} has spec.disruption.consolidationPolicy: WhenEmpty, and pods run on this node"
        );
        Cause::new(Kind::WhenEmpty, text)
            .change("With WhenEmptyOrUnderutilized Karpenter also removes nodes whose pods fit elsewhere")
    })
}

/// When a pod came or went last.
fn unchanged_since(seen: &Seen<'_>) -> Option<Timestamp> {
    let status = &seen.claim.status;
    instant(status.last_pod_event_time.as_deref()).or_else(|| status.conditions.true_since("Initialized"))
}
