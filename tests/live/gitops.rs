//! poolgate beside the programs that people run it with: kubectl with its kustomize, and Helm.

use std::path::Path;

use serde_json::Value;

use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::Outcome;
use crate::support::shell;

fn pool(name: &str, nodes: &str) -> String {
    SOUND
        .replace("name: general", &format!("name: {name}"))
        .replace("nodes: 10%", &format!("nodes: {nodes}"))
}

/// Runs a line of shell in `directory`.
fn shell(directory: &Path, line: &str) -> Outcome {
    shell::shell(directory, None, line)
}

/// The results of a JSON report as `name, line, field, source`.
fn reported(outcome: &Outcome) -> Vec<(String, u64, String, String)> {
    let report: Value =
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let results = report["results"].as_array().expect("results");
    results
        .iter()
        .map(|result| {
            (
                text(&result["object"]["name"]),
                result["line"].as_u64().expect("a line"),
                text(&result["field"]),
                text(&result["source"]),
            )
        })
        .collect()
}

/// The line of `stream` with these `words`.
fn line_of(stream: &str, words: &str) -> u64 {
    let line = stream.lines().position(|line| line.contains(words));
    line.unwrap_or_else(|| panic!("no {words} in {stream}")) as u64 + 1
}

#[test]
fn what_kustomize_renders_is_checked_and_traced_to_its_file() {
    let patch = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec: {disruption: {budgets: [{nodes: 5x%}]}}
";
    let directory = directory(&[
        ("base/general.yaml", &pool("general", "10%")),
        ("base/gpu.yaml", &pool("gpu", "10%")),
        ("base/kustomization.yaml", "resources: [general.yaml, gpu.yaml]\n"),
        ("overlay/patch.yaml", patch),
        (
            "overlay/kustomization.yaml",
            "resources: [../base]\npatches: [{path: patch.yaml}]\nbuildMetadata: [originAnnotations]\n",
        ),
    ]);
    let stream = shell(directory.path(), "kubectl kustomize overlay").success();
    let json = shell(
        directory.path(),
        "kubectl kustomize overlay | poolgate lint -o json -",
    );
    assert_eq!(json.status.code(), Some(1), "{json:?}");
    let budget = "spec.disruption.budgets[0].nodes".to_owned();
    assert_eq!(
        reported(&json),
        [(
            "gpu".into(),
            line_of(&stream, "5x%"),
            budget,
            "../base/gpu.yaml".into()
        )]
    );
    let human = shell(directory.path(), "kubectl kustomize overlay | poolgate lint -");
    assert!(
        human.stdout.contains("note: rendered from ../base/gpu.yaml"),
        "{human:?}"
    );
    let sound = shell(directory.path(), "kubectl kustomize base | poolgate lint -");
    assert_eq!(
        (sound.status.code(), sound.stdout.as_str()),
        (Some(0), ""),
        "{sound:?}"
    );
    let failed = shell(
        directory.path(),
        "kubectl kustomize missing | poolgate lint --fail-if-empty -",
    );
    assert_eq!(
        failed.status.code(),
        Some(1),
        "an empty stream is no success: {failed:?}"
    );
}

#[test]
fn what_helm_renders_is_checked_and_traced_to_its_template() {
    let template = pool("{{ .Values.name }}", "{{ .Values.nodes }}");
    let directory = directory(&[
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        ),
        ("chart/values.yaml", "name: gpu\nnodes: 5x%\n"),
        ("chart/templates/general.yaml", &pool("general", "10%")),
        ("chart/templates/gpu.yaml", &template),
        (
            "chart/templates/notes.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
        ),
    ]);
    let stream = shell(directory.path(), "helm template chart").success();
    let json = shell(directory.path(), "helm template chart | poolgate lint -o json -");
    assert_eq!(json.status.code(), Some(1), "{json:?}");
    let budget = "spec.disruption.budgets[0].nodes".to_owned();
    let template = "pools/templates/gpu.yaml";
    assert_eq!(
        reported(&json),
        [("gpu".into(), line_of(&stream, "5x%"), budget, template.into())]
    );
    let github = shell(
        directory.path(),
        "helm template chart | poolgate lint -o github -",
    );
    let rendered = format!("Rendered from {template}");
    assert!(github.stdout.contains(&rendered), "{github:?}");
    let sound = shell(
        directory.path(),
        "helm template chart --set nodes=10% | poolgate lint -",
    );
    assert_eq!(
        (sound.status.code(), sound.stdout.as_str()),
        (Some(0), ""),
        "{sound:?}"
    );
    assert!(sound.stderr.contains("1 other object skipped"), "{sound:?}");
    let folder = shell(directory.path(), "poolgate lint chart");
    assert!(
        folder.stderr.contains("1 Helm template folder skipped"),
        "{folder:?}"
    );
}

#[test]
fn kubectl_finds_its_plugin() {
    let directory = directory(&[("pool.yaml", &pool("gpu", "5x%"))]);
    let as_plugin = shell(directory.path(), "kubectl poolgate lint -o concise pool.yaml");
    let as_program = shell(directory.path(), "poolgate lint -o concise pool.yaml");
    assert_eq!(as_plugin.status.code(), Some(1), "{as_plugin:?}");
    assert_eq!(
        (as_plugin.stdout, as_plugin.stderr),
        (as_program.stdout, as_program.stderr)
    );
    let piped = shell(directory.path(), "kubectl poolgate lint - <pool.yaml");
    assert_eq!(piped.status.code(), Some(1), "{piped:?}");
}
