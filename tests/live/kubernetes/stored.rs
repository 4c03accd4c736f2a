//! The NodePools that a cluster has stored, as `poolgate lint --cluster` and the metrics of `poolgate serve` report them.

use std::fs;
use std::path::{Path, PathBuf};

use poolgate_core::manifest::{Limits, parse};
use serde_json::{Value, json};

use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, V1_AND_V1BETA1, karpenter_crd};
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::readme::block_of;
use crate::support::shell::shell;
use crate::support::wait::wait_for;

const LINT: &str = include_str!("../../../docs/lint.md");
const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";

const NODE_CLASSES: &str = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses";

/// What the documentation calls the API server.
const SERVER: &str = "https://cluster.example.com:6443";

/// Runs the command of a page's example, and says it as the page does: the command, errors, results.
fn as_on_the_page(plane: &ControlPlane, command: &str) -> (Outcome, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let outcome = shell(directory.path(), Some(plane.kubeconfig()), command);
    let said = format!("$ {command}\n{}{}", outcome.stdout, outcome.stderr);
    let server = server(plane);
    (outcome, said.replace(&server, SERVER))
}

fn server(plane: &ControlPlane) -> String {
    let text = fs::read_to_string(plane.kubeconfig()).expect("the kubeconfig");
    let config: Value = serde_json::from_str(&text).expect("JSON");
    let server = &config["clusters"][0]["cluster"]["server"];
    server.as_str().expect("a server").to_owned()
}

fn lint(kubeconfig: &Path, arguments: &str) -> Outcome {
    let directory = tempfile::tempdir().expect("a directory");
    let line = format!("poolgate lint --cluster {arguments}");
    shell(directory.path(), Some(kubeconfig), &line)
}

/// Place, severity and rule of each finding about the stored pools.
fn found(plane: &ControlPlane, arguments: &str) -> Vec<String> {
    let outcome = lint(plane.kubeconfig(), &format!("-o concise {arguments}"));
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let lines = outcome.stdout.lines();
    let starts = lines.filter_map(|line| Some(format!("{}]", line.split_once(']')?.0)));
    starts.collect()
}

/// Two pools that the release's definition accepts, though one of them is frozen without end.
fn pools() -> [Value; 2] {
    let budgets = json!([{"nodes": "0", "schedule": "0 0 31 2 *", "duration": "8h"}]);
    let batch = json!({"disruption": {"consolidateAfter": "1m", "budgets": budgets}});
    let budgets = json!([{"nodes": "10%"}, {"nodes": "1", "reasons": ["Drifted", "Empty", "Drifted"]}]);
    let disruption = json!({"consolidateAfter": "1m", "budgets": budgets});
    let taints = json!([{"key": "example.com/gpu", "effect": "NoSchedule"}]);
    let gpu = json!({"disruption": disruption, "template": {"spec": {"taints": taints}}, "weight": 10});
    [node_pool("batch", &batch), node_pool("gpu", &gpu)]
}

/// Installs the definition of the node classes to which the pools refer, and one of them.
fn install_node_classes(plane: &ControlPlane) {
    plane.install_crd(&karpenter_crd(V1, "karpenter.kwok.sh_kwoknodeclasses.yaml"));
    let class = json!({
        "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"},
    });
    Client::of(plane).create(NODE_CLASSES, &class);
}

/// Three pools, each fine by itself. Together they are never open, one has no node class, and one no pods.
fn pools_that_do_not_go_together() -> [Value; 3] {
    ["batch", "general", "web"].map(|name| {
        let class = if name == "batch" { "batch" } else { "default" };
        let budgets = json!([{"nodes": "0"}]);
        let template = json!({"spec": {"expireAfter": "Never", "nodeClassRef": {"name": class}}});
        let spec =
            json!({"disruption": {"consolidateAfter": "1m", "budgets": budgets}, "template": template});
        node_pool(name, &spec)
    })
}

/// A service account that may do nothing, or read the definition.
fn account(plane: &ControlPlane, name: &str, rule: Option<&str>) -> PathBuf {
    let run = |line: &str| plane.kubectl(&line.split(' ').collect::<Vec<_>>(), "").success();
    run(&format!("-n default create serviceaccount {name}"));
    if let Some(rule) = rule {
        run(&format!("create clusterrole {name} {rule}"));
        run(&format!(
            "create clusterrolebinding {name} --clusterrole={name} --serviceaccount=default:{name}"
        ));
    }
    plane.kubeconfig_of("default", name)
}

