//! What a user of kubectl meets: a real API server, Karpenter's definitions, and poolgate behind both webhooks.

use serde_json::{Value, json};

use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, V1_AND_V1BETA1, karpenter_crd};
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::program;

/// A control plane that asks a poolgate. Drops poolgate last, so that nothing is asked of one that is gone.
struct Cluster {
    plane: ControlPlane,
    poolgate: Poolgate,
}

impl Cluster {
    /// With Karpenter's definitions as they were published.
    fn upstream(release: &str) -> Self {
        let cluster = Self::unregistered(release);
        cluster.register();
        cluster
    }

    /// The same, of which poolgate is told nothing.
    fn unwatched(release: &str) -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(release);
        let poolgate = Poolgate::serve();
        let cluster = Self { plane, poolgate };
        cluster.register();
        cluster
    }

    /// With the NodePool definition that `poolgate crd patch` makes of the published one.
    fn patched(release: &str) -> Self {
        let plane = ControlPlane::start();
        let published = karpenter_crd(release, "karpenter.sh_nodepools.yaml");
        let patched = program::run(&["crd", "patch"], &published).success();
        plane.install_crd(&patched);
        let cluster = Self::watched(plane);
        cluster.register();
        cluster
    }

    /// Before anybody asks poolgate.
    fn unregistered(release: &str) -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(release);
        Self::watched(plane)
    }

    fn watched(plane: ControlPlane) -> Self {
        let poolgate = Poolgate::serve_watching(plane.kubeconfig(), &[]);
        Self { plane, poolgate }
    }

    fn register(&self) {
        self.plane
            .register_webhooks(&self.poolgate.base_url(), &self.poolgate.ca());
    }

    fn apply(&self, object: &Value) -> Outcome {
        self.plane.kubectl(&["apply", "-f", "-"], &object.to_string())
    }

    fn stored(&self, name: &str) -> Value {
        self.plane.kubectl_json(&["get", "nodepool", name], "")
    }

    fn stored_names(&self) -> String {
        self.plane
            .kubectl(&["get", "nodepools", "-o", "name"], "")
            .success()
    }
}

/// A NodePool that Karpenter takes, with this for `spec.disruption`; without one where it is null.
fn pool(name: &str, disruption: &Value) -> Value {
    match disruption {
        Value::Null => node_pool(name, &json!({})),
        disruption => node_pool(name, &json!({"disruption": disruption})),
    }
}

