//! The verdict on `kubectl scale`: the new number of nodes of a static pool, compared with the limit of the pool
//! itself. The scale subresource contains only the number, so no other check compares the two.

use jiff::Timestamp;
use serde_json::Value;

use crate::diagnostic::{FieldPath, Report};
use crate::facts::shape::nodepool;
use crate::facts::{ApiVersion, TargetKarpenter};
use crate::json::Json;
use crate::policy::Policy;
use crate::pool::NodePool;
use crate::review::is_being_deleted;
use crate::rules::{self, Context};

/// Checks a new number of replicas for a stored pool, like an update of the pool that changes nothing else.
///
/// Reads the replicas, the node limit, the node class group and the status of the pool; the policy's exemptions read its name and
/// labels. Nothing is reported for a pool without `spec.replicas`: the API server itself rejects its scaling.
pub fn review_scale(
    replicas: i64,
    stored: &Value,
    at: Timestamp,
    policy: &Policy,
    karpenter: &TargetKarpenter,
) -> Report {
    let stored = Json::from(stored);
    let mut scaled = stored.clone();
    match FieldPath::of(&["spec", "replicas"]).find_mut(&mut scaled) {
        Some(field) if field.as_i64().is_some() => *field = replicas.into(),
        _ => return Report::default(),
    }
    if is_being_deleted(&stored) {
        return Report::default();
    }
    let [old, pool] = [&stored, &scaled].map(|object| NodePool::view(ApiVersion::V1, object));
    let context = Context::new(nodepool(ApiVersion::V1), None, at, policy, karpenter);
    rules::check_scale(&pool, &old, &stored, context)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostic::Severity;
    use crate::policy::{DeclaredCluster, FeatureGate};

    fn said_by(policy: &Policy, replicas: i64, pool: &Value) -> Vec<(&'static str, Severity)> {
        review_scale(
            replicas,
            pool,
            Timestamp::default(),
            policy,
            &TargetKarpenter::default(),
        )
        .into_iter()
        .map(|finding| (finding.rule.as_str(), finding.severity))
        .collect()
    }

    fn said(replicas: i64, pool: &Value) -> Vec<(&'static str, Severity)> {
        said_by(&Policy::default(), replicas, pool)
    }

    const ABOVE: &str = "replicas-above-limit";
    const AT: &str = "replicas-at-limit";

    #[test]
    fn a_static_pool_is_not_scaled_beyond_its_limit() {
        let pool = json!({"spec": {"replicas": 2, "limits": {"nodes": "5"}}});
        assert_eq!(said(4, &pool), []);
        assert_eq!(said(2, &pool), []);
        assert_eq!(said(5, &pool), [(AT, Severity::Warning)]);
        assert_eq!(said(6, &pool), [(ABOVE, Severity::Error)]);
    }

    #[test]
    fn a_static_pool_above_its_limit_can_be_scaled_down_but_not_up() {
        let pool = json!({"spec": {"replicas": 9, "limits": {"nodes": 5}}});
        assert_eq!(said(9, &pool), [(ABOVE, Severity::Warning)]);
        for closer in [8, 6] {
            let warnings = [(ABOVE, Severity::Warning), ("drift", Severity::Warning)];
            assert_eq!(said(closer, &pool), warnings);
        }
        assert_eq!(said(10, &pool), [(ABOVE, Severity::Error)]);
    }

    #[test]
    fn nodes_that_go_are_announced() {
        let pool = json!({"spec": {"replicas": 30}});
        let report = review_scale(
            3,
            &pool,
            Timestamp::default(),
            &Policy::default(),
            &TargetKarpenter::default(),
        );
        let titles: Vec<String> = report.into_iter().map(|finding| finding.title).collect();
        assert_eq!(titles, ["this change deletes 27 of 30 nodes"]);
    }

    #[test]
    fn a_static_pool_may_be_at_its_limit_where_its_provider_terminates_drifted_nodes_first() {
        let of = |group: &str| {
            json!({"spec": {
                "replicas": 2, "limits": {"nodes": "5"}, "template": {"spec": {"nodeClassRef": {"group": group}}},
            }})
        };
        let policy = |is_on| Policy {
            cluster: DeclaredCluster::default().with_gate(FeatureGate::TerminateFirstDrift, is_on),
            ..Policy::default()
        };
        let pool = of("karpenter.k8s.aws");
        assert_eq!(said_by(&policy(true), 5, &pool), []);
        assert_eq!(said_by(&policy(false), 5, &pool), [(AT, Severity::Warning)]);
        // The users of EKS Auto Mode cannot set its gates.
        let managed = of("eks.amazonaws.com");
        assert_eq!(said_by(&policy(true), 5, &managed), [(AT, Severity::Warning)]);
    }

    #[test]
    fn a_static_pool_that_is_being_deleted_can_be_scaled_at_will() {
        let metadata = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        let pool = json!({"metadata": metadata, "spec": {"replicas": 2, "limits": {"nodes": "5"}}});
        assert_eq!(said(6, &pool), []);
    }

    #[test]
    fn what_poolgate_does_not_know_passes() {
        for pool in [
            json!(null),
            json!({"spec": {"limits": {"nodes": "5"}}}),
            json!({"spec": {"replicas": 3}}),
            json!({"spec": {"replicas": 3, "limits": {"nodes": "many"}}}),
            json!({"spec": {"replicas": "3", "limits": {"nodes": "5"}}}),
        ] {
            assert_eq!(said(100, &pool), [], "{pool}");
        }
    }
}
