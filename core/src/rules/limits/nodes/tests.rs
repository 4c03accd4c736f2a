//! Tests of the findings about `spec.limits.nodes`.

use serde_json::{Value, json};

use super::LIMIT_BELOW_NODES;
use crate::json::Json;
use crate::karpenter::{ApiVersion, KarpenterVersion};
use crate::nodelimit::ClaimCounts;
use crate::policy::Policy;
use crate::review::{Request, Subject, review};
use crate::rules::testing::{completed, errors, warnings_for};

fn limited(nodes: &str) -> Value {
    json!({"spec": {"limits": {"nodes": nodes}}})
}

#[test]
fn a_fraction_of_a_node_is_denied() {
    assert!(errors(&limited("1500m"))[0].ends_with("[limit-nodes-whole]"));
    assert_eq!(errors(&limited("2000m")), [""; 0]);
}

#[test]
fn a_release_that_does_not_enforce_the_limit_gets_a_warning() {
    let warned = |version, release| warnings_for(version, release, &limited("10"), None);
    for (version, release, expected) in [
        (
            ApiVersion::V1Beta1,
            KarpenterVersion::NEWEST,
            "no release of Karpenter with v1beta1 counts nodes",
        ),
        (
            ApiVersion::V1,
            KarpenterVersion::new(1, 7, 3),
            "Karpenter 1.7.3 does not count nodes",
        ),
        (
            ApiVersion::V1,
            KarpenterVersion::new(1, 10, 0),
            "Karpenter 1.10.0 checks it only after",
        ),
    ] {
        let warned = warned(version, release);
        assert!(warned[0].contains(expected), "{warned:?}");
    }
    assert_eq!(warned(ApiVersion::V1, KarpenterVersion::new(1, 11, 0)), [""; 0]);
}

#[test]
fn a_limit_lowered_below_the_nodes_says_how_many_are_above() {
    let warned = |limit: &str, old: Value| {
        warnings_for(
            ApiVersion::V1,
            KarpenterVersion::NEWEST,
            &limited(limit),
            Some(&old),
        )
    };
    let mut stored = limited("20");
    stored["status"] = json!({"nodes": 12});
    assert_eq!(
        warned("10", stored.clone()),
        [
            "spec.limits.nodes: Invalid value: \"10\": the pool's status reports 12 nodes, so 2 are above the \
             limit; none is removed for that, and none is launched until enough are gone; write 12 or more if \
             all should stay [limit-below-nodes]"
        ]
    );
    assert_eq!(warned("12", stored.clone()), [""; 0]);
    stored["spec"] = json!({});
    stored["status"] = json!({"resources": {"nodes": "11"}});
    assert!(warned("10", stored.clone())[0].contains("so 1 is above the limit"));
    stored["spec"] = json!({"limits": {"nodes": "10"}});
    assert_eq!(warned("10", stored.clone()), [""; 0], "the limit is as it was");
    stored["spec"] = json!({"limits": {"nodes": "5"}});
    assert_eq!(warned("10", stored), [""; 0], "the limit is raised");
}

#[test]
fn counted_claims_take_precedence_over_the_status() {
    let said = |mode: Option<&str>, old_mode: Option<&str>, counts: [usize; 3]| {
        let with_mode = |limit: &str, mode: Option<&str>| {
            let mut pool = limited(limit);
            pool["metadata"] = json!({"annotations": {"poolgate.dev/node-limit-mode": mode}});
            completed(Subject::NodePool(ApiVersion::V1), &pool)
        };
        let mut old = with_mode("20", old_mode);
        old["status"] = json!({"nodes": 1});
        let (new, old) = (with_mode("5", mode), Json::from(&old));
        let [existing, undeleted, staying] = counts;
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object: &Json::from(&new),
            old: Some(&old),
            claims: Some(ClaimCounts {
                existing,
                undeleted,
                staying,
            }),
            at: jiff::Timestamp::default(),
        };
        let report = review(&request, &Policy::default(), &KarpenterVersion::NEWEST.into()).report;
        let about = report.into_iter().find(|one| one.rule == LIMIT_BELOW_NODES.id);
        about.map(|one| {
            format!(
                "{}; {}",
                one.reason,
                one.suggestion.map_or_else(String::new, |one| one.text)
            )
        })
    };
    let stay = "none is removed for that, and none is launched until enough are gone";
    assert_eq!(
        said(Some("Hard"), None, [8, 8, 8]),
        Some(format!(
            "the pool has 8 NodeClaims, so 3 are above the limit; {stay}; write 8 or more if all should stay"
        ))
    );
    assert_eq!(
        said(Some("Hard"), None, [8, 6, 1]),
        Some(format!(
            "the pool has 8 NodeClaims, 2 of them being deleted, so 3 are above the limit; {stay}; write 6 or \
             more if the others should stay"
        ))
    );
    assert_eq!(
        said(None, None, [6, 4, 4]).as_deref(),
        Some(
            "the pool has 6 NodeClaims, 2 of them being deleted, so 1 is above the limit; as many are on their \
             way out already; "
        )
    );
    let soft = Some(format!(
        "the pool has 6 NodeClaims and 2 more being disrupted, so 1 is above the limit; {stay}; write 6 or more \
         if the others should stay"
    ));
    assert_eq!(said(Some("Soft"), Some("Hard"), [8, 7, 6]), soft);
    assert_eq!(
        said(None, Some("Soft"), [8, 7, 6]),
        Some(format!(
            "the pool has 8 NodeClaims, 1 of them being deleted, so 3 are above the limit; {stay}; write 6 or \
             more if the others should stay"
        )),
        "the mode is missing now: Hard for new nodes, Soft for those above the limit"
    );
    assert_eq!(said(Some("Soft"), None, [8, 7, 5]), None);
    assert_eq!(said(Some("Hard"), None, [5, 5, 5]), None);
}

#[test]
fn a_limit_lowered_below_the_nodes_says_what_happens_to_them() {
    let warned = |annotation: &str, replicas: Value| {
        let mut pool = limited("10");
        pool["metadata"] = json!({"annotations": {"poolgate.dev/over-limit": annotation}});
        pool["spec"]["replicas"] = replicas;
        let stored = json!({"spec": {"limits": {"nodes": "20"}}, "status": {"nodes": 13}});
        let warned = warnings_for(ApiVersion::V1, KarpenterVersion::NEWEST, &pool, Some(&stored));
        let is_about = |line: &&String| line.ends_with("[limit-below-nodes]");
        warned.iter().find(is_about).cloned().unwrap_or_default()
    };
    let terminated = "3 are above the limit; the reconciler will terminate 3, where it runs";
    assert!(warned("Terminate", json!(null)).contains(terminated));
    assert!(warned("Report", json!(null)).contains("none is removed"));
    assert!(
        warned("Terminate", json!(9)).contains("none is removed"),
        "static"
    );
}
