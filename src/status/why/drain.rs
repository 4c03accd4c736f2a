//! What keeps a node that was deleted.

use poolgate_core::nodelimit::plan::DEADLINE_ANNOTATION;

use super::cause::{Cause, Kind};
use super::pods;
use super::seen::Seen;

/// What its drain waits for.
pub fn causes(seen: &Seen<'_>) -> Vec<Cause> {
    let conditions = &seen.claim.status.conditions;
    if conditions.is_true("InstanceTerminating") {
        return vec![Cause::new(
            Kind::InstanceTerminating,
            "it is drained, and the provider is terminating its machine",
        )];
    }
    let on_it = seen.pods().unwrap_or_default().iter().copied();
    let on_it: Vec<_> = on_it.filter(|pod| pod.is_drained()).collect();
    let deadline = seen.claim.metadata.annotation(DEADLINE_ANNOTATION);
    let deadline = deadline.and_then(|deadline| deadline.parse().ok());
    // After the deadline Karpenter deletes pods whatever else is said.
    let mut causes: Vec<Cause> = pods::causes(&on_it, seen.budgets, seen.now)
        .into_iter()
        .map(|cause| {
            let until = [cause.until, deadline].into_iter().flatten().min();
            cause.until(until)
        })
        .collect();
    if !causes.is_empty() && deadline.is_none() && seen.claim.spec.termination_grace_period.is_none() {
        causes.push(pods::unbounded(
            seen,
            "so nothing ends its drain before these pods are gone",
        ));
    }
    let ends: Vec<_> = on_it.iter().filter_map(|pod| pod.ends(seen.now)).collect();
    if let Some(last) = ends.iter().max() {
        let cause = Cause::new(
            Kind::PodsEnding,
            format!("pods on it that were asked to end ({}) have time to", ends.len()),
        );
        causes.push(cause.until(Some(*last)));
    }
    let has_volumes = conditions.get("VolumesDetached").is_some() && !conditions.is_true("VolumesDetached");
    if causes.is_empty() && conditions.is_true("Drained") && has_volumes {
        causes.push(
            Cause::new(
                Kind::VolumesAttached,
                "it is drained, and volumes are still attached to it",
            )
            .until(deadline)
            .change("kubectl get volumeattachments shows them"),
        );
    }
    causes
}
