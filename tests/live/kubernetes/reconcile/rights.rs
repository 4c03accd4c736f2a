//! The rights that the manifests give.

use serde_json::json;

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::program;
use crate::support::readme::block_of;
use crate::support::reconciler::Reconciler;
use crate::support::shell::shell;
use crate::support::wait::wait_for;

const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

#[test]
fn the_rights_of_the_manifests_are_enough() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    let kubeconfig = plane.kubeconfig_by(Account::Reconciler);
    let namespace = "poolgate-system";

    fleet.pool("general", 1, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.busy("general", "node-a");
    fleet.empty("general", "node-b");
    let reconciler = Reconciler::start(&kubeconfig, &["--settle=1s"]);
    wait_for("the empty node to go", || {
        (fleet.living_claims("general") == ["node-a"]).then_some(())
    });
    fleet.wait_until_held("general", &["node-a"]);
    wait_for("an event", || (!fleet.events("general").is_empty()).then_some(()));
    let left = |limit: &str| json!({"metadata": {"annotations": {"poolgate.dev/node-limit": limit}}});
    fleet.change_pool("general", &left("5"));
    fleet.wait_until_held("general", &[]);
    wait_for("the limit in the spec to follow the annotation", || {
        let pool = fleet.client().get("/apis/karpenter.sh/v1/nodepools/general")?;
        (pool["spec"]["limits"]["nodes"] == "5").then_some(())
    });
    for denial in ["forbidden", "denied request"] {
        assert!(!reconciler.log().contains(denial), "{}", reconciler.log());
    }

    // What the CronJob runs, by the same account.
    let job = plane.kubectl_json(&["-n", namespace, "get", "cronjob", "poolgate-unhold"], "");
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "poolgate-reconciler");
    let args = pod["containers"][0]["args"].as_array().expect("arguments");
    let args = args.iter().map(|arg| arg.as_str().expect("a text"));
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let args: Vec<_> = args.chain([&*kubeconfig]).collect();
    fleet.change_pool("general", &left("1"));
    fleet.wait_until_held("general", &["node-a"]);
    let spared = program::run(&args, "");
    assert!(
        spared.status.success() && spared.stderr.contains("no mark is removed"),
        "{spared:?}"
    );
    reconciler.kill();
    let lease = "/apis/coordination.k8s.io/v1/namespaces/poolgate-ledgers/leases/poolgate-reconciler";
    fleet.client().delete(lease);
    program::run(&args, "").success();
    fleet.wait_until_held("general", &[]);
}

#[test]
fn without_the_right_to_delete_everything_else_goes_on() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    let kubeconfig = plane.kubeconfig_by(Account::Reconciler);
    let line = block_of(OPERATIONS, "console", "kubectl delete clusterrolebinding").trim();
    let directory = tempfile::tempdir().expect("a directory");
    shell(directory.path(), Some(plane.kubeconfig()), line).success();

    fleet.pool("general", 1, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.busy("general", "node-a");
    fleet.empty("general", "node-b");
    let reconciler = Reconciler::start(&kubeconfig, &["--settle=1s"]);
    let message = wait_for("an event", || {
        let mut events = fleet.events("general").into_iter();
        events.find_map(|(reason, message, _)| (reason == "NodeLimitExceeded").then_some(message))
    });
    assert!(
        message
            .starts_with("1 node above the limit of 1; none is terminated, though over-limit is terminate:"),
        "{message}"
    );
    fleet.wait_until_held("general", &["node-a"]);
    assert_eq!(fleet.living_claims("general").len(), 2);
    // It has asked whether it may, and has not tried.
    assert!(!reconciler.log().contains("forbidden"), "{}", reconciler.log());
    reconciler.kill();

    plane.install_accounts();
    let _reconciler = Reconciler::start(&kubeconfig, &["--settle=1s"]);
    wait_for("the empty node to go", || {
        (fleet.living_claims("general") == ["node-a"]).then_some(())
    });
}