#[test]
fn stored_pools_are_checked_as_they_are_and_for_the_release_to_come() {
    let plane = ControlPlane::start();
    let missing = lint(plane.kubeconfig(), "");
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    let expected = format!(
        "nodepools cannot be read: {} does not serve nodepools.karpenter.sh: its CRD is missing",
        server(&plane)
    );
    assert!(missing.stdout.contains(&expected), "{missing:?}");

    plane.install_karpenter_crds(V1_AND_V1BETA1);
    let client = Client::of(&plane);
    for pool in pools() {
        client.create(POOLS, &pool);
    }
    let unserved = lint(plane.kubeconfig(), "");
    let unknown = format!(
        "NodePools are not checked against node classes of kind KWOKNodeClass: {} does not serve this kind of karpenter.kwok.sh",
        server(&plane)
    );
    assert!(unserved.stderr.contains(&unknown), "{unserved:?}");
    assert!(!unserved.stdout.contains("node-class-missing"), "{unserved:?}");
    install_node_classes(&plane);
    let command = "poolgate lint --cluster";
    let (outcome, said) = as_on_the_page(&plane, command);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let page = block_of(LINT, "console", &format!("$ {command}\n"));
    assert!(said == page, "the page has\n{page}\nand it is\n{said}");
    let upgraded = found(&plane, "--karpenter-version 1.15");
    assert_eq!(
        upgraded,
        [
            "nodepools/batch:14:17: error[schedule-never-fires]",
            "nodepools/gpu:17:9: error[budget-reason]",
        ]
    );

    for format in ["json", "github", "gitlab", "junit", "sarif"] {
        let reported = lint(plane.kubeconfig(), &format!("-o {format}"));
        assert_eq!(reported.status.code(), Some(1), "{format}: {reported:?}");
        assert!(
            reported.stdout.contains("nodepools/batch"),
            "{format}: {reported:?}"
        );
        if ["json", "gitlab", "sarif"].contains(&format) {
            serde_json::from_str::<Value>(&reported.stdout).expect(format);
        }
    }

    for number in 0..230 {
        let pool = node_pool(&format!("more-{number}"), &json!({"limits": {"cpu": "-1"}}));
        client.create(POOLS, &pool);
    }
    let all = lint(plane.kubeconfig(), "-o concise");
    let places: Vec<&str> = all
        .stdout
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(places.len(), 231, "{all:?}");
    assert!(places.is_sorted(), "{places:?}");
    assert!(all.stderr.starts_with("232 NodePools in "), "{all:?}");

    client.delete(POOLS);
    for pool in pools_that_do_not_go_together() {
        client.create(POOLS, &pool);
    }
    assert_eq!(
        found(&plane, "--ignore budget"),
        [
            "nodepools/batch:12:5: warning[nodepools-frozen]",
            "nodepools/batch:21:15: error[node-class-missing]",
            "nodepools/general:9:1: warning[nodepool-overlap]",
        ]
    );
    let sarif = lint(plane.kubeconfig(), "-o sarif --select nodepool-overlap");
    let sarif: Value = serde_json::from_str(&sarif.stdout).expect("JSON");
    let other = &sarif["runs"][0]["results"][0]["relatedLocations"][0]["physicalLocation"];
    assert_eq!(other["artifactLocation"]["uri"], "nodepools/web", "{sarif}");
}

