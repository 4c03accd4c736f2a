//! `kubectl scale` of a NodePool: a request that holds a number and the pool's name, and nothing else of it.

use poolgate_core::karpenter::GROUP;
use poolgate_core::review::Review;
use poolgate_core::scale::review_scale;
use serde::Deserialize;

use super::cluster_view::{ClusterView, StaticPool};
use super::envelope::{AdmissionRequest, Operation};

/// As much of an `autoscaling/v1` Scale as is judged.
#[derive(Deserialize)]
struct Scale {
    #[serde(default)]
    spec: ScaleSpec,
}

#[derive(Default, Deserialize)]
struct ScaleSpec {
    /// Left out it is 0: that is how the API server writes 0.
    #[serde(default)]
    replicas: i64,
}

/// Whether a NodePool is to be scaled.
pub(super) fn is_of_nodepool(request: &AdmissionRequest<'_>) -> bool {
    request.sub_resource == "scale"
        && request.resource.resource == "nodepools"
        && request.resource.group == GROUP
        && request.kind.kind == "Scale"
        && request.operation() == Operation::Update
}

/// Judges the new number. A pool that is not known passes, and so does a Scale that cannot be read: the API server
/// has made it itself.
pub(super) fn judge(request: &AdmissionRequest<'_>, view: &ClusterView) -> Review {
    let scale = request.object.map(|raw| serde_json::from_str::<Scale>(raw.get()));
    let (Some(Ok(scale)), StaticPool::Known(pool)) = (scale, view.static_pool(&request.name)) else {
        return Review::default();
    };
    Review {
        report: review_scale(scale.spec.replicas, Some(&pool)),
        ..Review::default()
    }
}
