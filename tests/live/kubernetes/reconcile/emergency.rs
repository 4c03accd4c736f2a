//! How poolgate is taken out, with it and without it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::files::directory;
use crate::support::fleet::Fleet;
use crate::support::process::Process;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

pub(crate) const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/poolgate-ledgers/leases/poolgate-reconciler";

const RUNBOOK: &str = include_str!("../../../../docs/RUNBOOK.md");

/// The lines by which marks are taken off by hand, as they are documented.
fn documented_lines() -> Vec<Vec<&'static str>> {
    let lines = RUNBOOK
        .lines()
        .filter(|line| line.contains("-l poolgate.dev/held "));
    lines
        .map(|line| {
            line.strip_prefix("kubectl ")
                .expect("a kubectl line")
                .split(' ')
                .collect()
        })
        .collect()
}

/// Only the user's own mark, on `node-c`, is left.
fn expect_only_the_users(fleet: &mut Fleet) {
    assert!(fleet.held("general").is_empty());
    for (node, mark) in [
        ("node-a", json!(null)),
        ("node-b", json!(null)),
        ("node-c", json!("true")),
    ] {
        let stored = fleet.stored_node(node);
        assert_eq!(
            stored["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"], mark,
            "{node}"
        );
    }
}

/// Three nodes at a limit of three; a user has closed `node-c`.
fn full_pool(plane: &ControlPlane) -> Fleet {
    let mut fleet = Fleet::in_cluster(plane);
    fleet.pool("general", 3, &json!({}));
    for node in ["node-a", "node-b", "node-c"] {
        fleet.busy("general", node);
    }
    let users = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}});
    fleet.change_node("node-c", &users);
    fleet
}

/// Lets a reconciler hold the nodes, and go.
fn hold_all(account: &Path, fleet: &mut Fleet) {
    let mut reconciler = Reconciler::start(account, &[]);
    fleet.wait_until_held("general", &["node-a", "node-b"]);
    assert!(reconciler.terminate().success(), "{}", reconciler.log());
}

/// Takes off what has expired. What it logged.
fn expire(account: &Path) -> String {
    let expired = Reconciler::unhold_all(account, &["--if-lease-older-than=15m"]);
    assert!(expired.status.success(), "{expired:?}");
    expired.stderr
}

/// A renewal so many minutes ago, by a holder that promises to renew within so many seconds.
fn renewed(minutes: i64, promised: u32) -> Value {
    let at = Timestamp::now() - SignedDuration::from_mins(minutes);
    json!({"spec": {"holderIdentity": "gone", "leaseDurationSeconds": promised, "renewTime": format!("{at:.6}")}})
}

#[test]
fn marks_expire_with_the_lease_and_not_before() {
    let plane = ControlPlane::start();
    let mut fleet = full_pool(&plane);
    let account = plane.kubeconfig_by(Account::Reconciler);
    hold_all(&account, &mut fleet);
    for minutes in [14, 0] {
        fleet.client().merge(LEASE, &renewed(minutes, 1));
        assert!(
            expire(&account).contains("no mark is removed"),
            "{minutes} minutes ago"
        );
        assert_eq!(fleet.held("general"), ["node-a", "node-b"]);
    }
    // A holder that renews is there, whatever its clock says.
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let client = fleet.client();
        client.merge(LEASE, &renewed(100, 5));
        scope.spawn(|| {
            while !done.load(Relaxed) {
                client.merge(LEASE, &renewed(100, 5));
                thread::sleep(Duration::from_millis(100));
            }
        });
        let said = expire(&account);
        done.store(true, Relaxed);
        assert!(said.contains("no mark is removed"), "{said}");
    });
    assert_eq!(fleet.held("general"), ["node-a", "node-b"]);

    // A holder that is gone is gone, too, if its clock was an hour ahead.
    for minutes in [16, -60] {
        fleet.client().merge(LEASE, &renewed(minutes, 1));
        assert!(expire(&account).contains("nodes=2"), "{minutes} minutes ago");
        expect_only_the_users(&mut fleet);
        hold_all(&account, &mut fleet);
    }

    fleet.client().delete(LEASE);
    assert!(expire(&account).contains("nodes=2"));
    expect_only_the_users(&mut fleet);
}

