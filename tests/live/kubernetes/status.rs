//! `poolgate status` on a real API server: what it says is proved by answers, not by what should be.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::certificates::{Installed, Kubelet, MUTATING, VALIDATING};
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, V1_AND_V1BETA1};
use crate::support::files::directory;
use crate::support::fleet::Fleet;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::program;
use crate::support::readme::block_of;
use crate::support::reconciler::{LEDGERS, Reconciler};
use crate::support::relay::Relay;
use crate::support::running::Running;
use crate::support::schemas::assert_described;
use crate::support::shell::shell;
use crate::support::wait::wait_for;

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/poolgate-system/deployments";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const JOB: &str = "/apis/batch/v1/namespaces/poolgate-system/jobs/poolgate-status";
const PAGE: &str = include_str!("../../../docs/status.md");
const POLICY: &str = "/api/v1/namespaces/poolgate-system/configmaps/poolgate-policy";
const RUNBOOK: &str = include_str!("../../../docs/RUNBOOK.md");

/// What the command says, as an administrator.
fn status(installed: &Installed, arguments: &[&str]) -> Outcome {
    status_by(installed.plane.kubeconfig(), arguments)
}

/// What it says to whoever has a kubeconfig.
fn status_by(kubeconfig: &Path, arguments: &[&str]) -> Outcome {
    run_by(kubeconfig, &[&["status"], arguments].concat())
}

fn run_by(kubeconfig: &Path, arguments: &[&str]) -> Outcome {
    let kubeconfig = kubeconfig.to_str().expect("a path");
    program::run(&[arguments, &["--kubeconfig", kubeconfig]].concat(), "")
}

/// What it says to an administrator as JSON, with the exit code.
fn report(installed: &Installed, arguments: &[&str]) -> (Option<i32>, Value) {
    report_by(installed.plane.kubeconfig(), arguments)
}

/// The same to whoever has a kubeconfig.
fn report_by(kubeconfig: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    json_by(kubeconfig, &[&["status"], arguments].concat())
}

fn json_by(kubeconfig: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let said = run_by(kubeconfig, &[arguments, &["--output=json"]].concat());
    let report = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_described(&report);
    (said.status.code(), report)
}

/// Whether each webhook answers, by its path.
fn answers(report: &Value) -> Vec<(&str, Option<bool>)> {
    let webhooks = report["webhooks"].as_array().expect("webhooks");
    webhooks
        .iter()
        .map(|webhook| {
            let path = webhook["path"].as_str().expect("a path");
            (path, webhook["answers"].as_bool())
        })
        .collect()
}

/// What is said of a pool.
fn pool<'r>(report: &'r Value, name: &str) -> &'r Value {
    let pools = report["nodePools"].as_array().expect("pools");
    pools.iter().find(|pool| pool["name"] == name).expect(name)
}

/// A cluster with poolgate in it, whose webhooks are called at the relays; drops in the order of its fields.
struct Served {
    servers: [Poolgate; 2],
    relays: [Relay; 2],
    _kubelet: Kubelet,
    _keeper: Running,
    installed: Installed,
}

impl Served {
    /// A server and a gate, with the policy that is stored; no webhook reaches them yet.
    fn start() -> Self {
        let installed = Installed::new();
        let mut keeper = installed.keeper(&[]);
        keeper.wait_until_ready();
        let kubelet = Kubelet::start(&installed, Duration::ZERO);
        let account = |name| installed.plane.kubeconfig_of("poolgate-system", name);
        let policy = installed.client.get(POLICY).expect("a policy")["data"]["policy.yaml"].clone();
        let file = installed.plane.directory().join("policy.yaml");
        fs::write(&file, policy.as_str().expect("a text")).expect("a file");
        let policy = format!("--policy={}", file.display());
        let servers = [
            kubelet.server(&account("poolgate"), &[&policy]),
            kubelet.gate(&account("poolgate-gate"), &[LEDGERS]),
        ];
        let relays = [Relay::start(), Relay::start()];
        installed.call(&relays);
        set_ready(&installed, 1);
        Self {
            servers,
            relays,
            _kubelet: kubelet,
            _keeper: keeper,
            installed,
        }
    }

    /// Lets the API server reach them.
    fn open(&self) {
        for (relay, server) in self.relays.iter().zip(&self.servers) {
            relay.set_targets(vec![server.admission()]);
        }
        wait_for("all to answer", || {
            (answers(&report(&self.installed, &["--probe"]).1) == all(Some(true))).then_some(())
        });
    }
}

