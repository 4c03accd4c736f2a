//! The answers to good, bad and absurd requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use poolgate_core::diagnostic::RuleId;
use poolgate_core::policy::{Enforcement, Exemption, FeatureGate, Glob, Level, Policy};
use serde_json::{Value, json};

use super::*;
use crate::cluster::view::{CachedPool, Pools};
use crate::serving::admission::Verdict;

const REVIEWER: fn() -> Reviewer = || {
    Reviewer::new(
        Policy::default(),
        Arc::new(ClusterView::default()),
        MutateVerdict::default(),
    )
};

/// The NodePool with a template, so that a test names only what it is about.
fn with_template(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("template").or_insert_with(|| {
            json!({"spec": {
                "requirements": [],
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "expireAfter": "Never",
            }})
        });
    }
    object
}

fn nodepool_review(operation: &str, object: &Value, old: &Value) -> Value {
    let (object, old) = (with_template(object), with_template(old));
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodePool"},
            "resource": {"group": "karpenter.sh", "version": "v1", "resource": "nodepools"},
            "name": "default",
            "operation": operation,
            "userInfo": {"username": "admin"},
            "object": object,
            "oldObject": old,
            "dryRun": false,
        },
    })
}

fn respond(endpoint: Endpoint, review: &Value) -> Value {
    let body = serde_json::to_vec(review).unwrap();
    let answer = REVIEWER().respond(endpoint, &body).unwrap();
    serde_json::from_slice(&answer.body).unwrap()
}

fn create(endpoint: Endpoint, object: &Value) -> Value {
    respond(endpoint, &nodepool_review("CREATE", object, &Value::Null))["response"].clone()
}

fn operations(response: &Value) -> Value {
    let patch = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&patch).unwrap()
}

#[test]
fn a_good_pool_is_completed_by_one_endpoint_and_let_through_by_the_other() {
    let object =
        json!({"metadata": {"name": "default"}, "spec": {"disruption": {"budgets": [{"nodes": "1"}]}}});
    let response = create(Endpoint::Mutate, &object);
    assert_eq!(response["allowed"], true);
    assert_eq!(response["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
    assert_eq!(response["patchType"], "JSONPatch");
    assert_eq!(
        operations(&response),
        json!([
            {"op": "add", "path": "/spec/disruption/consolidationPolicy", "value": "WhenEmptyOrUnderutilized"},
            {"op": "add", "path": "/spec/disruption/consolidateAfter", "value": "0s"},
            {"op": "add", "path": "/spec/disruption/nodeLimitMode", "value": "Hard"},
        ])
    );
    let response = create(Endpoint::Validate, &object);
    assert_eq!(
        response,
        json!({"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": true})
    );
}

#[test]
fn a_patched_pool_needs_no_patch() {
    for spec in [
        json!({}),
        json!({"disruption": null}),
        json!({"disruption": {"budgets": null, "consolidateAfter": "5m"}, "limits": {"nodes": "5"}}),
    ] {
        let mut object = json!({"metadata": {"name": "default"}, "spec": spec});
        let patch: json_patch::Patch =
            serde_json::from_value(operations(&create(Endpoint::Mutate, &object))).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
        assert_eq!(
            create(Endpoint::Mutate, &object)["patch"],
            Value::Null,
            "{object}"
        );
    }
}

#[test]
fn a_complete_pool_gets_no_patch() {
    let object = json!({"spec": {"disruption": {
        "budgets": [], "consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m", "nodeLimitMode": "Soft",
    }}});
    let response = create(Endpoint::Mutate, &object);
    assert_eq!(
        response,
        json!({"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": true})
    );
}

#[test]
fn both_endpoints_deny_alike_with_a_cause_for_each_mistake() {
    let object = json!({"spec": {
        "disruption": {"budgets": [{"nodes": "101%"}, {"nodes": "0", "schedule": "@daily"}]},
        "limits": {"cpu": "-1"},
    }});
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        let response = create(endpoint, &object);
        assert_eq!(response["allowed"], false);
        assert_eq!(response["patch"], Value::Null);
        let status = &response["status"];
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(422), &json!("Invalid"))
        );
        assert_eq!(status["details"]["kind"], "NodePool");
        let fields: Vec<_> = status["details"]["causes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| &c["field"])
            .collect();
        assert_eq!(
            fields,
            [
                "spec.disruption.budgets[0].nodes",
                "spec.disruption.budgets[1].duration",
                "spec.limits.cpu"
            ]
        );
        assert_eq!(status["details"]["causes"][1]["reason"], "FieldValueRequired");
        assert!(
            status["message"]
                .as_str()
                .unwrap()
                .starts_with("NodePool.karpenter.sh \"default\" is invalid: [spec.")
        );
        assert_eq!(
            response["auditAnnotations"]["denied-by"],
            "budget-nodes,budget-duration,limit-amount"
        );
    }
}

