//! kustomize and Helm are started by `--kustomize` and `--helm` alone. What the real programs render is checked in
//! `tests/live/gitops.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::{Outcome, run};
use crate::support::program::poolgate;

/// Sources for both programs. `bin` has programs of their names that tell `started` of it.
fn scene() -> TempDir {
    let program = "#!/bin/sh\necho \"$0 $*\" >>\"$(dirname \"$0\")\"/../started\ncat \"$(dirname \"$0\")\"/../base/general.yaml\n";
    let scene = directory(&[
        ("bin/kustomize", program),
        ("bin/kubectl", program),
        ("bin/helm", program),
        ("base/general.yaml", SOUND),
        ("base/kustomization.yaml", "resources: [general.yaml]\n"),
        ("overlays/prod/kustomization.yaml", "resources: [../../base]\n"),
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        ),
        ("chart/templates/general.yaml", SOUND),
    ]);
    let made = typed(
        scene.path(),
        "git init -q . && git add base overlays chart && git -c user.name=a -c user.email=a@example.com \
         -c commit.gpgsign=false commit -qm old",
    );
    assert!(made.status.success(), "{made:?}");
    scene
}

fn typed(scene: &Path, line: &str) -> Outcome {
    let mut shell = Command::new("sh");
    let path = std::env::var("PATH").unwrap_or_default();
    let program = poolgate(&[]);
    let folder = Path::new(program.get_program())
        .parent()
        .expect("a folder")
        .display();
    shell
        .args(["-c", line])
        .current_dir(scene)
        .env("HOME", scene)
        .env("PATH", format!("{}:{folder}:{path}", scene.join("bin").display()));
    for (name, _) in program.get_envs() {
        shell.env_remove(name);
    }
    run(&mut shell, "")
}

/// The programs that were started.
fn started(scene: &Path) -> String {
    fs::read_to_string(scene.join("started")).unwrap_or_default()
}

#[test]
fn no_program_is_started_but_for_a_flag() {
    let scene = scene();
    let scene = scene.path();
    for line in [
        "poolgate lint",
        "poolgate lint --together base overlays/prod chart",
        "poolgate lint overlays/prod/kustomization.yaml chart/templates/general.yaml",
        "poolgate diff --git HEAD",
        "poolgate diff base overlays/prod",
        "poolgate default base overlays chart",
        "poolgate budgets base overlays chart",
    ] {
        let outcome = typed(scene, line);
        assert_eq!(outcome.status.code(), Some(0), "{line}: {outcome:?}");
        assert_eq!(started(scene), "", "{line}");
    }
    for (line, expected) in [
        (
            "poolgate lint --kustomize overlays/prod",
            "kustomize build ./overlays/prod",
        ),
        ("poolgate lint --helm chart", "helm template ./chart --skip-tests"),
    ] {
        let outcome = typed(scene, line);
        assert_eq!(outcome.status.code(), Some(0), "{line}: {outcome:?}");
        assert!(started(scene).contains(expected), "{line}: {}", started(scene));
        assert!(outcome.stderr.contains(expected), "{line}: {outcome:?}");
    }
}

#[test]
fn no_key_of_a_file_starts_a_program() {
    let scene = scene();
    let scene = scene.path();
    for key in [
        "kustomize: overlays/prod",
        "helm: chart",
        "render: {kustomize: overlays/prod}",
        "values: [prod.yaml]",
    ] {
        for kind in ["Policy", "Files"] {
            let text = format!("apiVersion: poolgate.dev/v1alpha1\nkind: {kind}\n{key}\n");
            fs::write(scene.join(".poolgate.yaml"), &text).expect("a file");
            for line in [
                "poolgate lint base",
                "poolgate lint --policy .poolgate.yaml base",
                "poolgate diff --git HEAD base",
            ] {
                let outcome = typed(scene, line);
                assert_eq!(outcome.status.code(), Some(2), "{line}: {text}: {outcome:?}");
                assert_eq!(started(scene), "", "{line}: {text}");
            }
        }
    }
}

#[test]
fn settings_of_a_repository_neither_start_a_program_nor_spoil_the_checkout() {
    let scene = scene();
    let scene = scene.path();
    let line = "printf '#!/bin/sh\\necho $0 >>started\\n' >monitor; chmod +x monitor; git config core.fsmonitor \"$PWD/monitor\"
        git sparse-checkout set --cone --sparse-index overlays base && git config core.splitIndex true && rm -f started";
    let made = typed(scene, line);
    assert!(made.status.success(), "{made:?}");
    let outcome = typed(scene, "poolgate diff --git HEAD --kustomize overlays/prod");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let programs = started(scene);
    assert!(
        programs.contains("kustomize") && !programs.contains("monitor"),
        "{programs}"
    );
}

#[test]
fn a_source_of_what_is_rendered_is_not_overwritten() {
    let scene = scene();
    let scene = scene.path();
    fs::write(scene.join("prod.yaml"), "nodes: 5\n").expect("a file");
    for (sources, file) in [
        ("--kustomize overlays/prod", "base/general.yaml"),
        ("--kustomize overlays/prod", "overlays/prod/kustomization.yaml"),
        ("--helm chart", "chart/templates/general.yaml"),
        ("--helm chart", "chart/Chart.yaml"),
        ("--helm chart --values prod.yaml", "prod.yaml"),
    ] {
        let before = fs::read(scene.join(file)).expect("a file");
        let line = format!("poolgate lint {sources} -o json={file}");
        let outcome = typed(scene, &line);
        assert_eq!(outcome.status.code(), Some(2), "{line}: {outcome:?}");
        let said = format!("{file} is an input");
        assert!(outcome.stderr.contains(&said), "{line}: {outcome:?}");
        assert!(fs::read(scene.join(file)).expect("a file") == before, "{line}");
        let started = started(scene);
        assert!(
            !["build", "template"].iter().any(|word| started.contains(word)),
            "{line}: {started}"
        );
    }
    for _ in 0..2 {
        let line = "poolgate lint --kustomize overlays/prod -o json=overlays/prod/report.json";
        assert_eq!(typed(scene, line).status.code(), Some(0), "{line}");
    }
}
