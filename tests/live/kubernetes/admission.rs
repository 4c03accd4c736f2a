//! What a user of kubectl meets: a real API server, Karpenter's definitions, and poolgate behind both webhooks.

use serde_json::{Value, json};

use super::shared::{Shared, both_versions, patched, published};
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, V1_AND_V1BETA1, patched_crd};
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::wait::wait_for;

fn apply(plane: &ControlPlane, object: &Value) -> Outcome {
    plane.kubectl(&["apply", "-f", "-"], &object.to_string())
}

fn stored_pool(plane: &ControlPlane, name: &str) -> Option<Value> {
    Client::of(plane).get(&format!("/apis/karpenter.sh/v1/nodepools/{name}"))
}

fn stored(plane: &ControlPlane, name: &str) -> Value {
    stored_pool(plane, name).expect("a NodePool")
}

#[track_caller]
fn assert_not_stored(plane: &ControlPlane, name: &str) {
    assert_eq!(stored_pool(plane, name), None);
}

/// A NodePool that Karpenter takes, with this for `spec.disruption`; without one where it is null.
fn pool(name: &str, disruption: &Value) -> Value {
    match disruption {
        Value::Null => node_pool(name, &json!({})),
        disruption => node_pool(name, &json!({"disruption": disruption})),
    }
}

/// Five mistakes, in a pool that is never stored: two that the CRD would reject too, three that it accepts.
fn five_mistakes() -> Value {
    let mut pool = pool(
        "asked-bad",
        &json!({"consolidateAfter": "1m", "budgets": [
            {"nodes": "101%"},
            {"nodes": "0", "schedule": "@daily"},
            {"nodes": "0", "schedule": "0 9 * * sat-sun", "duration": "8h"},
        ]}),
    );
    pool["spec"]["limits"] = json!({"cpu": "1e1.5"});
    pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "loose"});
    pool
}

const FIVE_FIELDS: [&str; 5] = [
    "spec.disruption.budgets[0].nodes",
    "spec.disruption.budgets[1].duration",
    "spec.disruption.budgets[2].schedule",
    "metadata.annotations[poolgate.dev/node-limit-mode]",
    "spec.limits.cpu",
];

/// The fields of the causes that kubectl prints: a line each, or behind the headline if there is only one.
fn denied_fields(outcome: &Outcome) -> Vec<&str> {
    assert!(!outcome.status.success(), "{outcome:?}");
    let causes = outcome.stderr.lines().filter_map(|line| {
        let single = line
            .starts_with("The NodePool ")
            .then(|| line.split_once(" is invalid: "))
            .flatten();
        line.strip_prefix("* ").or(single.map(|(_, cause)| cause))
    });
    causes
        .filter_map(|cause| cause.split_once(": ").map(|(field, _)| field))
        .collect()
}

fn resource_version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"]
        .as_str()
        .expect("a stored object has a version")
}

#[test]
fn all_mistakes_are_reported_at_once_and_only_by_poolgate() {
    for shared in [published(), patched()] {
        let answer = apply(&shared.plane, &five_mistakes());
        assert_eq!(denied_fields(&answer), FIVE_FIELDS, "{}", answer.stderr);
        assert!(
            answer.stderr.contains("The NodePool \"asked-bad\" is invalid:"),
            "{}",
            answer.stderr
        );
        assert!(answer.stderr.contains("Write sat,sun"), "{}", answer.stderr);
        assert!(
            !answer.stderr.contains("should match"),
            "the CRD speaks too: {}",
            answer.stderr
        );
        assert_not_stored(&shared.plane, "asked-bad");
    }
}

#[test]
fn a_pool_that_says_nothing_gets_the_defaults_and_keeps_them() {
    for (shared, mode) in [(published(), Value::Null), (patched(), json!("Hard"))] {
        let plane = &shared.plane;
        let pool = pool("asked-plain", &Value::Null);
        apply(plane, &pool).success();
        let first = stored(plane, "asked-plain");
        let disruption = &first["spec"]["disruption"];
        assert_eq!(disruption["budgets"], json!([{"nodes": "10%"}]));
        assert_eq!(disruption["consolidationPolicy"], "WhenEmptyOrUnderutilized");
        assert_eq!(disruption["consolidateAfter"], "0s");
        assert_eq!(disruption["nodeLimitMode"], mode);
        assert_eq!(
            apply(plane, &pool).success(),
            "nodepool.karpenter.sh/asked-plain unchanged\n"
        );
        assert_eq!(
            resource_version(&stored(plane, "asked-plain")),
            resource_version(&first)
        );
    }
}

#[test]
fn writes_that_change_nothing_leave_generation_and_version_alone() {
    expect_quiet_writes(&published().plane, "asked-quiet", false);
    expect_quiet_writes(&patched().plane, "asked-quiet", false);
    // Without a look at the cluster nodeLimitMode is written.
    let unwatched = Poolgate::serve();
    let plane = &published().plane;
    plane.register_webhooks_for("unwatched-", &unwatched.base_url(), &unwatched.ca());
    expect_quiet_writes(plane, "unwatched-quiet", true);
}

