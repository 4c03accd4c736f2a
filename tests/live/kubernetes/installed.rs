//! poolgate as a stranger installs it: the commands of the documentation, nothing but the objects and rights that are
//! shipped, and processes that are started as the manifests say. What stands for the Service, the kubelet and the image is
//! in `support`.

use std::thread;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::full::full;
use crate::support::kubelet::{Pod, run_pod};
use crate::support::nodepool::node_pool;
use crate::support::process::Outcome;
use crate::support::program;
use crate::support::readme::{block, block_of};
use crate::support::rendered::rendered;
use crate::support::services::Services;
use crate::support::shell::{shell, workplace};
use crate::support::wait::wait_for;

const FIRST_WEEK: &str = include_str!("../../../docs/first-week.md");
const INSTALL: &str = include_str!("../../../docs/install.md");
const RUNBOOK: &str = include_str!("../../../docs/RUNBOOK.md");
const UPGRADE: &str = include_str!("../../../docs/upgrade.md");
const NAMESPACE: &str = "poolgate-system";
const TEST: &str = "/api/v1/namespaces/poolgate-system/pods/poolgate-test";

/// What the mistake in `docs/examples/frozen.yaml` is called.
const RULE: &str = "[schedule-never-fires]";

/// The warning that the first week shows, as far as it shows it.
fn shown_warning() -> &'static str {
    let (shown, _) = block_of(FIRST_WEEK, "", "Warning: ")
        .split_once('…')
        .expect("an ellipsis");
    shown.trim_end()
}

fn lines(block: &str) -> Vec<String> {
    block.lines().map(str::to_owned).collect()
}

/// Runs the lines of a quick start: the first dry run warns, the second one denies. How many commands it took to see each.
fn follow(plane: &ControlPlane, services: &Services, lines: &[String]) -> (usize, usize, Pod) {
    let clone = workplace();
    let run = |line: &str| shell(clone.path(), Some(plane.kubeconfig()), line);
    let (mut pod, mut keeper, mut seen) = (None, None, Vec::new());
    for (number, line) in lines.iter().enumerate() {
        // No controller says here that pods are ready: the first warning does.
        if line.contains(" rollout status ") {
            continue;
        }
        if line.contains("--dry-run=server") {
            let is_first = seen.is_empty();
            wait_for("the verdict", || {
                let answer = run(line);
                let expected = if is_first { shown_warning() } else { RULE };
                let said = answer.stderr.contains(expected) && answer.status.success() == is_first;
                assert!(answer.status.success() || !is_first, "{answer:?}");
                (said && answer.stderr.contains("Warning: ") == is_first).then_some(())
            });
            seen.push(number + 1);
            continue;
        }
        run(line).success();
        if pod.is_none() {
            // What a kubelet would start: first what the servers' Secret waits for.
            keeper = Some(Pod::start(plane, NAMESPACE, "poolgate-certificates"));
            let started = Pod::start(plane, NAMESPACE, "poolgate");
            services.route(plane, NAMESPACE, "poolgate", Some(started.address("admission")));
            pod = Some(started);
        } else if let Some(pod) = &pod {
            pod.sync(plane);
        }
    }
    let [warned, denied] = seen[..] else {
        panic!("two dry runs: {lines:?}");
    };
    drop(keeper);
    (warned, denied, pod.expect("a pod"))
}

/// Runs `helm test`, and what a kubelet would run of it.
fn test_release(plane: &ControlPlane) -> Outcome {
    thread::scope(|scope| {
        scope.spawn(|| {
            let client = Client::of(plane);
            let mut pod = wait_for("the pod of the test", || {
                client.get(TEST).filter(|pod| pod["status"]["phase"] == "Pending")
            });
            let ran = run_pod(plane, NAMESPACE, &pod["spec"]);
            let phase = if ran.status.success() {
                "Succeeded"
            } else {
                eprintln!("{TEST}: {ran:?}");
                "Failed"
            };
            pod["status"]["phase"] = json!(phase);
            client.replace(&format!("{TEST}/status"), &pod);
        });
        let command = format!("helm test poolgate --namespace {NAMESPACE}");
        shell(workplace().path(), Some(plane.kubeconfig()), &command)
    })
}

fn create(plane: &ControlPlane, pool: &str) -> Outcome {
    let pool = node_pool(pool, &json!({}));
    plane.kubectl(&["create", "--dry-run=server", "-f", "-"], &pool.to_string())
}

fn failure_policy(plane: &ControlPlane) -> Value {
    let stored = plane.kubectl_json(&["get", "validatingwebhookconfiguration", "poolgate"], "");
    stored["webhooks"][0]["failurePolicy"].clone()
}

