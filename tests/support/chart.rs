//! The Helm chart.

use std::process::Command;

use serde_json::Value;

use super::assets::program;
use super::files::directory;
use super::process::{Outcome, run};
use super::rendered::{OPEN, Objects, objects};

/// The chart.
pub(crate) const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/helm");

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