/// Five mistakes: two that the CRD would refuse too, three that it lets through.
fn five_mistakes() -> Value {
    let mut pool = pool(
        "bad",
        &json!({"consolidateAfter": "1m", "budgets": [
            {"nodes": "101%"},
            {"nodes": "0", "schedule": "@daily"},
            {"nodes": "0", "schedule": "0 9 * * sat-sun", "duration": "8h"},
        ]}),
    );
    pool["spec"]["limits"] = json!({"cpu": "1e1.5"});
    pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "soft"});
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
fn refused_fields(outcome: &Outcome) -> Vec<&str> {
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
fn all_mistakes_are_told_in_one_go_and_by_nobody_else() {
    for cluster in [Cluster::upstream(V1), Cluster::patched(V1)] {
        let answer = cluster.apply(&five_mistakes());
        assert_eq!(refused_fields(&answer), FIVE_FIELDS, "{}", answer.stderr);
        assert!(
            answer.stderr.contains("The NodePool \"bad\" is invalid:"),
            "{}",
            answer.stderr
        );
        assert!(answer.stderr.contains("write sat,sun"), "{}", answer.stderr);
        assert!(
            !answer.stderr.contains("should match"),
            "the CRD speaks too: {}",
            answer.stderr
        );
        assert_eq!(cluster.stored_names(), "");
    }
}

#[test]
fn a_pool_that_says_nothing_gets_the_defaults_and_keeps_them() {
    for (cluster, mode) in [
        (Cluster::upstream(V1), Value::Null),
        (Cluster::patched(V1), json!("Hard")),
    ] {
        let pool = pool("plain", &Value::Null);
        cluster.apply(&pool).success();
        let stored = cluster.stored("plain");
        let disruption = &stored["spec"]["disruption"];
        assert_eq!(disruption["budgets"], json!([{"nodes": "10%"}]));
        assert_eq!(disruption["consolidationPolicy"], "WhenEmptyOrUnderutilized");
        assert_eq!(disruption["consolidateAfter"], "0s");
        assert_eq!(disruption["nodeLimitMode"], mode);
        assert_eq!(
            cluster.apply(&pool).success(),
            "nodepool.karpenter.sh/plain unchanged\n"
        );
        assert_eq!(
            resource_version(&cluster.stored("plain")),
            resource_version(&stored)
        );
    }
}

#[test]
fn writes_that_change_nothing_leave_generation_and_version_alone() {
    for (cluster, writes_what_is_pruned) in [
        (Cluster::upstream(V1), false),
        (Cluster::patched(V1), false),
        (Cluster::unwatched(V1), true),
    ] {
        let pool = pool("plain", &Value::Null).to_string();
        let server_side = |verb| cluster.plane.kubectl(&[verb, "--server-side", "-f", "-"], &pool);
        server_side("apply").success();
        if writes_what_is_pruned {
            // Without a look at the cluster nodeLimitMode is written, and on a creation what a webhook adds is
            // stored unpruned. The first write after it cleans that up.
            server_side("apply").success();
        }
        let first = cluster.stored("plain");
        assert_eq!(first["metadata"]["generation"], 1);
        for _ in 0..3 {
            server_side("apply").success();
        }
        let answer = server_side("diff");
        assert_eq!(answer.status.code(), Some(0), "{}", answer.stdout);
        assert_eq!(
            resource_version(&cluster.stored("plain")),
            resource_version(&first)
        );
        cluster
            .plane
            .kubectl(&["label", "nodepool", "plain", "team=blue"], "")
            .success();
        assert_eq!(cluster.stored("plain")["metadata"]["generation"], 1);
    }
}

#[test]
fn a_disruption_block_without_consolidate_after_is_accepted() {
    // Karpenter 1.15 completes it itself.
    let cluster = Cluster::unregistered(V1_AND_V1BETA1);
    let pool = pool("budgets-only", &json!({"budgets": [{"nodes": "5"}]}));
    let alone = cluster.apply(&pool);
    assert!(
        alone.stderr.contains("spec.disruption.consolidateAfter"),
        "the CRD refuses it alone: {alone:?}"
    );
    cluster.register();
    cluster.apply(&pool).success();
    let disruption = &cluster.stored("budgets-only")["spec"]["disruption"];
    assert_eq!(disruption["consolidateAfter"], "0s");
    assert_eq!(disruption["budgets"], json!([{"nodes": "5"}]));
}

#[test]
fn dry_runs_and_diffs_give_the_same_verdict_and_leave_nothing_behind() {
    let cluster = Cluster::upstream(V1);
    let kubectl = |args: &[&str], object: &Value| cluster.plane.kubectl(args, &object.to_string());
    let (good, bad) = (pool("plain", &Value::Null), five_mistakes());

    let answer = kubectl(&["apply", "--dry-run=server", "-f", "-"], &bad);
    assert_eq!(refused_fields(&answer), FIVE_FIELDS, "{}", answer.stderr);
    let answer = kubectl(&["apply", "--dry-run=server", "-o", "json", "-f", "-"], &good).success();
    let would_be: Value = serde_json::from_str(&answer).expect("kubectl prints JSON");
    assert_eq!(would_be["spec"]["disruption"]["consolidateAfter"], "0s");

    let answer = kubectl(&["diff", "-f", "-"], &bad);
    assert_eq!(refused_fields(&answer), FIVE_FIELDS, "{}", answer.stderr);
    assert_eq!(
        kubectl(&["diff", "-f", "-"], &good).status.code(),
        Some(1),
        "a new object is a difference"
    );
    assert_eq!(cluster.stored_names(), "");

    kubectl(&["apply", "-f", "-"], &good).success();
    assert_eq!(
        kubectl(&["diff", "-f", "-"], &good).status.code(),
        Some(0),
        "defaults are no difference"
    );
}

#[test]
fn a_stored_mistake_is_not_held_against_an_update_that_does_not_touch_it() {
    let cluster = Cluster::unregistered(V1);
    let mut pool = pool(
        "old",
        &json!({"consolidateAfter": "1m", "budgets": [
            {"nodes": "0", "schedule": "0 9 * * sat-sun", "duration": "8h"},
        ]}),
    );
    cluster.apply(&pool).success();
    cluster.register();

    cluster
        .plane
        .kubectl(&["label", "nodepool", "old", "team=blue"], "")
        .success();
    pool["spec"]["weight"] = json!(10);
    let answer = cluster.apply(&pool);
    assert!(
        answer
            .stderr
            .contains("Warning: spec.disruption.budgets[0].schedule"),
        "{answer:?}"
    );
    answer.success();

    pool["spec"]["limits"] = json!({"cpu": "-5"});
    assert_eq!(refused_fields(&cluster.apply(&pool)), ["spec.limits.cpu"]);
    pool["spec"]["limits"] = Value::Null;
    pool["spec"]["disruption"]["budgets"][0]["nodes"] = json!("1");
    assert_eq!(
        refused_fields(&cluster.apply(&pool)),
        ["spec.disruption.budgets[0].schedule"]
    );
}

#[test]
fn the_annotation_carries_the_mode_where_the_crd_lacks_the_field() {
    let cluster = Cluster::upstream(V1);
    let mut pool = pool("annotated", &Value::Null);
    pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "Soft"});
    cluster.apply(&pool).success();
    let stored = cluster.stored("annotated");
    assert_eq!(
        stored["metadata"]["annotations"]["poolgate.dev/node-limit-mode"],
        "Soft"
    );
    assert_eq!(
        cluster.apply(&pool).success(),
        "nodepool.karpenter.sh/annotated unchanged\n"
    );
    assert_eq!(
        resource_version(&cluster.stored("annotated")),
        resource_version(&stored)
    );
}