#[test]
fn a_right_that_is_missing_is_reported_with_its_verb_and_resource() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1_AND_V1BETA1);
    install_node_classes(&plane);
    Client::of(&plane).create(POOLS, &pools()[0]);

    let nobody = lint(&account(&plane, "nobody", None), "");
    assert_eq!(nobody.status.code(), Some(2), "{nobody:?}");
    let needed = "This requires the verb list on nodepools.karpenter.sh";
    assert!(nobody.stdout.contains(needed), "{nobody:?}");
    let report = lint(&account(&plane, "program", None), "-o json");
    let report: Value = serde_json::from_str(&report.stdout).expect("a report that is complete");
    assert_eq!(report["results"][0]["rule"], "file-unreadable", "{report}");

    let reader = account(
        &plane,
        "reader",
        Some("--verb=list --resource=nodepools.karpenter.sh"),
    );
    let checked = lint(&reader, "");
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let unknown = "the Karpenter release of the cluster is unknown";
    assert!(checked.stderr.starts_with(unknown), "{checked:?}");
    let classes = "NodePools are not checked against node classes of kind KWOKNodeClass: ";
    assert!(checked.stderr.contains(classes), "{checked:?}");
    let needed = "This requires the verb list on kwoknodeclasses.karpenter.kwok.sh";
    assert!(checked.stderr.contains(needed), "{checked:?}");
    assert!(!checked.stdout.contains("node-class-missing"), "{checked:?}");
    assert!(
        checked.stderr.contains("checked for Karpenter 1.15 (assumed"),
        "{checked:?}"
    );
    let named = lint(&reader, "--karpenter-version 1.0.8");
    assert!(!named.stderr.contains(unknown), "{named:?}");
}

/// The pools that each rule would deny, as the metrics have it.
fn denied(poolgate: &Poolgate) -> Vec<String> {
    let (_, text) = poolgate.probe("/metrics");
    let lines = text.lines();
    let counted = lines.filter_map(|line| line.strip_prefix("poolgate_stored_nodepools_denied{nodepool="));
    let mut counted: Vec<String> = counted.map(str::to_owned).collect();
    counted.retain(|line| !line.ends_with(" 0"));
    counted.sort();
    counted
}

#[test]
fn the_metrics_follow_what_is_stored_and_what_it_is_checked_by() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1_AND_V1BETA1);
    let client = Client::of(&plane);
    for pool in pools() {
        client.create(POOLS, &pool);
    }
    let policy = plane.directory().join("policy.yaml");
    let write = |rules: &str| {
        let text = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nrules: {{{rules}}}\n");
        fs::write(&policy, text).expect("a policy can be written");
    };
    write("");
    let flag = format!("--policy={}", policy.display());
    let poolgate = Poolgate::serve_watching(&plane.kubeconfig_by(Account::Server), &[&flag]);
    let become_so = |expected: &[&str]| {
        wait_for(&format!("{expected:?}"), || {
            (denied(&poolgate) == expected).then_some(())
        });
    };
    become_so(&["\"batch\",rule=\"schedule-never-fires\"} 1"]);

    client.create(POOLS, &node_pool("negative", &json!({"limits": {"cpu": "-1"}})));
    become_so(&[
        "\"batch\",rule=\"schedule-never-fires\"} 1",
        "\"negative\",rule=\"limit-amount\"} 1",
    ]);
    client.delete(&format!("{POOLS}/negative"));
    let whole = json!({"spec": {"disruption": {"budgets": [{"nodes": "10%"}]}}});
    client.merge(&format!("{POOLS}/batch"), &whole);
    become_so(&[]);

    client.create(POOLS, &node_pool("huge", &json!({"limits": {"cpu": "0"}})));
    write("limit-zero: error");
    become_so(&["\"huge\",rule=\"limit-zero\"} 1"]);
    write("limit-zero: \"off\"");
    become_so(&[]);
    plane.install_karpenter_crds(V1);
    become_so(&["\"gpu\",rule=\"budget-reason\"} 1"]);

    let mut half = client.create(POOLS, &node_pool("half", &json!({"limits": {"cpu": "73"}})));
    half["status"] = json!({"resources": {"cpu": "36500m", "memory": "1Gi"}});
    client.replace(&format!("{POOLS}/half/status"), &half);
    let used = "poolgate_nodepool_limit_used_ratio{nodepool=\"half\",resource=\"cpu\"}";
    poolgate.wait_for_metric(used, 0.5);
}

const REPORTS: &str = "/apis/wgpolicyk8s.io/v1alpha2/clusterpolicyreports";

