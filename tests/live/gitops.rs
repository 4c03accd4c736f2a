//! poolgate beside the programs that people run it with: kubectl with its kustomize, and Helm.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

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

/// Sources with a mistake of a patch, and with one of a value.
fn sources() -> TempDir {
    directory(&[
        ("base/general.yaml", &pool("general", "10%")),
        ("base/gpu.yaml", &pool("gpu", "10%")),
        ("base/kustomization.yaml", "resources: [general.yaml, gpu.yaml]\n"),
        (
            "overlays/prod/patch.yaml",
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\n\
             spec: {disruption: {budgets: [{nodes: 5x%}]}}\n",
        ),
        (
            "overlays/prod/kustomization.yaml",
            "resources: [../../base]\npatches: [{path: patch.yaml}]\nbuildMetadata: [originAnnotations]\n",
        ),
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        ),
        ("chart/values.yaml", "name: gpu\nnodes: 10%\n"),
        (
            "chart/templates/gpu.yaml",
            &pool("{{ .Values.name }}", "{{ .Values.nodes }}"),
        ),
        ("-values,1.yaml", "nodes: 5x%\n"),
    ])
}

#[test]
fn lint_renders_and_names_the_users_files() {
    let sources = sources();
    let in_stream = |render: &str| line_of(&shell(sources.path(), render).success(), "5x%");
    for (render, flags, stream, source, entry) in [
        (
            "kubectl kustomize overlays/prod",
            "--kustomize overlays/prod",
            "overlays/prod/<kustomize>",
            "base/gpu.yaml",
            "overlays/prod/kustomization.yaml",
        ),
        (
            "helm template chart --set nodes=5x%",
            "--helm chart --values=-values,1.yaml",
            "chart/<helm>",
            "chart/templates/gpu.yaml",
            "chart/Chart.yaml",
        ),
    ] {
        let lint = |more: &str| shell(sources.path(), &format!("poolgate lint {flags} {more}"));
        let json = lint("-o json");
        assert_eq!(json.status.code(), Some(1), "{json:?}");
        let budget = "spec.disruption.budgets[0].nodes".to_owned();
        assert_eq!(
            reported(&json),
            [("gpu".into(), in_stream(render), budget, source.into())]
        );
        let human = lint("");
        let place = format!("--> {stream}:{}:", in_stream(render));
        assert!(human.stdout.contains(&place), "{human:?}");
        assert!(
            human.stdout.contains(&format!("rendered from {source}\n")),
            "{human:?}"
        );
        let ran = human.stderr.lines().next().unwrap_or_default();
        assert!(ran.starts_with("ran /") && ran.contains(" v"), "{ran}");

        let sarif: Value = serde_json::from_str(&lint("-o sarif").stdout).expect("SARIF");
        assert_eq!(
            sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"],
            serde_json::json!({"artifactLocation": {"uri": source}}),
            "{sarif}"
        );
        let github = lint("-o github").stdout;
        assert!(
            github.starts_with(&format!("::error file={source},title=")),
            "{github}"
        );
        let gitlab: Value = serde_json::from_str(&lint("-o gitlab").stdout).expect("a report");
        let location = serde_json::json!({"path": source, "lines": {"begin": 1}});
        assert_eq!(gitlab[0]["location"], location, "{gitlab}");
        let junit = lint("-o junit").stdout;
        assert!(junit.contains(&format!(" file=\"{source}\">")), "{junit}");

        // The renderer names no source, as kustomize without the annotation.
        let silent = shell(
            sources.path(),
            &format!("sed -i /buildMetadata/d overlays/prod/*.yaml; poolgate lint {flags} -o github"),
        );
        let file = if flags.contains("helm") { source } else { entry };
        assert!(
            silent.stdout.starts_with(&format!("::error file={file},")),
            "{silent:?}"
        );

        let fix = lint("--fix");
        assert_eq!(fix.status.code(), Some(2), "{fix:?}");
        assert!(fix.stderr.contains("--fix cannot change"), "{fix:?}");
    }
    let at = shell(
        sources.path(),
        "cd overlays && cp -R prod ./-rf && poolgate lint --kustomize=-rf --statistics",
    );
    assert!(at.stdout.contains("budget-nodes"), "{at:?}");
    let elsewhere = shell(
        sources.path(),
        "poolgate lint --helm oci://example.com/pools || poolgate lint --kustomize https://example.com/pools",
    );
    assert_eq!(elsewhere.status.code(), Some(2), "{elsewhere:?}");
    assert_eq!(
        elsewhere.stderr.matches("cannot be read: No such file").count(),
        2,
        "{elsewhere:?}"
    );
}

#[test]
fn failure_of_the_renderer_ends_lint_with_its_own_words() {
    let sources = sources();
    for (line, expected) in [
        (
            "sed -i s/base/bose/ overlays/prod/kustomization.yaml; poolgate lint --kustomize overlays/prod",
            "has failed (exit status: 1): error: accumulating resources",
        ),
        (
            "echo '{{ fail \"no team\" }}' >chart/templates/x.yaml; poolgate lint --helm chart",
            "has failed (exit status: 1): ",
        ),
    ] {
        let outcome = shell(sources.path(), line);
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(expected), "{outcome:?}");
        assert_eq!(outcome.stdout, "", "{outcome:?}");
    }
}