fn expect_quiet_writes(plane: &ControlPlane, name: &str, writes_what_is_pruned: bool) {
    let pool = pool(name, &Value::Null).to_string();
    let server_side = |verb| plane.kubectl(&[verb, "--server-side", "-f", "-"], &pool);
    server_side("apply").success();
    if writes_what_is_pruned {
        // On a creation what a webhook adds is stored unpruned. The first write after it cleans that up.
        server_side("apply").success();
    }
    let first = stored(plane, name);
    assert_eq!(first["metadata"]["generation"], 1);
    for _ in 0..3 {
        server_side("apply").success();
    }
    let answer = server_side("diff");
    assert_eq!(answer.status.code(), Some(0), "{}", answer.stdout);
    assert_eq!(resource_version(&stored(plane, name)), resource_version(&first));
    plane
        .kubectl(&["label", "nodepool", name, "team=blue"], "")
        .success();
    assert_eq!(stored(plane, name)["metadata"]["generation"], 1);
}

#[test]
fn a_disruption_block_without_consolidate_after_is_accepted() {
    // Karpenter 1.15 completes it itself.
    let shared = both_versions();
    let pool = pool("completed-budgets", &json!({"budgets": [{"nodes": "5"}]}));
    let alone = apply(&shared.plane, &pool);
    assert!(
        alone.stderr.contains("spec.disruption.consolidateAfter"),
        "the CRD rejects it alone: {alone:?}"
    );
    shared.ask_about("completed-");
    apply(&shared.plane, &pool).success();
    let disruption = &stored(&shared.plane, "completed-budgets")["spec"]["disruption"];
    assert_eq!(disruption["consolidateAfter"], "0s");
    assert_eq!(disruption["budgets"], json!([{"nodes": "5"}]));
}

#[test]
fn dry_runs_and_diffs_give_the_same_verdict_and_leave_nothing_behind() {
    let plane = &published().plane;
    let kubectl = |args: &[&str], object: &Value| plane.kubectl(args, &object.to_string());
    let (good, bad) = (pool("asked-dry", &Value::Null), five_mistakes());

    let answer = kubectl(&["apply", "--dry-run=server", "-f", "-"], &bad);
    assert_eq!(denied_fields(&answer), FIVE_FIELDS, "{}", answer.stderr);
    let answer = kubectl(&["apply", "--dry-run=server", "-o", "json", "-f", "-"], &good).success();
    let would_be: Value = serde_json::from_str(&answer).expect("kubectl prints JSON");
    assert_eq!(would_be["spec"]["disruption"]["consolidateAfter"], "0s");

    let answer = kubectl(&["diff", "-f", "-"], &bad);
    assert_eq!(denied_fields(&answer), FIVE_FIELDS, "{}", answer.stderr);
    assert_eq!(
        kubectl(&["diff", "-f", "-"], &good).status.code(),
        Some(1),
        "a new object is a difference"
    );
    assert_not_stored(plane, "asked-bad");
    assert_not_stored(plane, "asked-dry");

    kubectl(&["apply", "-f", "-"], &good).success();
    assert_eq!(
        kubectl(&["diff", "-f", "-"], &good).status.code(),
        Some(0),
        "defaults are no difference"
    );
}

#[test]
fn a_stored_mistake_is_not_held_against_an_update_that_does_not_touch_it() {
    let shared = published();
    let plane = &shared.plane;
    let mut pool = pool(
        "old-mistake",
        &json!({"consolidateAfter": "1m", "budgets": [
            {"nodes": "0", "schedule": "0 9 * * sat-sun", "duration": "8h"},
        ]}),
    );
    apply(plane, &pool).success();
    shared.ask_about("old-");

    plane
        .kubectl(&["label", "nodepool", "old-mistake", "team=blue"], "")
        .success();
    pool["spec"]["weight"] = json!(10);
    let answer = apply(plane, &pool);
    assert!(
        answer
            .stderr
            .contains("Warning: spec.disruption.budgets[0].schedule"),
        "{answer:?}"
    );
    answer.success();

    pool["spec"]["limits"] = json!({"cpu": "-5"});
    assert_eq!(denied_fields(&apply(plane, &pool)), ["spec.limits.cpu"]);
    pool["spec"]["limits"] = Value::Null;
    pool["spec"]["disruption"]["budgets"][0]["nodes"] = json!("1");
    assert_eq!(
        denied_fields(&apply(plane, &pool)),
        ["spec.disruption.budgets[0].schedule"]
    );
}