#[test]
fn marks_are_taken_off_by_hand_or_by_one_command_and_stay_off() {
    let plane = ControlPlane::start();
    let mut fleet = full_pool(&plane);
    let account = plane.kubeconfig_by(Account::Reconciler);
    hold_all(&account, &mut fleet);
    // Without poolgate nothing changes.
    assert_eq!(fleet.held("general"), ["node-a", "node-b"]);
    let lines = documented_lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        plane.kubectl(&line, "").success();
    }
    expect_only_the_users(&mut fleet);

    hold_all(&account, &mut fleet);
    let left = json!({"metadata": {"annotations": {"poolgate.dev/node-limit": "7"}}});
    fleet.change_pool("general", &left);
    let released = Reconciler::unhold_all(&account, &[]);
    assert!(released.status.success(), "{released:?}");
    assert!(released.stderr.contains("nodes=2"), "{released:?}");
    assert!(released.stderr.contains("limits=1"), "{released:?}");
    let pool = fleet.client().get("/apis/karpenter.sh/v1/nodepools/general");
    assert_eq!(pool.expect("a pool")["spec"]["limits"]["nodes"], "7");
    expect_only_the_users(&mut fleet);
}

/// A pod of the reconciler that no kubelet runs.
fn pod(name: &str, arguments: &[&str]) -> Value {
    let labels =
        json!({"app.kubernetes.io/part-of": "poolgate", "app.kubernetes.io/component": "reconciler"});
    let security = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let container =
        json!({"name": "poolgate", "image": "poolgate", "args": arguments, "securityContext": security});
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "poolgate-system", "labels": labels},
        "spec": {
            "serviceAccountName": "poolgate-reconciler",
            "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
        },
    })
}

#[test]
fn the_command_waits_for_reconcilers_that_write_and_names_the_one_that_stays() {
    const PODS: &str = "/api/v1/namespaces/poolgate-system/pods";
    let plane = ControlPlane::start();
    let mut fleet = full_pool(&plane);
    let account = plane.kubeconfig_by(Account::Reconciler);
    let create = |name: &str, arguments: &[&str]| {
        Client::of(&plane).create(PODS, &pod(name, arguments));
    };
    create("poolgate-reconciler-new", &["reconcile", "--observe"]);
    create("poolgate-reconciler-old", &["reconcile"]);
    hold_all(&account, &mut fleet);
    let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate"));
    command.args(["reconcile", "--unhold-all", "--namespace=poolgate-system"]);
    command.arg("--kubeconfig").arg(&account);
    let directory = directory(&[]);
    let mut waits = Process::start("poolgate", &command, directory.path());
    wait_for("the command to wait", || {
        let said = waits.log();
        assert!(!said.contains("nodes="), "{said}");
        said.contains("pod=poolgate-system/poolgate-reconciler-old")
            .then_some(())
    });
    Client::of(&plane).delete(&format!("{PODS}/poolgate-reconciler-old"));
    assert!(waits.wait_for_exit().success(), "{}", waits.log());
    assert!(waits.log().contains("nodes=2"), "{}", waits.log());
    expect_only_the_users(&mut fleet);

    hold_all(&account, &mut fleet);
    create("poolgate-reconciler-old", &["reconcile"]);
    let stays = Reconciler::unhold_all(&account, &[]);
    assert!(
        !stays.status.success()
            && stays
                .stderr
                .contains("pod poolgate-system/poolgate-reconciler-old still runs without --observe"),
        "{stays:?}"
    );
    assert_eq!(fleet.held("general"), ["node-a", "node-b"]);

    // One that runs elsewhere.
    Client::of(&plane).delete(&format!("{PODS}/poolgate-reconciler-old"));
    let mut elsewhere = Reconciler::start(&account, &["--lease-duration=3s"]);
    wait_for("a leader", || elsewhere.leads().then_some(()));
    let stays = Reconciler::unhold_all(&account, &[]);
    assert!(
        !stays.status.success() && stays.stderr.contains("still renews the Lease"),
        "{stays:?}"
    );
    assert!(elsewhere.terminate().success());
}
