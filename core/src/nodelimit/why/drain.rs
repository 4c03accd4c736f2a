//! The causes that keep a deleted node.

use super::{Cause, CauseKind, Seen, pods};
use crate::nodelimit::plan::{Condition, PodOnNode};

/// The causes that hold up its drain.
pub fn causes(seen: &Seen<'_>) -> Vec<Cause> {
    if seen.state.conditions.instance_terminating {
        return vec![Cause::new(
            CauseKind::InstanceTerminating,
            "the node is drained, and the provider is terminating its machine",
        )];
    }
    let waited_for = seen.pods.unwrap_or_default().iter();
    let waited_for: Vec<&PodOnNode> = waited_for.filter(|pod| pod.is_drained()).collect();
    // After the deadline Karpenter deletes all pods.
    let deadline = seen.details.deadline;
    let kept = pods::causes(&waited_for, seen.budgets, seen.now).into_iter();
    let mut causes: Vec<Cause> = kept
        .map(|cause| {
            let until = [cause.until, deadline].into_iter().flatten().min();
            cause.until(until)
        })
        .collect();
    if !causes.is_empty() && deadline.is_none() && !seen.state.has_grace_period {
        causes.push(pods::unbounded(
            "so nothing ends its drain before these pods are gone",
        ));
    }
    let ends: Vec<_> = waited_for
        .iter()
        .filter_map(|pod| pod.pod.ends(seen.now))
        .collect();
    if let Some(last) = ends.iter().max() {
        let cause = Cause::new(
            CauseKind::PodsEnding,
            format!("terminating pods on the node ({}) have time to end", ends.len()),
        );
        causes.push(cause.until(Some(*last)));
    }
    let (drained, detached) = (&seen.details.drained, &seen.details.volumes_detached);
    let is_drained = drained.as_ref().is_some_and(Condition::is_true);
    let has_volumes = detached.as_ref().is_some_and(|detached| !detached.is_true());
    if causes.is_empty() && is_drained && has_volumes {
        causes.push(
            Cause::new(
                CauseKind::VolumesAttached,
                "the node is drained, but volumes are still attached to it",
            )
            .until(deadline)
            .change("kubectl get volumeattachments shows them"),
        );
    }
    causes
}