#[test]
fn the_annotation_carries_the_mode_where_the_crd_lacks_the_field() {
    let plane = &published().plane;
    let mut pool = pool("asked-annotated", &Value::Null);
    pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "Soft"});
    apply(plane, &pool).success();
    let first = stored(plane, "asked-annotated");
    assert_eq!(
        first["metadata"]["annotations"]["poolgate.dev/node-limit-mode"],
        "Soft"
    );
    assert_eq!(
        apply(plane, &pool).success(),
        "nodepool.karpenter.sh/asked-annotated unchanged\n"
    );
    assert_eq!(
        resource_version(&stored(plane, "asked-annotated")),
        resource_version(&first)
    );
}

#[test]
fn the_patched_crd_keeps_the_mode_that_a_user_chose() {
    let plane = &patched().plane;
    let pool = pool(
        "asked-soft",
        &json!({"consolidateAfter": "1m", "nodeLimitMode": "Soft"}),
    );
    apply(plane, &pool).success();
    assert_eq!(
        stored(plane, "asked-soft")["spec"]["disruption"]["nodeLimitMode"],
        "Soft"
    );
    assert_eq!(
        apply(plane, &pool).success(),
        "nodepool.karpenter.sh/asked-soft unchanged\n"
    );
}

#[test]
fn soft_outlives_an_upgrade_of_the_crd_that_drops_the_field() {
    let shared = Shared::start(|plane| plane.install_crd(&patched_crd(V1, &[])));
    let plane = &shared.plane;
    let modes = || {
        let stored = stored(plane, "asked-upgraded");
        [
            stored["spec"]["disruption"]["nodeLimitMode"].clone(),
            stored["metadata"]["annotations"]["poolgate.dev/node-limit-mode"].clone(),
        ]
    };
    let of = |mode: &str| {
        pool(
            "asked-upgraded",
            &json!({"consolidateAfter": "1m", "nodeLimitMode": mode}),
        )
    };
    apply(plane, &of("Soft")).success();
    assert_eq!(modes(), ["Soft", "Soft"]);
    // Whichever of the two is changed takes the other one along.
    let annotated = ["annotate", "--overwrite", "nodepool", "asked-upgraded"];
    let annotate = |mode: &str| {
        let annotation = format!("poolgate.dev/node-limit-mode={mode}");
        plane
            .kubectl(&[&annotated[..], &[&annotation]].concat(), "")
            .success();
    };
    annotate("Hard");
    assert_eq!(modes(), ["Hard", "Hard"]);
    apply(plane, &of("Soft")).success();
    assert_eq!(modes(), ["Soft", "Soft"]);

    plane.install_karpenter_crds(V1);
    assert_eq!(modes(), [Value::Null, json!("Soft")]);
    // The same manifest, as GitOps applies it, and a change of it.
    for weight in [Value::Null, json!(7)] {
        let mut pool = of("Soft");
        pool["spec"]["weight"] = weight;
        let applied = plane.kubectl(&["apply", "--validate=ignore", "-f", "-"], &pool.to_string());
        applied.success();
        assert_eq!(modes(), [Value::Null, json!("Soft")]);
    }
    annotate("Hard");
    assert_eq!(modes(), [Value::Null, json!("Hard")]);
}

#[test]
fn v1beta1_pools_get_their_own_defaults_and_the_same_verdicts() {
    let plane = &both_versions().plane;
    expect_defaults_of_v1beta1(plane, "asked-before", &Value::Null);
    plane.install_crd(&patched_crd(V1_AND_V1BETA1, &[]));
    let would_be = v1beta1(pool("asked-after", &Value::Null)).to_string();
    wait_for("poolgate to know of the other definition", || {
        let pool = plane.kubectl_json(&["apply", "--dry-run=server", "-f", "-"], &would_be);
        (!pool["spec"]["disruption"]["nodeLimitMode"].is_null()).then_some(())
    });
    expect_defaults_of_v1beta1(plane, "asked-after", &json!("Hard"));
}

fn v1beta1(mut pool: Value) -> Value {
    pool["apiVersion"] = json!("karpenter.sh/v1beta1");
    pool["spec"]["template"]["spec"]["nodeClassRef"] = json!({"name": "default"});
    pool
}

fn expect_defaults_of_v1beta1(plane: &ControlPlane, name: &str, mode: &Value) {
    let plain = v1beta1(pool(name, &Value::Null));
    apply(plane, &plain).success();
    let stored = plane.kubectl_json(&["get", "nodepools.v1beta1.karpenter.sh", name], "");
    let disruption = &stored["spec"]["disruption"];
    assert_eq!(disruption["budgets"], json!([{"nodes": "10%"}]));
    assert_eq!(disruption["consolidationPolicy"], "WhenUnderutilized");
    assert_eq!(disruption["consolidateAfter"], Value::Null);
    assert_eq!(disruption["nodeLimitMode"], *mode);
    assert_eq!(
        apply(plane, &plain).success(),
        format!("nodepool.karpenter.sh/{name} unchanged\n")
    );

    let mut bad = five_mistakes();
    bad["spec"]["disruption"]["consolidateAfter"] = json!("Never");
    assert_eq!(denied_fields(&apply(plane, &v1beta1(bad))), FIVE_FIELDS);
}