/// What a controller reports of the pods of all Deployments.
fn set_ready(installed: &Installed, ready: u32) {
    let status = json!({"status": {"replicas": 2, "readyReplicas": ready}});
    for deployment in installed.client.list(DEPLOYMENTS) {
        let name = deployment["metadata"]["name"].as_str().expect("a name");
        installed
            .client
            .merge(&format!("{DEPLOYMENTS}/{name}/status"), &status);
    }
}

/// The same of all webhooks. A dry run calls neither the one of deletions nor that of strict pools, because no pool is strict.
fn all(answer: Option<bool>) -> [(&'static str, Option<bool>); 5] {
    [
        ("/mutate", answer),
        ("/validate", answer),
        ("/validate/delete", None),
        ("/gate", answer),
        ("/gate/strict", None),
    ]
}

#[test]
fn status_reports_which_webhooks_answer_by_asking_them() {
    let served = Served::start();
    let installed = &served.installed;
    let (code, nobody) = report(installed, &["--probe"]);
    assert_eq!(code, Some(1), "{nobody:#}");
    let mutate = &nobody["webhooks"][0];
    assert_eq!(mutate["answers"], json!(false), "{nobody:#}");
    let why = mutate["why"].as_str().unwrap_or_default();
    assert!(why.contains("failed to call webhook"), "{mutate:#}");

    served.open();
    let before = installed.client.list(CLAIMS).len();
    let (code, well) = report(installed, &["--probe"]);
    assert_eq!(code, Some(0), "{well:#}");
    assert_eq!(installed.client.list(CLAIMS).len(), before, "nothing is stored");
    let checksum = &well["policy"]["stored"];
    assert_eq!(well["policy"]["inForce"], json!([checksum]), "{well:#}");
    assert_eq!(well["policy"]["enforcement"], "enforce");
    for webhook in well["webhooks"].as_array().expect("webhooks") {
        assert!(webhook["authorityEnds"].is_string(), "{webhook:#}");
        let is_asked = webhook["answers"] == true;
        assert_eq!(webhook["certificateEnds"].is_string(), is_asked, "{webhook:#}");
    }

    // Dead servers whose failures are ignored: nothing else would report it.
    for configuration in [
        (MUTATING, "poolgate"),
        (VALIDATING, "poolgate"),
        (VALIDATING, "poolgate-gate"),
    ] {
        let mut ignoring = installed.configuration(configuration);
        ignoring["webhooks"][0]["failurePolicy"] = json!("Ignore");
        let (path, name) = configuration;
        installed.client.replace(&format!("{path}/{name}"), &ignoring);
    }
    for server in &served.servers {
        server.signal("KILL");
    }
    let (code, ignored) = wait_for("the failures to be ignored", || {
        let (code, report) = report(installed, &["--probe"]);
        (answers(&report) == all(Some(false))).then_some((code, report))
    });
    assert_eq!(code, Some(1), "{ignored:#}");
    // Without a probe nothing is known of answers, but of pods that are not ready.
    set_ready(installed, 0);
    let (code, unasked) = report(installed, &[]);
    assert_eq!(
        (code, answers(&unasked)),
        (Some(1), all(None).to_vec()),
        "{unasked:#}"
    );
    let problems = unasked["problems"].to_string();
    assert!(
        problems.contains("Deployment poolgate: 0 of 2 pods"),
        "{problems}"
    );
}

#[test]
fn status_reports_how_full_a_pool_is_and_why() {
    let served = Served::start();
    let installed = &served.installed;
    served.open();
    // Two nodes, one of them on its way out, and a third that is denied.
    let mut fleet = Fleet::of(&installed.plane);
    fleet.pool("general", 2, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.busy("general", "node-a");
    fleet.claim(
        "general",
        "node-b",
        &json!({"finalizers": ["example.com/drains"]}),
    );
    fleet.node("general", "node-b");
    installed.client.delete(&format!("{CLAIMS}/node-b"));
    let denied = installed
        .client
        .try_create(CLAIMS, &node_claim("general-x", "general"))
        .expect_err("a denial");
    assert!(
        denied.to_string().contains("is at its node limit of 2"),
        "{denied}"
    );
    let account = installed
        .plane
        .kubeconfig_of("poolgate-system", "poolgate-reconciler");
    let _reconciler = Reconciler::start(&account, &[LEDGERS, "--settle=1h"]);
    fleet.wait_until_held("general", &["node-a"]);
    wait_for("an event", || {
        (!installed.client.list(EVENTS).is_empty()).then_some(())
    });
    let full = wait_for("the denial to be stored", || {
        let (_, report) = report(installed, &["--probe"]);
        let is_stored = pool(&report, "general")["denied"].is_object();
        if !is_stored {
            // If it took too long to store, it is stored with the next one.
            installed
                .client
                .try_create(CLAIMS, &node_claim("general-x", "general"))
                .expect_err("a denial");
        }
        is_stored.then_some(report)
    });
    let general = pool(&full, "general");
    assert_eq!(
        general["limit"],
        json!({
            "nodes": 2, "mode": "Hard", "modeIsWritten": false, "taken": 2, "free": 0, "excess": 0,
            "overLimit": "terminate", "scheduled": null,
        })
    );
    assert_eq!(
        (&general["nodeClaims"], &general["heldNodes"], &general["next"]),
        (&json!(2), &json!(1), &json!("denied")),
        "{general:#}"
    );
    assert_eq!(general["denied"]["lastClaim"], "general-x", "{general:#}");
    let notes = general["notes"].to_string();
    for said in ["1 terminating, oldest node-b since", "DisruptionBlocked"] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    assert_eq!(full["reconciler"]["leads"], json!(true), "{full:#}");

    let table = status(installed, &["--probe"]).stdout;
    let row: Vec<&str> = table
        .lines()
        .find(|line| line.starts_with("general "))
        .expect("a row")
        .split_whitespace()
        .collect();
    assert_eq!(row[..5], ["general", "2/2", "Hard", "0", "1"], "{table}");
    assert_eq!(row.last(), Some(&"denied"), "{table}");
    let reported = |what: &str| table.lines().any(|line| line.starts_with(what));
    assert!(
        reported("  general: 1 terminating, oldest node-b since 20"),
        "{table}"
    );
    assert!(reported("gate.nodeclaims.poolgate.dev "), "{table}");
}

/// The account of somebody on call, to which the commands of docs/status.md give the rights.
const VIEWER: (&str, &str) = ("default", "on-call");

#[test]
fn the_role_that_is_shipped_shows_all_that_is_stored_and_probes_nothing() {
    let served = Served::start();
    let installed = &served.installed;
    served.open();
    let mut fleet = Fleet::of(&installed.plane);
    fleet.pool("general", 2, &json!({}));
    fleet.busy("general", "node-a");
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    installed
        .client
        .create(accounts, &json!({"metadata": {"name": "on-call"}}));
    let viewer = installed.plane.kubeconfig_of(VIEWER.0, VIEWER.1);
    // A user whom nobody gave anything.
    let (code, nothing) = report_by(&viewer, &[]);
    assert_eq!(code, Some(2), "{nothing:#}");
    let table = status_by(&viewer, &[]).stdout;
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");

    let bindings = block_of(PAGE, "sh", "kubectl create clusterrolebinding poolgate-status");
    // Here no controller manager adds up the rules of `view`.
    let bindings = bindings
        .replace("--group=on-call", "--serviceaccount=default:on-call")
        .replace("=view ", "=system:aggregate-to-view ");
    shell(
        directory(&[]).path(),
        Some(installed.plane.kubeconfig()),
        &bindings,
    )
    .success();
    let (code, all) = wait_for("the rights to be in force", || {
        let (code, report) = report_by(&viewer, &[]);
        (report["unread"] == json!([])).then_some((code, report))
    });
    assert_eq!(code, Some(0), "{all:#}");
    assert_eq!(answers(&all), self::all(None));
    assert_eq!(pool(&all, "general")["limit"]["free"], json!(1), "{all:#}");
    assert_eq!(pool(&all, "general")["heldNodes"], json!(0), "{all:#}");
    let webhooks = all["webhooks"].as_array().expect("webhooks");
    assert!(
        webhooks
            .iter()
            .all(|webhook| webhook["authorityEnds"].is_string()),
        "{all:#}"
    );
    assert!(all["policy"]["stored"].is_string(), "{all:#}");

    let (code, why) = json_by(&viewer, &["why", "node", "node-a"]);
    assert_eq!((code, &why["unread"]), (Some(0), &json!([])), "{why:#}");
    assert_eq!(why["nodes"][0]["wanted"][0]["reason"], "Drifted", "{why:#}");

    // The same rights are enough for a rollout. Nothing here writes Karpenter's hashes.
    let (code, said) = json_by(&viewer, &["rollout"]);
    assert_eq!((code, &said["unread"]), (Some(1), &json!([])), "{said:#}");
    assert_eq!(said["nodePools"][0]["nodes"], 1, "{said:#}");

    let gone = run_by(&viewer, &["why", "node", "node-x"]);
    assert!(gone.stderr.contains("does not exist (any more)"), "{gone:?}");

    let probed = status_by(&viewer, &["--probe"]);
    assert_eq!(probed.status.code(), Some(2), "{probed:?}");
    let words: Vec<&str> = probed.stdout.split_whitespace().collect();
    assert!(
        words.join(" ").contains("cannot create resource \"nodepools\""),
        "{}",
        probed.stdout
    );
}

#[test]
fn status_in_a_pod_reads_everything_with_the_bindings_of_the_runbook() {
    let served = Served::start();
    let installed = &served.installed;
    served.open();
    let (_, section) = RUNBOOK
        .split_once("\n## Run `poolgate status` in the cluster\n")
        .expect("the section");
    for (account, start) in [
        (
            "poolgate-reconciler",
            "kubectl create clusterrolebinding poolgate-status-in-pod ",
        ),
        (
            "poolgate-unhold",
            "kubectl create clusterrolebinding poolgate-status-in-job ",
        ),
    ] {
        let commands = block_of(section, "sh", start);
        // Here no kubelet runs anything in a pod, and no controller manager adds up the rules of `view`.
        let commands: Vec<String> = commands
            .lines()
            .filter(|line| !line.contains(" exec ") && !line.contains(" logs "))
            .map(|line| line.replace("=view ", "=system:aggregate-to-view "))
            .collect();
        shell(
            directory(&[]).path(),
            Some(installed.plane.kubeconfig()),
            &commands.join("\n"),
        )
        .success();
        let account = installed.plane.kubeconfig_of("poolgate-system", account);
        let (code, all) = wait_for("the rights to be in force", || {
            let (code, report) = report_by(&account, &[]);
            (report["unread"] == json!([])).then_some((code, report))
        });
        assert_eq!(code, Some(0), "{all:#}");
    }
    let job = installed.client.get(JOB).expect("the Job");
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "poolgate-unhold");
    assert_eq!(pod["containers"][0]["args"], json!(["status"]));
    let clean_up = block_of(section, "sh", "kubectl -n poolgate-system delete job ");
    shell(
        directory(&[]).path(),
        Some(installed.plane.kubeconfig()),
        clean_up,
    )
    .success();
    assert_eq!(installed.client.get(JOB), None);
}

#[test]
fn a_step_of_karpenter_is_told_of_the_pools_of_a_cluster_from_its_installed_release() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1_AND_V1BETA1);
    let kubeconfig = plane.kubeconfig().to_str().expect("a path");
    let upgrade = |arguments: &[&str]| {
        program::run(
            &[&["upgrade", "--cluster", "--kubeconfig", kubeconfig], arguments].concat(),
            "",
        )
    };
    let pool = node_pool(
        "general",
        &json!({"disruption": {"consolidateAfter": "5m", "budgets": [{"nodes": "10%"}]}}),
    );
    Client::of(&plane).create("/apis/karpenter.sh/v1/nodepools", &pool);
    let told = upgrade(&["--to=1.15", "-o=json"]);
    let report: Value =
        serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    assert_eq!(
        (told.status.code(), &report["from"]),
        (Some(0), &json!("1.0.8")),
        "{report:#}"
    );
    let changes = report["nodePools"][0]["changes"].as_array().expect("changes");
    let named: Vec<&str> = changes
        .iter()
        .filter_map(|change| change["change"].as_str())
        .collect();
    assert!(named.contains(&"receiving-nodes-protected"), "{named:?}");
    assert_eq!(upgrade(&["--to=1.15", "--exit-code"]).status.code(), Some(1));
    let older = upgrade(&["--to=1.0"]);
    assert!(older.stderr.contains("is not older than --to"), "{older:?}");
}