/// The pod dies under profile enforce: NodePools are denied, until the first command of the runbook is run; then this
/// command takes the profile into force again.
fn fail_and_recover(plane: &ControlPlane, services: &Services, pod: Pod, back: &str) {
    assert_eq!(failure_policy(plane), "Fail");
    services.route(plane, NAMESPACE, "poolgate", None);
    drop(pod);
    wait_for("NodePools to be denied", || {
        let answer = create(plane, "late");
        answer.stderr.contains("failed calling webhook").then_some(())
    });
    let emergency = block_of(
        RUNBOOK,
        "sh",
        "kubectl patch validatingwebhookconfiguration poolgate ",
    );
    let clone = workplace();
    shell(clone.path(), Some(plane.kubeconfig()), emergency).success();
    let in_force = block_of(
        RUNBOOK,
        "sh",
        "kubectl get validatingwebhookconfiguration poolgate -o jsonpath='{.webhooks[0].failurePolicy",
    );
    let in_force = shell(clone.path(), Some(plane.kubeconfig()), in_force).success();
    assert_eq!(in_force, "Ignore");
    let kubeconfig = plane.kubeconfig().to_str().expect("a path");
    let status = program::run(&["status", "--kubeconfig", kubeconfig], "");
    let words: Vec<&str> = status.stdout.split_whitespace().collect();
    assert!(
        words.join(" ").contains("it was installed to fail closed"),
        "{status:?}"
    );
    wait_for("NodePools to come in", || {
        create(plane, "late").status.success().then_some(())
    });
    if let Some(plain) = back.strip_suffix(" --force-conflicts") {
        // Whoever does not know of the flag is told by the release.
        let stopped = shell(clone.path(), Some(plane.kubeconfig()), plain);
        assert!(stopped.stderr.contains("kubectl-patch"), "{stopped:?}");
        let notes = format!("helm get notes poolgate --namespace {NAMESPACE}");
        let notes = shell(clone.path(), Some(plane.kubeconfig()), &notes).success();
        assert!(notes.contains("--force-conflicts"), "{notes}");
    }
    shell(clone.path(), Some(plane.kubeconfig()), back).success();
    assert_eq!(failure_policy(plane), "Fail");
}

#[test]
fn helm_leads_to_the_first_warning_and_the_first_denial() {
    let (plane, services) = Services::with_control_plane();
    plane.install_karpenter_crds(V1);
    let mut all = lines(block_of(FIRST_WEEK, "sh", "helm install poolgate "));
    assert_eq!(
        block("sh", "helm install poolgate ").trim(),
        all[0],
        "the README has the same command"
    );
    all.extend(lines(block_of(FIRST_WEEK, "sh", "helm upgrade poolgate ")));
    let (warned, denied, pod) = follow(&plane, &services, &all);
    assert_eq!((warned, denied), (3, 5), "{all:?}");
    exempt_a_pool(&plane, &pod);
    let passed = test_release(&plane);
    assert!(passed.status.success(), "{passed:?}");
    let back = block_of(RUNBOOK, "sh", "helm upgrade ").trim();
    assert!(back.ends_with(" --force-conflicts"), "{back}");
    fail_and_recover(&plane, &services, pod, back);
    // No pod is left.
    let failed = test_release(&plane);
    assert!(!failed.status.success(), "{failed:?}");
    take_the_gate_into_use(&plane);
    go_back(&plane);
}

/// A section of the first week.
fn section(heading: &str) -> &'static str {
    let (_, rest) = FIRST_WEEK
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap_or_default()
}

/// The exemption of the first week: the denied pool is admitted.
fn exempt_a_pool(plane: &ControlPlane, pod: &Pod) {
    let section = section("Exempt one pool from one rule");
    let clone = workplace();
    let policy = block_of(section, "yaml", "# policy.yaml\n");
    std::fs::write(clone.path().join("policy.yaml"), policy).expect("a file");
    let run = |line: &str| shell(clone.path(), Some(plane.kubeconfig()), line);
    let all = lines(block_of(section, "sh", "helm upgrade "));
    let [upgrade, dry_run] = &all[..] else {
        panic!("two commands: {all:?}");
    };
    run(upgrade).success();
    pod.sync(plane);
    wait_for("the pool to be admitted", || {
        run(dry_run).status.success().then_some(())
    });
}

/// The last step of the first week: a gate that counts, then one that denies.
fn take_the_gate_into_use(plane: &ControlPlane) {
    let section = section("Make node limits hold");
    let clone = workplace();
    for (block, observes) in section.split("```sh\n").skip(1).zip([true, false]) {
        let upgrade = block.lines().next().expect("a command");
        shell(clone.path(), Some(plane.kubeconfig()), upgrade).success();
        let gate = ["get", "--namespace", NAMESPACE, "deployment", "poolgate-gate"];
        let gate = plane.kubectl_json(&gate, "");
        let arguments = gate["spec"]["template"]["spec"]["containers"][0]["args"].as_array();
        let arguments = arguments.expect("arguments");
        assert_eq!(
            arguments.contains(&json!("--observe")),
            observes,
            "{upgrade}: {arguments:?}"
        );
    }
}

