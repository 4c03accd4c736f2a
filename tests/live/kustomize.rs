//! What poolgate writes into sources changes what kustomize renders only by what was to be written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::files::directory;
use crate::support::rendered::values;
use crate::support::{assets, process, program};

/// What a base says under `disruption`. The last ones have a mistake of which lint is certain.
const DISRUPTIONS: [&str; 6] = [
    "",
    "  disruption: {}\n",
    "  disruption:\n    consolidationPolicy: WhenEmpty # only then\n    consolidateAfter: 12h\n",
    "  disruption:\n    consolidateAfter: 5m\n    budgets:\n    - nodes: 20%\n    - nodes: \"0\"\n      reasons: [Drifted]\n",
    "  disruption:\n    consolidateAfter: 1d\n",
    "  disruption: {consolidationPolicy: whenEmpty, consolidateAfter: '2d', budgets: [{nodes: 5}]}\n",
];

/// What a base says beside it.
const OTHERS: [(&str, &str); 3] = [
    ("", ""),
    ("  weight: 10\n", "      expireAfter: Never\n"),
    ("  limits: {cpu: \"1000\"} # ours\n", "      expireAfter: 48h\n"),
];

/// What a patch says, as a part of the object.
const PATCHES: [&str; 4] = [
    "",
    "spec: {disruption: {budgets: [{nodes: \"3\"}]}}\n",
    "spec:\n  disruption:\n    consolidateAfter: 30m\n",
    "spec:\n  template:\n    spec: {expireAfter: 96h}\n  weight: 7\n",
];

fn base(name: &str, disruption: &str, (spec, template): (&str, &str)) -> String {
    format!(
        "# {name}\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: {name}\nspec:\n{disruption}{spec}  \
         template:\n    spec:\n{template}      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n      \
         requirements:\n      - {{key: kubernetes.io/arch, operator: In, values: [amd64]}}\n"
    )
}

/// Sources of every combination, and the names of their files.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let (mut bases, mut patches) = (
        String::from("resources:\n"),
        String::from("resources: [../base]\npatches:\n"),
    );
    for (a, disruption) in DISRUPTIONS.iter().enumerate() {
        for (b, others) in OTHERS.iter().enumerate() {
            for (c, patch) in PATCHES.iter().enumerate() {
                let name = format!("pool-{a}{b}{c}");
                bases += &["- ", &name, ".yaml\n"].concat();
                files.push((format!("base/{name}.yaml"), base(&name, disruption, *others)));
                if !patch.is_empty() {
                    patches += &["- path: ", &name, ".yaml\n"].concat();
                    let head =
                        format!("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: {name}}}\n");
                    files.push((format!("overlay/{name}.yaml"), head + patch));
                }
            }
        }
    }
    files.push(("base/kustomization.yaml".into(), bases));
    files.push(("overlay/kustomization.yaml".into(), patches));
    files
}

/// What kustomize renders, by name.
fn rendered(directory: &Path) -> (String, BTreeMap<String, Value>) {
    let mut kubectl = Command::new(assets::program("kubectl"));
    let text = process::run(kubectl.args(["kustomize", "overlay"]).current_dir(directory), "").success();
    let pools = objects(&text);
    (text, pools)
}

fn objects(text: &str) -> BTreeMap<String, Value> {
    let name = |object: &Value| object["metadata"]["name"].as_str().expect("a name").to_owned();
    values(text).map(|object| (name(&object), object)).collect()
}

/// Runs a command of poolgate that writes, once over the sources and once over what they render before; what both then
/// render to.
fn written(write: &[&str]) -> (BTreeMap<String, Value>, BTreeMap<String, Value>) {
    let sources = sources();
    let files: Vec<(&str, &str)> = sources
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let directory = directory(&files);
    let (before, _) = rendered(directory.path());
    fs::write(directory.path().join("rendered.yaml"), before).expect("a file");
    let run = |path: &str| program::run_in(directory.path(), &[write, &[path]].concat(), "");
    run("rendered.yaml");
    for path in ["base", "overlay"] {
        run(path);
    }
    let text = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    for (name, before) in &sources {
        if name.starts_with("overlay/") || name.ends_with("kustomization.yaml") {
            assert_eq!(text(name), *before, "{name}");
        }
    }
    let (after, pools) = rendered(directory.path());
    for path in ["base", "overlay"] {
        run(path);
    }
    assert_eq!(
        rendered(directory.path()).0,
        after,
        "written twice is written once"
    );
    (pools, objects(&text("rendered.yaml")))
}

#[test]
fn defaults_in_the_sources_render_to_what_they_are_in_the_rendered_stream() {
    let (sources, stream) = written(&["default", "--write"]);
    assert_eq!(sources.len(), DISRUPTIONS.len() * OTHERS.len() * PATCHES.len());
    for (name, pool) in &stream {
        assert_eq!(&sources[name], pool, "{name}");
    }
}

#[test]
fn fixes_in_the_sources_render_to_what_they_are_in_the_rendered_stream() {
    let (sources, stream) = written(&["lint", "--fix"]);
    for (name, pool) in &stream {
        assert_eq!(&sources[name], pool, "{name}");
    }
    assert_eq!(
        sources["pool-400"]["spec"]["disruption"]["consolidateAfter"],
        "24h"
    );
}