#[test]
fn a_report_on_each_stored_pool_says_what_lint_finds_and_changes_only_with_it() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1_AND_V1BETA1);
    let client = Client::of(&plane);
    let [batch, gpu] = pools();
    client.create(POOLS, &batch);
    client.create(POOLS, &gpu);
    let unserved = lint(plane.kubeconfig(), "--report");
    assert_eq!(unserved.status.code(), Some(2), "{unserved:?}");
    assert!(
        unserved
            .stderr
            .contains("the report on NodePool batch was not written: "),
        "{unserved:?}"
    );

    plane.install_crd(include_str!("../../data/policy-report/clusterpolicyreports.yaml"));
    let account = account(
        &plane,
        "reporter",
        Some(
            "--verb=list,get,create,patch --resource=nodepools.karpenter.sh,customresourcedefinitions.apiextensions.k8s.io,clusterpolicyreports.wgpolicyk8s.io",
        ),
    );
    let report = |name: &str| {
        let outcome = lint(&account, "--report");
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        client
            .get(&format!("{REPORTS}/poolgate-{name}"))
            .expect("a report")
    };
    let first = report("batch");
    assert_eq!(first["summary"]["fail"], 1, "{first}");
    assert_eq!(first["results"][0]["rule"], "schedule-never-fires");
    assert_eq!(
        first["results"][0]["properties"]["field"],
        "spec.disruption.budgets[0].schedule"
    );
    assert_eq!(first["scope"]["name"], "batch");
    let uid = &client.get(&format!("{POOLS}/batch")).expect("a pool")["metadata"]["uid"];
    assert_eq!(
        &first["metadata"]["ownerReferences"][0]["uid"], uid,
        "it is deleted with its pool"
    );
    let version = |report: &Value| report["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&report("batch")), version(&first), "nothing has changed");

    let budgets = json!([{"nodes": "10%"}]);
    client.merge(
        &format!("{POOLS}/gpu"),
        &json!({"spec": {"disruption": {"budgets": budgets}}}),
    );
    let sound = report("gpu");
    assert_eq!(
        (&sound["summary"]["fail"], &sound["summary"]["pass"]),
        (&json!(0), &json!(1)),
        "{sound}"
    );
}

/// The NodePool definition of the newest release, changed.
fn definition(change: impl FnOnce(&mut Value)) -> String {
    let published = karpenter_crd(V1, "karpenter.sh_nodepools.yaml");
    let document = parse(&published, &Limits::default()).next();
    let mut definition = document.expect("a definition is one document").into_value();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    change(definition.pointer_mut(spec).expect("a spec"));
    definition.to_string()
}

/// Like releases before 1.15: `consolidateAfter` is required, and has no default.
fn require_consolidate_after(spec: &mut Value) {
    let disruption = &mut spec["properties"]["disruption"];
    disruption["required"] = json!(["consolidateAfter"]);
    let field = &mut disruption["properties"]["consolidateAfter"];
    field.as_object_mut().expect("a field").remove("default");
}

#[test]
fn a_stored_mistake_that_the_api_server_forgives_does_not_count_again_because_of_a_default() {
    let plane = ControlPlane::start();
    plane.install_crd(&definition(|spec| {
        require_consolidate_after(spec);
        spec["properties"]["disruption"]["required"] = json!([]);
        spec["x-kubernetes-validations"] = json!([]);
    }));
    let client = Client::of(&plane);
    let spec = json!({
        "replicas": 3, "limits": {"nodes": "5", "memory": "1Gi"},
        "disruption": {"consolidationPolicy": "WhenEmpty"},
    });
    let mut pool = node_pool("fixed", &spec);
    client.create(POOLS, &pool);
    pool["metadata"]["name"] = json!("another");
    plane.install_crd(&definition(require_consolidate_after));
    wait_for("the rules over all of the spec to be in force", || {
        client
            .try_create(&format!("{POOLS}?dryRun=All"), &pool)
            .is_err()
            .then_some(())
    });

    let poolgate = Poolgate::serve();
    plane.register_webhooks(&poolgate.base_url(), &poolgate.ca());
    let path = format!("{POOLS}/fixed");
    let stored = client.get(&path).expect("a pool");
    for (key, value) in [
        ("node-limit-mode", "Soft"),
        ("node-limit", "5"),
        ("node-limit", "6"),
    ] {
        let annotations = json!({format!("poolgate.dev/{key}"): value});
        let changed = client.merge(&path, &json!({"metadata": {"annotations": annotations}}));
        assert_eq!(changed["spec"], stored["spec"], "{key}");
    }
    let heavier = client.try_merge(&path, &json!({"spec": {"limits": {"memory": "2Gi"}}}));
    let rejected = heavier.expect_err("a change of what is wrong").to_string();
    assert!(rejected.contains("replicas"), "{rejected}");
}