#[test]
fn the_facts_of_a_cluster_are_written_as_the_policy_declares_them() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    let client = Client::of(&plane);
    let pod = json!({
        "metadata": {"labels": {"app": "karpenter"}},
        "spec": {"containers": [{
            "name": "controller",
            "image": "karpenter",
            "env": [{"name": "FEATURE_GATES", "value": "NodeRepair=true,StaticCapacity=false,SpotToSpotConsolidation=true"}],
        }]},
    });
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "karpenter",
            "labels": {"app.kubernetes.io/name": "karpenter", "app.kubernetes.io/version": "1.15.3"},
        },
        "spec": {"selector": {"matchLabels": {"app": "karpenter"}}, "template": pod},
    });
    client.create("/apis/apps/v1/namespaces/default/deployments", &deployment);
    let pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"template": {"spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": [],
        }}},
    });
    client.create("/apis/karpenter.sh/v1/nodepools", &pool);
    let kubeconfig = plane.kubeconfig().to_str().expect("a path");
    let written = program::run(&["status", "--print-facts", "--kubeconfig", kubeconfig], "");
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    assert_eq!(
        written.stdout,
        "cluster:\n  karpenter: 1.15.3\n  provider: aws\n  providerVersion: 1.15.3\n  featureGates:\n    NodeRepair: true\n    SpotToSpotConsolidation: true\n    StaticCapacity: false\n  webhook: none\n"
    );
}
