//! What poolgate makes of the cluster that it looks at.

use serde_json::{Value, json};

use super::shared::published;
use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, V1_AND_V1BETA1};
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::readme::block_of;
use crate::support::wait::wait_for;

/// A pool of a policy that came with Karpenter 1.14.
fn balanced() -> Value {
    node_pool(
        "named-balanced",
        &json!({"disruption": {"consolidationPolicy": "Balanced", "consolidateAfter": "1m"}}),
    )
}

fn dry_run(plane: &ControlPlane, object: &Value) -> Outcome {
    plane.kubectl(&["apply", "--dry-run=server", "-f", "-"], &object.to_string())
}

#[track_caller]
fn assert_metric(poolgate: &Poolgate, line: &str) {
    let (_, text) = poolgate.probe("/metrics");
    assert!(
        text.lines().any(|found| found == line),
        "{line} is not in\n{text}"
    );
}

#[test]
fn verdicts_follow_the_definition_that_is_installed() {
    let plane = ControlPlane::start();
    let poolgate = Poolgate::serve_watching(&plane.kubeconfig_by(Account::Server), &[]);
    assert_metric(
        &poolgate,
        "poolgate_karpenter_release_info{release=\"1.15.1\",source=\"newest\"} 1",
    );
    plane.install_karpenter_crds(V1_AND_V1BETA1);
    poolgate
        .wait_until_reported("rules for: Karpenter 1.0.8; the installed definition is from 1.0.2 to 1.0.8\n");
    plane.register_webhooks(&poolgate.base_url(), &poolgate.ca());
    let rejected = dry_run(&plane, &balanced()).stderr;
    assert!(
        rejected.contains("Balanced requires Karpenter 1.14.0 or newer"),
        "{rejected}"
    );

    plane.install_karpenter_crds(V1);
    let page = include_str!("../../../docs/reference/metrics.md");
    let shown = block_of(
        page,
        "console",
        "$ curl -s localhost:8080/readyz\nok\nrules for: ",
    );
    for line in shown.lines().skip(2) {
        poolgate.wait_until_reported(&format!("{line}\n"));
    }
    dry_run(&plane, &balanced()).success();
    assert_metric(
        &poolgate,
        "poolgate_karpenter_release_info{release=\"1.15.1\",source=\"definition\"} 1",
    );
    let (_, metrics) = poolgate.probe("/metrics");
    assert_eq!(
        metrics.matches("poolgate_karpenter_release_info{").count(),
        1,
        "{metrics}"
    );
}

#[test]
fn a_release_that_the_user_names_holds_whatever_is_installed() {
    let plane = &published().plane;
    let poolgate = Poolgate::serve_watching(
        &plane.kubeconfig_by(Account::Server),
        &["--karpenter-version", "1.9"],
    );
    poolgate.wait_until_reported(
        "rules for: Karpenter 1.9.0; the installed definition is from 1.15.0 to 1.15.1\n",
    );
    poolgate.wait_until_reported("static NodePools: watching\n");
    assert_metric(&poolgate, "poolgate_watch_up{watch=\"definition\"} 1");
    assert_metric(&poolgate, "poolgate_watch_up{watch=\"nodepools\"} 1");
    plane.register_webhooks_for("named-", &poolgate.base_url(), &poolgate.ca());
    let rejected = dry_run(plane, &balanced()).stderr;
    assert!(
        rejected.contains("Balanced requires Karpenter 1.14.0 or newer"),
        "{rejected}"
    );
}

#[test]
fn a_static_pool_is_scaled_up_to_its_limit_and_not_beyond() {
    let plane = &published().plane;
    let fixed = |limit: &str| node_pool("asked-fixed", &json!({"replicas": 2, "limits": {"nodes": limit}}));
    let apply = |pool: Value| plane.kubectl(&["apply", "-f", "-"], &pool.to_string()).success();
    let scale = |replicas: &str, args: &[&str]| {
        let scale = ["scale", "nodepool", "asked-fixed", "--replicas", replicas];
        plane.kubectl(&[&scale, args].concat(), "")
    };
    apply(fixed("5"));
    wait_for("the pool to be known", || {
        (!scale("6", &["--dry-run=server"]).status.success()).then_some(())
    });

    let rejected = scale("6", &[]);
    assert!(!rejected.status.success(), "{rejected:?}");
    assert!(
        rejected
            .stderr
            .contains("spec.replicas: replicas must not exceed limits.nodes, which is 5: 6"),
        "{rejected:?}"
    );
    let warned = scale("5", &[]);
    assert!(warned.stderr.contains("Warning: "), "{warned:?}");
    warned.success();
    let passed = scale("4", &[]);
    assert!(
        !passed.stderr.contains("replicas equal limits.nodes"),
        "{passed:?}"
    );
    passed.success();

    apply(fixed("9"));
    wait_for("the new limit to be known", || {
        scale("6", &[]).status.success().then_some(())
    });
}

#[test]
fn a_static_pool_that_the_policy_exempts_by_a_label_is_scaled_beyond_its_limit() {
    let plane = &published().plane;
    let policy = plane.directory().join("scaled.yaml");
    let text = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nexemptions:\n\
                - {labels: {team: data}, rules: [replicas-above-limit]}\n";
    std::fs::write(&policy, text).expect("a policy can be written");
    let flag = format!("--policy={}", policy.display());
    let poolgate = Poolgate::serve_watching(&plane.kubeconfig_by(Account::Server), &[&flag]);
    plane.register_webhooks_for("scaled-", &poolgate.base_url(), &poolgate.ca());
    let scale = |name: &str, replicas: &str| {
        plane.kubectl(
            &[
                "scale",
                "nodepool",
                name,
                "--replicas",
                replicas,
                "--dry-run=server",
            ],
            "",
        )
    };
    for (name, team) in [("scaled-data", "data"), ("scaled-web", "web")] {
        let mut pool = node_pool(name, &json!({"replicas": 2, "limits": {"nodes": "5"}}));
        pool["metadata"]["labels"] = json!({"team": team});
        plane.kubectl(&["apply", "-f", "-"], &pool.to_string()).success();
    }
    wait_for("the pools to be known", || {
        (!scale("scaled-web", "6").status.success()).then_some(())
    });
    scale("scaled-data", "6").success();
}

#[test]
fn a_lowered_limit_is_compared_with_the_nodes_that_the_pool_reports() {
    let plane = &published().plane;
    let client = Client::of(plane);
    let limited = |nodes: &str| node_pool("asked-outgrown", &json!({"limits": {"nodes": nodes}}));
    client.apply_object(&limited("5"));
    client.merge(
        "/apis/karpenter.sh/v1/nodepools/asked-outgrown/status",
        &json!({"status": {"nodes": 2}}),
    );
    let warned = dry_run(plane, &limited("1"));
    let counted = "the pool's status reports 2 nodes, 1 above the limit";
    assert!(
        warned.status.success() && warned.stderr.contains(counted),
        "{warned:?}"
    );
}
