//! `--observe`: all of it but the writing.

use serde_json::json;

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

#[test]
fn who_observes_writes_nothing_and_tells_what_it_would() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    for node in ["node-a", "node-b", "node-c"] {
        fleet.busy("general", node);
    }
    fleet.pool("general", 2, &json!({"poolgate.dev/over-limit": "Terminate"}));
    let kinds = "nodes,nodeclaims,nodepools,pods,leases,configmaps,events";
    let everything = || {
        let list = plane.kubectl_json(&["get", kinds, "--all-namespaces"], "");
        let items = list["items"].as_array().expect("objects").clone();
        let of_ours = items.into_iter().filter(|item| {
            // The API server has a lease and an identity of its own.
            let name = item["metadata"]["name"].as_str().unwrap_or_default();
            item["metadata"]["namespace"] != "kube-system"
                && name != "elsewhere"
                && item["data"]["nodepool"] != "elsewhere"
        });
        let mut versions: Vec<String> = of_ours
            .map(|item| {
                format!(
                    "{} {} {}",
                    item["kind"], item["metadata"]["name"], item["metadata"]["resourceVersion"]
                )
            })
            .collect();
        versions.sort();
        versions
    };
    let before = everything();
    let reconciler = Reconciler::start(
        &plane.kubeconfig_by(Account::Reconciler),
        &["--observe", "--settle=0s"],
    );
    for line in [
        "would write",
        "would publish an event",
        "would list victims for termination",
    ] {
        wait_for(line, || reconciler.log().contains(line).then_some(()));
    }
    let excess = "poolgate_nodepool_excess_nodes{nodepool=\"general\"}";
    assert_eq!(reconciler.metric(excess), Some(1.0));
    // It has gone on to another pool, after all that it might have written for the first.
    fleet.pool("elsewhere", 0, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.unlaunched("elsewhere", "elsewhere", &json!({}));
    wait_for("a plan for another pool", || {
        let log = reconciler.log();
        let mut lines = log.lines();
        lines
            .any(|line| {
                line.contains("would list victims for termination")
                    && line.contains(r#""nodepool":"elsewhere""#)
            })
            .then_some(())
    });
    assert_eq!(everything(), before);
}