#[test]
fn the_patched_crd_keeps_the_mode_that_a_user_chose() {
    let cluster = Cluster::patched(V1);
    let pool = pool(
        "soft",
        &json!({"consolidateAfter": "1m", "nodeLimitMode": "Soft"}),
    );
    cluster.apply(&pool).success();
    assert_eq!(
        cluster.stored("soft")["spec"]["disruption"]["nodeLimitMode"],
        "Soft"
    );
    assert_eq!(
        cluster.apply(&pool).success(),
        "nodepool.karpenter.sh/soft unchanged\n"
    );
}

#[test]
fn v1beta1_pools_get_their_own_defaults_and_the_same_verdicts() {
    for (cluster, mode) in [
        (Cluster::upstream(V1_AND_V1BETA1), Value::Null),
        (Cluster::patched(V1_AND_V1BETA1), json!("Hard")),
    ] {
        let beta = |mut pool: Value| {
            pool["apiVersion"] = json!("karpenter.sh/v1beta1");
            pool["spec"]["template"]["spec"]["nodeClassRef"] = json!({"name": "default"});
            pool
        };
        let plain = beta(pool("plain", &Value::Null));
        cluster.apply(&plain).success();
        let stored = cluster
            .plane
            .kubectl_json(&["get", "nodepools.v1beta1.karpenter.sh", "plain"], "");
        let disruption = &stored["spec"]["disruption"];
        assert_eq!(disruption["budgets"], json!([{"nodes": "10%"}]));
        assert_eq!(disruption["consolidationPolicy"], "WhenUnderutilized");
        assert_eq!(disruption["consolidateAfter"], Value::Null);
        assert_eq!(disruption["nodeLimitMode"], mode);
        assert_eq!(
            cluster.apply(&plain).success(),
            "nodepool.karpenter.sh/plain unchanged\n"
        );

        let mut bad = five_mistakes();
        bad["spec"]["disruption"]["consolidateAfter"] = json!("Never");
        assert_eq!(refused_fields(&cluster.apply(&beta(bad))), FIVE_FIELDS);
    }
}