#[test]
fn kubectl_leads_to_the_first_warning_and_the_first_denial() {
    let (plane, services) = Services::with_control_plane();
    plane.install_karpenter_crds(V1);
    let all = lines(block_of(INSTALL, "sh", "packaging/manifests observe "));
    let (warned, denied, pod) = follow(&plane, &services, &all);
    assert_eq!((warned, denied), (3, 5), "{all:?}");
    fail_and_recover(&plane, &services, pod, &all[3]);
}

/// The right to terminate of the runbook, and the pages' ways to another release and back a profile.
fn go_back(plane: &ControlPlane) {
    let clone = workplace();
    let run = |line: &str| shell(clone.path(), Some(plane.kubeconfig()), line).success();
    let (_, section) = RUNBOOK
        .split_once("\n## A pool is above its limit\n")
        .expect("the section");
    run(block_of(section, "sh", "helm upgrade "));
    let binding = ["get", "clusterrolebinding", "poolgate-reconciler-terminate"];
    plane.kubectl(&binding, "").success();
    let blocks: Vec<&str> = UPGRADE.split("```sh\n").skip(1).collect();
    // The namespace of the ledgers changes in a test of its own.
    let is_here = |block: &&&str| block.starts_with("helm upgrade ") && !block.contains("ledgers.namespace");
    for block in blocks.iter().filter(is_here) {
        run(block.lines().next().expect("a command"));
    }
    let gate = ["get", "--namespace", NAMESPACE, "deployment", "poolgate-gate"];
    assert!(
        !plane.kubectl(&gate, "").status.success(),
        "profile enforce has no gate"
    );
}

/// What happens while a cluster comes up, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The webhook configurations are applied.
    Webhooks,
    /// The rest of the profile is applied, and the first NodePool makes a node on which the pods start.
    Pods,
    /// A NodePool is applied: without it there is no node.
    NodePool,
    /// The CA comes into `caBundle`, and the certificate into its Secret.
    Certificates,
}

/// The kinds of profile observe that are webhook configurations, or all others.
fn apply_part(plane: &ControlPlane, webhooks: bool) {
    let built = rendered("observe", &[]);
    let part: Vec<&str> = built
        .split("\n---\n")
        .filter(|document| document.contains("WebhookConfiguration") == webhooks)
        .collect();
    plane
        .kubectl(&["apply", "-f", "-"], &part.join("\n---\n"))
        .success();
}

#[test]
fn an_empty_cluster_comes_up_in_whatever_order_it_is_applied() {
    use Step::{Certificates, NodePool, Pods, Webhooks};
    let orders = [
        [Webhooks, NodePool, Pods, Certificates],
        [Pods, Webhooks, Certificates, NodePool],
        [NodePool, Pods, Webhooks, Certificates],
        // The others in `--full`.
        [Webhooks, Pods, NodePool, Certificates],
        [Webhooks, Pods, Certificates, NodePool],
        [NodePool, Webhooks, Pods, Certificates],
        [Pods, Webhooks, NodePool, Certificates],
        [Pods, NodePool, Webhooks, Certificates],
    ];
    let (plane, services) = Services::with_control_plane();
    plane.install_karpenter_crds(V1);
    let clone = workplace();
    let run = |line: &str| shell(clone.path(), Some(plane.kubeconfig()), line).success();
    let tried = if full() { orders.len() } else { 3 };
    for (number, order) in orders.into_iter().take(tried).enumerate() {
        let name = format!("first-{number}");
        for step in order {
            match step {
                Webhooks => apply_part(&plane, true),
                Pods => apply_part(&plane, false),
                NodePool => {
                    let pool = node_pool(&name, &json!({}));
                    plane.kubectl(&["create", "-f", "-"], &pool.to_string()).success();
                }
                // Its Secrets and rights came with the pods.
                Certificates => drop(Pod::start(&plane, NAMESPACE, "poolgate-certificates")),
            }
        }
        // The pool is there, so the pods have a node; only now they start.
        let pod = Pod::start(&plane, NAMESPACE, "poolgate");
        services.route(&plane, NAMESPACE, "poolgate", Some(pod.address("admission")));
        let asked = |pod: &Pod| pod.metric("poolgate_webhook_latency_seconds_count{webhook=\"validate\"}");
        wait_for("poolgate to be asked", || {
            create(&plane, "asked").success();
            (asked(&pod) > Some(0.0)).then_some(())
        });
        run("packaging/manifests enforce | kubectl apply -f -");
        assert_eq!(failure_policy(&plane), "Fail", "{order:?}");
        create(&plane, "asked").success();
        services.route(&plane, NAMESPACE, "poolgate", None);
        drop(pod);
        run("kubectl delete validatingwebhookconfigurations,mutatingwebhookconfigurations poolgate");
        run("kubectl -n poolgate-system delete deployment,secret --all");
    }
    // What the order would have to be without the first step: under Fail no pool comes in, no node, no pod.
    run("packaging/manifests enforce | kubectl apply -f -");
    wait_for("the loop", || {
        let answer = create(&plane, "never");
        answer.stderr.contains("failed calling webhook").then_some(())
    });
}
