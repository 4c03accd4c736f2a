//! The verdict on `kubectl scale`: the new number of nodes of a static pool, compared with the limit of the pool
//! itself. The scale subresource contains only the number, so no other check compares the two.

use serde_json::Value;

use crate::diagnostic::Report;
use crate::json::Json;
use crate::karpenter::{ApiVersion, NodePool};
use crate::rules;

/// Checks a new number of replicas for a pool, which is the NodePool as it is stored.
///
/// Nothing is reported for a pool without `spec.replicas`, for which the API server itself says that it cannot be
/// scaled. A number that the pool has already is never denied.
pub fn review_scale(replicas: i64, pool: &Value) -> Report {
    let mut report = Report::default();
    let stored = Json::from(pool);
    let pool = NodePool::view(ApiVersion::V1, &stored);
    if let Some(current) = pool.replicas.present()
        && let Some(finding) = rules::scale_finding(&pool, current, replicas)
    {
        report.push(finding);
    }
    report
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostic::Severity;

    fn said(replicas: i64, pool: &Value) -> Vec<(Severity, String)> {
        review_scale(replicas, pool)
            .into_iter()
            .map(|finding| (finding.severity, finding.to_string()))
            .collect()
    }

    #[test]
    fn a_static_pool_is_not_scaled_beyond_its_limit() {
        let pool = json!({"spec": {"replicas": 2, "limits": {"nodes": "5"}}});
        assert_eq!(said(4, &pool), []);
        assert_eq!(said(0, &pool), []);
        let [(severity, text)] = &said(6, &pool)[..] else {
            panic!("one finding");
        };
        assert_eq!(*severity, Severity::Error);
        assert!(
            text.starts_with("spec.replicas: Invalid value: 6: limits.nodes is 5,"),
            "{text}"
        );
        let [(severity, text)] = &said(5, &pool)[..] else {
            panic!("one finding");
        };
        assert_eq!(*severity, Severity::Warning);
        assert!(text.ends_with("[replicas-at-limit]"), "{text}");
    }

    #[test]
    fn a_number_that_the_pool_has_already_is_not_denied() {
        let pool = json!({"spec": {"replicas": 9, "limits": {"nodes": 5}}});
        let [(severity, _)] = &said(9, &pool)[..] else {
            panic!("one finding");
        };
        assert_eq!(*severity, Severity::Warning);
        assert!(review_scale(8, &pool).denies());
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
