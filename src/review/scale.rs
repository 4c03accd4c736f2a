//! `kubectl scale` of a NodePool: a request that contains a number and the pool's name, and nothing else of the pool.

use jiff::Timestamp;
use poolgate_core::facts::GROUP;
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::review::Review;
use poolgate_core::scale::review_scale;

use crate::cluster::view::{ClusterView, StaticPool};
use crate::serving::admission::envelope::{AdmissionRequest, Operation};

/// Whether a NodePool is to be scaled.
pub fn is_of_nodepool(request: &AdmissionRequest<'_>) -> bool {
    request.sub_resource == "scale"
        && request.resource.resource == "nodepools"
        && request.resource.group == GROUP
        && request.kind.kind == "Scale"
        && request.operation == Operation::Update
}

/// Reviews the new number of an `autoscaling/v1` Scale. A pool that is not known is admitted, and so is a number that cannot
/// be read: the API server itself wrote it.
pub fn review(pool: &str, scale: &Json<'_>, policy: &Policy, view: &ClusterView) -> Review {
    // Left out it is 0: that is how the API server writes 0.
    let replicas = match scale.get("spec").and_then(|spec| spec.get("replicas")) {
        None => Some(0),
        Some(replicas) => replicas.as_i64(),
    };
    let (Some(replicas), StaticPool::Known(pool)) = (replicas, view.static_pool(pool)) else {
        return Review::default();
    };
    Review {
        report: review_scale(replicas, &pool, Timestamp::now(), policy, &view.karpenter()),
        ..Review::default()
    }
}
