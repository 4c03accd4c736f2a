//! The rights that the manifests give.

use serde_json::json;

use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::program;
use crate::support::readme::block_of;
use crate::support::reconciler::Reconciler;
use crate::support::shell::shell;
use crate::support::wait::wait_for;

const RUNBOOK: &str = include_str!("../../../../docs/RUNBOOK.md");

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

    // What the CronJob runs, by its own account.
    let job = plane.kubectl_json(&["-n", namespace, "get", "cronjob", "poolgate-unhold"], "");
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "poolgate-unhold");
    let args = pod["containers"][0]["args"].as_array().expect("arguments");
    let args = args.iter().map(|arg| arg.as_str().expect("a text"));
    let kubeconfig = format!("--kubeconfig={}", plane.kubeconfig_by(Account::Unhold).display());
    let args: Vec<_> = args.chain([&*kubeconfig]).collect();
    fleet.change_pool("general", &left("1"));
    fleet.wait_until_held("general", &["node-a"]);
    let spared = program::run(&args, "");
    assert!(
        spared.status.success() && spared.stderr.contains("no mark is removed"),
        "{spared:?}"
    );
    reconciler.kill();
    // As it is marked whose replacement was denied.
    let marks = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
        "name": "node-a",
        "labels": {"poolgate.dev/held": "true"},
        "annotations": {"poolgate.dev/held-for": "node-limit,repair", "karpenter.sh/do-not-disrupt": "true", "karpenter.sh/do-not-repair": "true"},
    }});
    let path = "/api/v1/nodes/node-a";
    let account = Client::by(&plane.kubeconfig_by(Account::Reconciler));
    account.apply_by("poolgate", path, &marks.to_string());
    let lease = "/apis/coordination.k8s.io/v1/namespaces/poolgate-ledgers/leases/poolgate-reconciler";
    fleet.client().delete(lease);
    fleet.change_pool("general", &json!({"spec": {"limits": {"nodes": "0"}}}));
    program::run(&args, "").success();
    fleet.wait_until_held("general", &[]);
    let pool = fleet
        .client()
        .get("/apis/karpenter.sh/v1/nodepools/general")
        .expect("a pool");
    assert_eq!(pool["spec"]["limits"]["nodes"], "1");
    let node = fleet.stored_node("node-a");
    assert!(node["metadata"]["annotations"].is_null(), "{node}");
}

/// The verbs on `NodeClaims` that may be missing.
const VERBS: [&str; 3] = ["terminate", "delete", "patch"];

/// Waits until the API server knows that the account has these rights and no others: it learns of roles from watches.
#[track_caller]
fn wait_until_granted(account: &Client, expected: &[&str]) {
    wait_for(&format!("{expected:?} to be granted"), || {
        let granted = VERBS.into_iter().filter(|verb| {
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {"group": "karpenter.sh", "resource": "nodeclaims", "verb": verb}},
            });
            let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
            account.create(path, &review)["status"]["allowed"] == true
        });
        (granted.collect::<Vec<_>>() == expected).then_some(())
    });
}

/// Waits until the log says of these rights, and of no others, that they are missing, of each once.
#[track_caller]
fn wait_until_missed(reconciler: &Reconciler, expected: &[&str]) {
    wait_for(&format!("the log to miss {expected:?}"), || {
        let log = reconciler.log();
        let said = |verb: &&str| {
            log.matches(&format!("missing RBAC: {verb} on nodeclaims"))
                .count()
        };
        let counts: Vec<_> = VERBS.iter().map(said).collect();
        let expected = VERBS.map(|verb| usize::from(expected.contains(&verb)));
        (counts == expected).then_some(())
    });
}

#[test]
fn without_a_right_everything_else_goes_on_and_the_log_says_what_is_missing() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    let kubeconfig = plane.kubeconfig_by(Account::Reconciler);
    let account = Client::by(&kubeconfig);
    let directory = tempfile::tempdir().expect("a directory");
    let take_away = || {
        let line = block_of(RUNBOOK, "sh", "kubectl delete clusterrolebinding").trim();
        shell(directory.path(), Some(plane.kubeconfig()), line).success();
        wait_until_granted(&account, &[]);
    };
    let start = || Reconciler::start(&kubeconfig, &["--settle=1s"]);

    take_away();
    fleet.pool("general", 1, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.busy("general", "node-a");
    fleet.empty("general", "node-b");
    let mut reconciler = start();
    let message = wait_for("an event", || {
        let mut events = fleet.events("general").into_iter();
        events.find_map(|(reason, message, _)| (reason == "NodeLimitExceeded").then_some(message))
    });
    assert!(
        message
            .starts_with("1 node above the limit of 1; none is terminated although over-limit is terminate:"),
        "{message}"
    );
    fleet.wait_until_held("general", &["node-a"]);
    wait_until_missed(&reconciler, &VERBS);
    assert_eq!(fleet.living_claims("general").len(), 2);
    // It has asked whether it may, and has not tried.
    assert!(!reconciler.log().contains("forbidden"), "{}", reconciler.log());
    reconciler.terminate();

    // What is granted by default does not let it terminate.
    plane.install_those(|name| name.ends_with(" poolgate-reconciler-repair"));
    wait_until_granted(&account, &["delete", "patch"]);
    let mut reconciler = start();
    wait_until_missed(&reconciler, &["terminate"]);
    fleet.wait_until_held("general", &["node-a"]);
    assert_eq!(fleet.living_claims("general").len(), 2);
    assert!(
        !reconciler.log().contains("denied request"),
        "{}",
        reconciler.log()
    );
    reconciler.terminate();

    take_away();
    plane.install_those(|name| name.ends_with(" poolgate-reconciler-terminate"));
    wait_until_granted(&account, &["terminate", "delete"]);
    let mut reconciler = start();
    wait_until_missed(&reconciler, &["patch"]);
    wait_for("the empty node to go", || {
        (fleet.living_claims("general") == ["node-a"]).then_some(())
    });
    reconciler.terminate();

    take_away();
    give_all_verbs(&fleet);
    wait_until_granted(&account, &VERBS);
    fleet.empty("general", "node-c");
    let reconciler = start();
    wait_for("the empty node to go", || {
        (fleet.living_claims("general") == ["node-a"]).then_some(())
    });
    wait_until_missed(&reconciler, &[]);
}

/// Lets the reconciler do anything to `NodeClaims`: a wildcard means poolgate's own verb, too.
fn give_all_verbs(fleet: &Fleet) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let metadata = json!({"name": "all-verbs"});
    let allowed = json!({"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["*"]});
    let role = json!({"metadata": metadata, "rules": [allowed]});
    fleet.client().create(&format!("{rbac}/clusterroles"), &role);
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all-verbs"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "poolgate-system", "name": "poolgate-reconciler"}],
    });
    fleet
        .client()
        .create(&format!("{rbac}/clusterrolebindings"), &binding);
}