#[test]
fn warnings_come_from_the_validating_endpoint_and_with_every_denial() {
    let warned = json!({"spec": {"limits": {"cpu": "0"}}});
    assert_eq!(create(Endpoint::Mutate, &warned)["warnings"], Value::Null);
    assert_eq!(
        create(Endpoint::Validate, &warned)["warnings"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let denied = json!({"spec": {"limits": {"cpu": "0", "memory": "x"}}});
    assert_eq!(
        create(Endpoint::Mutate, &denied)["warnings"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn an_update_is_not_denied_for_what_it_does_not_touch() {
    let old = json!({"metadata": {"name": "default"}, "spec": {"limits": {"cpu": "-1"}}});
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"team": "blue"});
    let response = &respond(Endpoint::Validate, &nodepool_review("UPDATE", &new, &old))["response"];
    assert_eq!(response["allowed"], true);
    assert_eq!(response["auditAnnotations"]["warned-by"], "limit-amount");
    new["spec"]["limits"]["memory"] = json!("-1");
    let response = &respond(Endpoint::Validate, &nodepool_review("UPDATE", &new, &old))["response"];
    assert_eq!(response["allowed"], false);
    assert_eq!(
        response["status"]["details"]["causes"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn without_a_verdict_the_mutating_endpoint_only_completes() {
    let reviewer = Reviewer::new(
        Policy::default(),
        Arc::new(ClusterView::default()),
        MutateVerdict::Off,
    );
    let review = nodepool_review("CREATE", &json!({"spec": {"limits": {"cpu": "x"}}}), &Value::Null);
    let body = serde_json::to_vec(&review).unwrap();
    let answer = reviewer.respond(Endpoint::Mutate, &body).unwrap();
    assert_eq!(
        (answer.summary.verdict, answer.summary.patched),
        (Verdict::Allowed, true)
    );
    let answer = reviewer.respond(Endpoint::Validate, &body).unwrap();
    assert_eq!(answer.summary.verdict, Verdict::Denied);
}

#[test]
fn anything_but_an_object_is_denied_with_its_uid() {
    for object in [Value::Null, json!([]), json!("text")] {
        let response = create(Endpoint::Mutate, &object);
        assert_eq!(response["allowed"], false);
        assert_eq!(response["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
        assert_eq!(response["status"]["details"]["causes"][0]["field"], "<object>");
    }
}

#[test]
fn an_object_nested_too_deep_is_denied_with_its_uid() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = nodepool_review("CREATE", &json!("HERE"), &Value::Null)
        .to_string()
        .replace("\"HERE\"", &deep);
    let answer = REVIEWER().respond(Endpoint::Validate, body.as_bytes()).unwrap();
    assert_eq!(answer.summary.verdict, Verdict::Denied);
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer["response"]["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
    assert_eq!(answer["response"]["status"]["code"], 400);
}

#[test]
fn what_poolgate_does_not_check_passes() {
    let bad = json!({"spec": {"limits": {"cpu": "x"}}});
    let deletion = nodepool_review("DELETE", &Value::Null, &bad);
    let deletion = respond(Endpoint::Validate, &deletion)["response"].clone();
    assert_eq!(
        (&deletion["allowed"], &deletion["warnings"]),
        (&json!(true), &Value::Null)
    );
    for (pointer, value) in [
        ("/request/kind/kind", "NodeOverlay"),
        ("/request/kind/version", "v9"),
        ("/request/kind/group", "example.com"),
    ] {
        let mut review = nodepool_review("CREATE", &bad, &Value::Null);
        *review.pointer_mut(pointer).unwrap() = json!(value);
        assert_eq!(
            respond(Endpoint::Validate, &review)["response"]["allowed"],
            true,
            "{pointer}"
        );
    }
    let mut status = nodepool_review("UPDATE", &bad, &Value::Null);
    status["request"]["subResource"] = json!("status");
    assert_eq!(respond(Endpoint::Validate, &status)["response"]["allowed"], true);
}

#[test]
fn a_deletion_is_reviewed_by_the_stored_pool_and_has_its_name() {
    let policy =
        "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndeletion: {acknowledge: {pools: [gen*]}}\n";
    let policy = poolgate_core::policy_file::parse(policy)
        .expect("a policy")
        .policy;
    let reviewer = Reviewer::new(policy, Arc::default(), MutateVerdict::On);
    let deleted_with = |nodes: i64, annotations: Value, options: Value| {
        let pool =
            json!({"metadata": {"name": "general", "annotations": annotations}, "status": {"nodes": nodes}});
        let mut review = nodepool_review("DELETE", &Value::Null, &pool);
        // As for a collection.
        review["request"]["name"] = json!("");
        review["request"]["options"] = options;
        let body = review.to_string();
        let answer = reviewer
            .respond(Endpoint::Validate, body.as_bytes())
            .expect("an answer");
        assert_eq!(
            (&*answer.summary.name, answer.summary.operation),
            ("general", "DELETE")
        );
        let answer: Value = serde_json::from_slice(&answer.body).expect("JSON");
        answer["response"].clone()
    };
    let deleted = |nodes, annotations| deleted_with(nodes, annotations, Value::Null);
    let denied = deleted(3, json!({}));
    assert_eq!(denied["allowed"], false);
    // The nodes stay.
    for options in [
        json!({"propagationPolicy": "Orphan"}),
        json!({"orphanDependents": true}),
    ] {
        let orphaned = deleted_with(3, json!({}), options);
        assert_eq!(
            (&orphaned["allowed"], &orphaned["warnings"]),
            (&json!(true), &Value::Null)
        );
    }
    for options in [
        json!({"propagationPolicy": "Background"}),
        json!({"orphanDependents": false, "propagationPolicy": "Orphan"}),
        json!([7]),
    ] {
        assert_eq!(deleted_with(3, json!({}), options)["allowed"], false);
    }
    let message = denied["status"]["message"].as_str().expect("a message");
    assert!(
        message.starts_with(
            "NodePool.karpenter.sh \"general\" is invalid: metadata.annotations[poolgate.dev/allow-delete]: "
        ),
        "{message}"
    );
    let warning = denied["warnings"][0].as_str().expect("a warning");
    assert!(warning.chars().count() <= 200, "{warning}");
    let allowed = deleted(3, json!({"poolgate.dev/allow-delete": "general"}));
    assert_eq!(
        (&allowed["allowed"], &allowed["warnings"]),
        (&json!(true), &denied["warnings"])
    );
    assert_eq!(deleted(0, json!({}))["warnings"], Value::Null);
}

fn scale_review(replicas: &Value) -> Value {
    let mut review = nodepool_review(
        "UPDATE",
        &json!({"spec": {"replicas": replicas}}),
        &json!({"spec": {"replicas": 2}}),
    );
    review["request"]["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    review["request"]["subResource"] = json!("scale");
    review
}

#[test]
fn scaling_is_checked_by_what_is_known_of_the_pool() {
    let view = Arc::new(ClusterView::default());
    let reviewer = Reviewer::new(Policy::default(), Arc::clone(&view), MutateVerdict::On);
    let response = |review: &Value| -> Value {
        let body = serde_json::to_vec(review).unwrap();
        let answer = reviewer.respond(Endpoint::Validate, &body).unwrap();
        let review: Value = serde_json::from_slice(&answer.body).unwrap();
        review["response"].clone()
    };
    let allowed = |replicas: Value| response(&scale_review(&replicas))["allowed"].clone();
    assert_eq!(allowed(json!(6)), true, "nobody watches the pools");

    view.set_pools(Some(Pools::default()));
    assert_eq!(allowed(json!(6)), true, "no such pool is known");

    let pool = json!({"metadata": {"name": "default"}, "spec": {"replicas": 2, "limits": {"nodes": "5"}}});
    let kept = CachedPool {
        uid: "u".into(),
        version: 1,
        object: Some(Arc::new(pool)),
    };
    view.set_pool("default".into(), Some(kept));
    assert_eq!(allowed(json!(4)), true);
    assert_eq!(allowed(json!("many")), true, "no Scale that an API server makes");
    let denied = response(&scale_review(&json!(6)));
    assert_eq!(denied["status"]["details"]["kind"], "Scale");
    assert_eq!(denied["status"]["details"]["causes"][0]["field"], "spec.replicas");
    let message = denied["status"]["message"].as_str().unwrap();
    assert!(message.contains("limits.nodes, which is 5"), "{message}");

    let mut other = scale_review(&json!(6));
    other["request"]["resource"] = json!({"group": "apps", "version": "v1", "resource": "deployments"});
    assert_eq!(response(&other)["allowed"], true);

    view.set_pools(None);
    assert_eq!(allowed(json!(6)), true, "the watch is down");
}

/// The answer to a request to scale a static pool with a limit of 5 nodes, and its warnings.
fn scaled(policy: Policy, from: i64, to: i64) -> (bool, Vec<String>) {
    let view = Arc::new(ClusterView::default());
    let pool = json!({
        "metadata": {"name": "default", "labels": {"team": "blue"}},
        "spec": {"replicas": from, "limits": {"nodes": "5"}},
    });
    let kept = CachedPool {
        uid: "u".into(),
        version: 1,
        object: Some(Arc::new(pool)),
    };
    view.set_pools(Some(Pools::default()));
    view.set_pool("default".into(), Some(kept));
    let reviewer = Reviewer::new(policy, view, MutateVerdict::On);
    let body = serde_json::to_vec(&scale_review(&json!(to))).unwrap();
    let answer = reviewer.respond(Endpoint::Validate, &body).unwrap();
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let response = &answer["response"];
    let warnings = response["warnings"].as_array().into_iter().flatten();
    (
        response["allowed"] == true,
        warnings.map(ToString::to_string).collect(),
    )
}

#[test]
fn a_scale_request_is_denied_only_if_the_policy_denies_it() {
    let above = RuleId::new("replicas-above-limit");
    let exempt = |pools: &[&str], team: Option<&str>| Policy {
        exemptions: vec![Exemption {
            pools: pools.iter().copied().map(Glob::new).collect(),
            labels: team
                .map(|team| ("team".into(), team.into()))
                .into_iter()
                .collect(),
            reason: None,
            until: None,
            rules: [above].into(),
        }],
        ..Policy::default()
    };
    let mut off = Policy::default();
    off.levels.set(above, Level::Off);
    let unenforced = Policy {
        enforcement: Enforcement::Warn,
        ..Policy::default()
    };
    for (policy, is_allowed, warnings) in [
        (Policy::default(), false, 0),
        (unenforced, true, 1),
        (off, true, 0),
        (exempt(&["def*"], None), true, 0),
        (exempt(&[], Some("blue")), true, 0),
        (exempt(&["other"], None), false, 0),
        (exempt(&[], Some("red")), false, 0),
    ] {
        let (allowed, warned) = scaled(policy.clone(), 2, 6);
        assert_eq!(
            (allowed, warned.len()),
            (is_allowed, warnings),
            "{policy:?}: {warned:?}"
        );
    }
}

#[test]
fn a_scale_request_towards_the_limit_is_warned_of_it_and_of_the_nodes_that_it_deletes() {
    let outcome = |from, to| {
        let (allowed, warned) = scaled(Policy::default(), from, to);
        (allowed, warned.len())
    };
    assert_eq!(outcome(9, 9), (true, 1));
    assert_eq!(outcome(9, 8), (true, 2));
    assert_eq!(outcome(9, 5), (true, 2), "at the limit");
    assert_eq!(outcome(9, 4), (true, 1), "four nodes are deleted");
    assert_eq!(outcome(9, 10), (false, 0));
}

#[test]
fn a_scale_request_to_the_limit_gets_no_warning_where_karpenter_terminates_a_drifted_node_first() {
    let mut policy = Policy::default();
    assert_eq!(scaled(policy.clone(), 2, 5).1.len(), 1);
    let gates = &mut policy.cluster.feature_gates;
    gates.insert(FeatureGate::TerminateFirstDrift, true);
    assert_eq!(scaled(policy, 2, 5), (true, vec![]));
}

#[test]
fn a_node_claim_is_denied_only_for_too_many_requirements_and_only_when_validated() {
    let mut review = nodepool_review("CREATE", &Value::Null, &Value::Null);
    review["request"]["kind"]["kind"] = json!("NodeClaim");
    let mut respond_to = |endpoint, requirements: usize| {
        let requirements = vec![json!({"key": "a b"}); requirements];
        review["request"]["object"] =
            json!({"metadata": {"name": "default-x7k2q"}, "spec": {"requirements": requirements}});
        respond(endpoint, &review)["response"].clone()
    };
    let admitted = json!({"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": true});
    assert_eq!(respond_to(Endpoint::Validate, 100), admitted);
    assert_eq!(respond_to(Endpoint::Mutate, 101), admitted);
    let denied = respond_to(Endpoint::Validate, 101);
    assert_eq!(denied["auditAnnotations"]["denied-by"], "nodeclaim-requirements");
    assert_eq!(denied["status"]["details"]["kind"], "NodeClaim");
}

#[test]
fn a_body_that_is_not_a_review_gets_a_sentence() {
    let sentence = |body: &str| {
        REVIEWER()
            .respond(Endpoint::Validate, body.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(sentence("").starts_with("the body is not an AdmissionReview: "));
    assert!(
        REVIEWER()
            .respond(Endpoint::Validate, b"{\"kind\": \"\xff\"}")
            .unwrap_err()
            .to_string()
            .starts_with("the body is not an AdmissionReview: invalid utf-8 sequence")
    );
    assert_eq!(
        sentence("{}"),
        "the body is `` of ``. Send an AdmissionReview of admission.k8s.io/v1"
    );
    assert_eq!(
        sentence(r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}"#),
        "the body is `AdmissionReview` of `admission.k8s.io/v1beta1`. Send an AdmissionReview of admission.k8s.io/v1"
    );
    let review = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview""#;
    assert_eq!(
        sentence(&format!("{review}}}")),
        "the AdmissionReview has no request"
    );
    assert_eq!(
        sentence(&format!("{review}, \"request\": 5}}")),
        "the AdmissionReview's request has no uid"
    );
    assert_eq!(
        sentence(&format!("{review}, \"request\": {{}}}}")),
        "the AdmissionReview's request has no uid"
    );
}

#[test]
fn a_lowered_limit_is_compared_with_the_nodes_among_the_resources_of_the_stored_status() {
    let limited =
        |nodes: &str| json!({"metadata": {"name": "default"}, "spec": {"limits": {"nodes": nodes}}});
    let mut stored = limited("20");
    stored["status"] = json!({"resources": {"cpu": "44", "nodes": "11"}});
    let review = nodepool_review("UPDATE", &limited("10"), &stored);
    let response = &respond(Endpoint::Validate, &review)["response"];
    let warnings = response["warnings"].to_string();
    assert!(
        warnings.contains("the pool's status reports 11 nodes, 1 above"),
        "{warnings}"
    );
}
