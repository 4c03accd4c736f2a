//! Settings of the NodePool that keep a node from consolidation.

use super::{Cause, CauseKind, Seen};
use crate::budget::Reason;
use crate::value::duration::NillableDuration;

/// Why it is not consolidated, if these reasons are about that.
// karpenter: pkg/utils/disruption/disruption.go IsUnderConsolidateAfter
// karpenter: pkg/controllers/disruption/emptiness.go Emptiness.ShouldDisrupt
// karpenter: pkg/controllers/disruption/consolidation.go consolidation.ShouldDisrupt
pub fn cause(seen: &Seen<'_>, reasons: &[Reason]) -> Option<Cause> {
    let is_consolidation = |reason: &Reason| matches!(reason, Reason::Empty | Reason::Underutilized);
    let known = seen.pool.filter(|_| reasons.iter().all(is_consolidation))?;
    let name = &known.pool.name;
    if known.pool.is_static {
        let text = format!(
            "NodePool {name} is static, so Karpenter keeps its spec.replicas nodes and consolidates none"
        );
        return Some(Cause::new(CauseKind::ConsolidationDisabled, text));
    }
    let after = known.pool.details.consolidate_after.as_deref().unwrap_or("0s");
    let NillableDuration::After(length) = NillableDuration::decode(after).ok()? else {
        let text = format!("NodePool {name} has spec.disruption.consolidateAfter: Never");
        return Some(
            Cause::new(CauseKind::ConsolidationDisabled, text)
                .change("With a duration such as 5m, Karpenter removes empty and underused nodes"),
        );
    };
    let initialized = seen.details.initialized.as_ref().filter(|one| one.is_true());
    let unchanged_since = seen
        .details
        .last_pod_event
        .or_else(|| initialized.and_then(|initialized| initialized.since));
    let end = unchanged_since.and_then(|since| since.checked_add(length).ok());
    // Without these times, Karpenter's own condition says it, which needs an initialized node.
    let conditions = seen.state.conditions;
    let is_over = end.map_or(conditions.consolidatable || !conditions.initialized, |end| {
        seen.now >= end
    });
    if !is_over {
        let text = format!(
            "its pods changed less than {after} ago (spec.disruption.consolidateAfter of NodePool {name})"
        );
        return Some(Cause::new(CauseKind::ConsolidateAfter, text).until(end));
    }
    let is_for_empty = !known.pool.consolidates_underutilized;
    (is_for_empty && seen.is_empty() == Some(false)).then(|| {
        let text = format!(
            "NodePool {name} has spec.disruption.consolidationPolicy: WhenEmpty, and pods run on this node"
        );
        Cause::new(CauseKind::WhenEmpty, text)
            .change("With WhenEmptyOrUnderutilized Karpenter also removes nodes whose pods fit elsewhere")
    })
}