/// What the docs say that a pull request cannot do: to run programs, read files elsewhere or the environment.
#[test]
fn neither_renderer_runs_programs_or_reads_the_environment() {
    let files = sources();
    let said = |line: &str| shell(files.path(), line).stderr;
    let kustomization = |text: &str| {
        let text = text.replace('\n', "\\n");
        said(&format!(
            "mkdir -p k; printf '{text}' >k/kustomization.yaml; poolgate lint --kustomize k"
        ))
    };
    for (text, expected) in [
        (
            "helmCharts: [{name: x, repo: https://example.com}]\n",
            "must specify --enable-helm",
        ),
        ("generators: [generator.yaml]\n", "external plugins disabled"),
        ("resources: [/etc/passwd]\n", "is not in or below"),
    ] {
        let generator = "apiVersion: v1\nkind: X\nmetadata:\n  name: a\n  annotations:\n    \
                         config.kubernetes.io/function: |\n      exec: {path: ./x}\n";
        std::fs::create_dir_all(files.path().join("k")).expect("a folder");
        std::fs::write(files.path().join("k/generator.yaml"), generator).expect("a file");
        let said = kustomization(text);
        assert!(said.contains(expected), "{text}: {said}");
    }
    let template = |text: &str| {
        said(&format!(
            "echo '{{{{ {text} }}}}' >chart/templates/x.yaml; poolgate lint --helm chart"
        ))
    };
    assert!(template("env \"HOME\"").contains("function \"env\" not defined"));
    for text in [
        "if getHostByName \"localhost\" }}{{ fail \"resolved\" }}{{ end",
        "if lookup \"v1\" \"Namespace\" \"\" \"\" }}{{ fail \"looked up\" }}{{ end",
    ] {
        let said = template(text);
        assert!(said.contains("nothing found"), "{text}: {said}");
    }
}

#[test]
fn diff_renders_each_side_in_its_own_tree_and_leaves_nothing() {
    let sources = sources();
    let git = "git -c user.name=a -c user.email=a@example.com -c commit.gpgsign=false";
    let made = shell(
        sources.path(),
        &format!(
            "mkdir tmp; sed -i s/5x/20/ overlays/prod/patch.yaml; git init -q -b main .; printf 'bin\\ntmp\\nlog\\n' >.gitignore
            git add .; {git} commit -qm old; git config core.splitIndex true; git status >log
            sed -i 's/^      nodeClassRef/      expireAfter: 100h\\n&/' base/general.yaml chart/templates/gpu.yaml
            sed -i s/20/30/ overlays/prod/patch.yaml; echo 'nodes: 5%' >new.yaml
            mkdir overlays/new; echo 'resources: [../../base]' >overlays/new/kustomization.yaml"
        ),
    );
    assert!(made.status.success(), "{made:?}");
    let state = || {
        shell(
            sources.path(),
            "ls -R .git; find .git -type f -exec cksum {} + | sort",
        )
        .success()
    };
    let before = state();
    let diff = |line: &str| {
        let outcome = shell(sources.path(), &format!("export TMPDIR=$PWD/tmp; {line}"));
        assert_eq!(
            shell(sources.path(), "ls -A tmp").success(),
            "",
            "{line}: {outcome:?}"
        );
        assert!(state() == before, "{line}: {outcome:?}");
        outcome
    };
    let kustomized = diff("poolgate diff --git main --kustomize overlays/prod --nodes 40");
    let (said, code) = (&kustomized.stdout, kustomized.status.code());
    assert_eq!(code, Some(0), "{kustomized:?}");
    assert!(
        said.contains("NodePool general changes (base/general.yaml)"),
        "{said}"
    );
    assert!(said.contains("spec.template.spec.expireAfter changed"), "{said}");
    assert!(said.contains("NodePool gpu changes"), "{said}");
    assert!(
        said.contains("changed, without drift: spec.disruption.budgets"),
        "{said}"
    );
    let inside = diff("cd overlays/prod; poolgate diff --git main --kustomize . --nodes 40");
    assert_eq!(inside.stdout.replace("(../../base", "(base"), *said);

    let chart = diff("poolgate diff --git main --helm chart --values ./-values,1.yaml --fail-on-new");
    assert!(
        chart.stdout.contains("spec.template.spec.expireAfter changed"),
        "{chart:?}"
    );
    let added = diff("poolgate diff --git main --kustomize overlays/new --max-drift 0");
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    assert!(added.stdout.contains("NodePools: 2 new"), "{added:?}");
    assert!(added.stderr.contains("main has no overlays/new"), "{added:?}");

    for (line, expected) in [
        (
            "poolgate diff --git main --helm chart --values new.yaml",
            "main:new.yaml cannot be read",
        ),
        (
            "poolgate diff --git none --kustomize overlays/prod",
            "--git none: git has failed",
        ),
        (
            "poolgate diff --git=-x --kustomize overlays/prod",
            "--git: -x is not a revision",
        ),
        (
            "poolgate diff --kustomize overlays/prod",
            "--git REVISION or --cluster",
        ),
        (
            "poolgate diff --git main --kustomize overlays/prod base",
            "cannot be used with",
        ),
    ] {
        let outcome = diff(line);
        assert_eq!(outcome.status.code(), Some(2), "{line}: {outcome:?}");
        assert!(outcome.stderr.contains(expected), "{line}: {outcome:?}");
    }
    let broken = format!(
        "echo '{{{{ fail \"broken\" }}}}' >chart/templates/x.yaml; git add chart; {git} commit -qm broken; rm chart/templates/x.yaml"
    );
    shell(sources.path(), &broken).success();
    let before = state();
    let line = "export TMPDIR=$PWD/tmp; ! poolgate diff --git main --helm chart && ls -A tmp";
    let outcome = shell(sources.path(), line);
    assert!(outcome.stdout.is_empty() && state() == before, "{outcome:?}");
    assert!(
        outcome
            .stderr
            .contains("helm template main:chart --skip-tests has failed"),
        "{outcome:?}"
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
