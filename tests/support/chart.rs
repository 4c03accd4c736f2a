//! The Helm chart and the kustomizations of `manifests/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;
use tempfile::TempDir;

use super::assets::program;
use super::files::directory;
use super::process::{Outcome, run};

/// Where both are.
pub(crate) const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests");

/// The chart.
pub(crate) const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/helm");

/// Objects by kind, namespace and name.
pub(crate) type Objects = BTreeMap<String, Value>;

/// The decision that every pod may call the gate, which profile gate requires.
const OPEN: &str = "--set=networkPolicy.enabled=false";

/// Runs `helm template` on the chart with more arguments. Unless these say otherwise, every pod may call the gate.
pub(crate) fn template(arguments: &[&str]) -> Outcome {
    template_undecided(&[&[OPEN], arguments].concat())
}

/// The same, without a decision on the callers of the gate.
pub(crate) fn template_undecided(arguments: &[&str]) -> Outcome {
    let home = directory(&[]);
    let mut command = Command::new(program("helm"));
    command.args(["template", "poolgate", CHART, "--namespace=poolgate-system"]);
    run(command.args(arguments).env("HOME", home.path()), "")
}

/// Runs `helm lint` on the chart with more arguments.
pub(crate) fn lint(arguments: &[&str]) -> Outcome {
    let home = directory(&[]);
    let mut command = Command::new(program("helm"));
    command.args(["lint", "--strict", CHART]);
    run(command.args(arguments).env("HOME", home.path()), "")
}

/// What the chart installs with these arguments.
#[track_caller]
pub(crate) fn charted(arguments: &[&str]) -> Objects {
    objects(&template(&[&["--no-hooks"], arguments].concat()).success())
}

/// What a directory of `manifests` or of a copy of it builds.
pub(crate) fn build(directory: &Path) -> Outcome {
    run(
        Command::new(program("kubectl")).arg("kustomize").arg(directory),
        "",
    )
}

/// A copy of `manifests` with an overlay of a user's, `manifests/overlays/own`, in these files.
pub(crate) fn with_overlay(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let copy = directory(&[]);
    run(Command::new("cp").arg("-R").arg(MANIFESTS).arg(copy.path()), "").success();
    let own = copy.path().join("manifests/overlays/own");
    std::fs::create_dir(&own).expect("a directory");
    for (name, text) in files {
        std::fs::write(own.join(name), text).expect("a file");
    }
    (copy, own)
}

/// The overlay of profile gate-strict with these pools.
pub(crate) fn strict_overlay(pools: &str) -> (TempDir, PathBuf) {
    strict_overlay_with(pools, "")
}

/// The same with one more component.
pub(crate) fn strict_overlay_with(pools: &str, component: &str) -> (TempDir, PathBuf) {
    let named = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: strict-pools\n  annotations: \
         {{config.kubernetes.io/local-config: \"true\"}}\ndata:\n  names: {pools}\n"
    );
    let component = if component.is_empty() {
        String::new()
    } else {
        format!(", ../../components/{component}")
    };
    let overlay =
        format!("resources: [../gate, pools.yaml]\ncomponents: [../../components/gate-strict{component}]\n");
    with_overlay(&[("kustomization.yaml", &overlay), ("pools.yaml", &named)])
}

/// The values in a stream of YAML, in which nothing is wrong.
pub(crate) fn values(text: &str) -> impl Iterator<Item = Value> {
    parse(text, &Limits::default()).map(|document| {
        assert!(document.problems().is_empty(), "{:?}", document.problems());
        document.into_value()
    })
}

/// The objects of a stream of YAML.
pub(crate) fn objects(text: &str) -> Objects {
    values(text)
        .filter(|object| !object.is_null())
        .map(|object| {
            let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let metadata = &object["metadata"];
            let name = [&object["kind"], &metadata["namespace"], &metadata["name"]].map(of);
            (name.join(" "), object)
        })
        .collect()
}

/// The pods of a Deployment.
pub(crate) fn pod<'a>(objects: &'a Objects, deployment: &str) -> &'a Value {
    &objects[&format!("Deployment poolgate-system {deployment}")]["spec"]["template"]["spec"]
}

/// Their container.
pub(crate) fn container<'a>(objects: &'a Objects, deployment: &str) -> &'a Value {
    &pod(objects, deployment)["containers"][0]
}

/// All Deployments.
pub(crate) const DEPLOYMENTS: [&str; 4] = [
    "poolgate",
    "poolgate-gate",
    "poolgate-reconciler",
    "poolgate-certificates",
];

/// In the place of the `PodMonitor`.
pub(crate) const SERVICE_MONITOR: &str = "--set=monitoring.serviceMonitor.enabled=true";

/// What kustomize builds, without the namespace: Helm makes that itself.
#[track_caller]
pub(crate) fn built(directory: &Path) -> Objects {
    let mut objects = objects(&build(directory).success());
    objects.remove("Namespace  poolgate-system").expect("a namespace");
    objects
}

/// The labels that only Helm sets.
pub(crate) const OF_HELM: [&str; 2] = ["app.kubernetes.io/managed-by", "helm.sh/chart"];

/// Fails unless both ways install the same, but for the labels that only Helm sets.
#[track_caller]
pub(crate) fn expect_same(built: &Objects, charted: &Objects) {
    assert_eq!(
        built.keys().collect::<Vec<_>>(),
        charted.keys().collect::<Vec<_>>()
    );
    for (name, object) in built {
        let mut charted = charted[name].clone();
        for label in OF_HELM {
            let labels = charted["metadata"]["labels"].as_object_mut().expect("labels");
            assert!(labels.remove(label).is_some(), "{name}: {label}");
        }
        assert_eq!(object, &charted, "{name}");
    }
}
