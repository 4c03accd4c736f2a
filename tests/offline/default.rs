//! `poolgate default`, the real program: manifests in, the same with defaults out.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::files::directory;
use crate::support::process::Outcome;
use crate::support::program;

const POOL: &str = "\
# what the team wrote
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general # a name
spec:
  disruption:
    # not too eager
    consolidateAfter: 5m # minutes
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
---
# somebody else
kind: ConfigMap
apiVersion: v1
";

const COMPLETED: &str = "\
# what the team wrote
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general # a name
spec:
  disruption:
    # not too eager
    consolidateAfter: 5m # minutes
    budgets:
    - nodes: \"10%\"
    consolidationPolicy: WhenEmptyOrUnderutilized
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
      expireAfter: 720h
---
# somebody else
kind: ConfigMap
apiVersion: v1
";

/// The last line if defaults are written and no release is named.
const ASSUMED: &str = "the defaults are those of Karpenter 1.15 (assumed; set with --karpenter-version)\n";

fn default_in(directory: &Path, arguments: &[&str], stdin: &str) -> Outcome {
    program::run_in(directory, &[&["default"], arguments].concat(), stdin)
}

fn completed(text: &str, arguments: &[&str]) -> String {
    default_in(Path::new("."), arguments, text).success()
}

#[test]
fn defaults_come_in_and_all_else_stays() {
    assert_eq!(completed(POOL, &["-"]), COMPLETED);
    assert_eq!(
        completed(COMPLETED, &["-"]),
        COMPLETED,
        "there is nothing left to write"
    );
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(completed(&crlf(POOL), &["-"]), crlf(COMPLETED));
}

#[test]
fn a_pool_without_disruption_gets_all_of_it() {
    let text = POOL.replace(
        "  disruption:\n    # not too eager\n    consolidateAfter: 5m # minutes\n",
        "",
    );
    let completed = completed(&text, &["--node-limit-mode", "-"]);
    let expected = "      expireAfter: 720h\n  disruption:\n    budgets:\n    - nodes: \"10%\"\n    \
                    consolidateAfter: 0s\n    consolidationPolicy: WhenEmptyOrUnderutilized\n    nodeLimitMode: Hard\n---\n";
    assert!(completed.contains(expected), "{completed}");
}

#[test]
fn every_layout_is_completed_in_its_own_style() {
    const JSON: &str = "\"template\":{\"spec\":{\"nodeClassRef\":{\"name\":\"a\"},\"requirements\":[]}}";
    const FLOW: &str = "template: {spec: {nodeClassRef: {name: a}, requirements: []}}";
    const HEAD: &str = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n";
    for text in [
        format!(
            "{{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodePool\",\"spec\":{{{JSON},\"disruption\":{{}}}}}}\n"
        ),
        format!(
            "{{\n  \"apiVersion\": \"karpenter.sh/v1\",\n  \"kind\": \"NodePool\",\n  \"spec\": {{\n    {JSON},\n    \
             \"disruption\": {{\n      \"consolidateAfter\": \"1m\"\n    }}\n  }}\n}}\n"
        ),
        format!("{HEAD}  {FLOW}\n  disruption:\n  weight: 1\n"),
        format!("{HEAD}  {FLOW}\n  disruption: {{budgets: ~, consolidateAfter: 1m}}\n"),
        format!("{HEAD}  {FLOW}\n  disruption:\n    budgets:\n    - reasons: [Empty]\n"),
        format!(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: karpenter.sh/v1\n  kind: NodePool\n  spec:\n    {FLOW}\n    \
             weight: 1"
        ),
    ] {
        let once = completed(&text, &["-"]);
        assert_ne!(once, text);
        assert_eq!(completed(&once, &["-"]), once, "{once}");
        if text.starts_with('{') {
            let _: Value = serde_json::from_str(&once).expect("still JSON");
        }
    }
}

#[test]
fn defaults_in_flow_style_are_written_without_the_quotes_of_json() {
    let pool = |disruption: &str| {
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  disruption:{disruption}\n  template: {{spec: \
             {{nodeClassRef: {{name: a}}, requirements: [], expireAfter: 1h}}}}\n"
        )
    };
    let both = "budgets: [{nodes: \"10%\"}], consolidationPolicy: WhenEmptyOrUnderutilized";
    let all =
        "{budgets: [{nodes: \"10%\"}], consolidateAfter: 0s, consolidationPolicy: WhenEmptyOrUnderutilized}";
    for (before, after) in [
        (
            " {consolidateAfter: 5m}",
            format!(" {{consolidateAfter: 5m, {both}}}"),
        ),
        (
            " {\n    consolidateAfter: 5m,\n  }",
            format!(
                " {{\n    consolidateAfter: 5m,\n    {},\n  }}",
                both.replace("], ", "],\n    ")
            ),
        ),
        (
            " {budgets: ~, consolidateAfter: 5m, consolidationPolicy: WhenEmpty}",
            " {budgets: [{nodes: \"10%\"}], consolidateAfter: 5m, consolidationPolicy: WhenEmpty}".to_owned(),
        ),
        (" {}", format!(" {all}")),
        (" ~", format!(" {all}")),
        ("", format!(" {all}")),
        (
            " {\n    # keep the defaults\n  }",
            format!(" {}\n    # keep the defaults\n  }}", all.trim_end_matches('}')),
        ),
        (
            " {\n    consolidateAfter: 5m   # agreed\n  }",
            format!(
                " {{\n    consolidateAfter: 5m,   # agreed\n    {}\n  }}",
                both.replace("], ", "],\n    ")
            ),
        ),
        (
            " {\n    consolidateAfter: 5m,  # agreed\n    # nothing else\n  }",
            format!(
                " {{\n    consolidateAfter: 5m,  # agreed\n    {}\n    # nothing else\n  }}",
                both.replace("], ", "],\n    ")
            ),
        ),
        // Also beside keys in quotes: only a whole document of JSON stays JSON.
        (
            " {\"consolidateAfter\": \"5m\", \"consolidationPolicy\": \"WhenEmpty\"}",
            " {\"consolidateAfter\": \"5m\", \"consolidationPolicy\": \"WhenEmpty\", budgets: [{nodes: \"10%\"}]}"
                .to_owned(),
        ),
    ] {
        assert_eq!(completed(&pool(before), &["-"]), pool(&after), "{before}");
    }
}

#[test]
fn a_diff_has_the_exit_codes_of_kubectl_diff() {
    let directory = directory(&[
        ("a.yaml", POOL),
        ("b.yaml", COMPLETED),
        ("c.yaml", "a: [karpenter.sh\n"),
    ]);
    let diff = |names: &[&str]| default_in(directory.path(), &[&["--diff"], names].concat(), "");
    let changed = diff(&["a.yaml", "b.yaml"]);
    assert_eq!(changed.status.code(), Some(1), "{changed:?}");
    assert!(
        changed
            .stdout
            .starts_with("--- a.yaml\n+++ a.yaml with defaults\n@@"),
        "{}",
        changed.stdout
    );
    assert_eq!(
        changed
            .stdout
            .lines()
            .filter(|line| line.starts_with('+'))
            .count(),
        5
    );
    assert_eq!(diff(&["b.yaml"]).status.code(), Some(0));
    for trouble in ["c.yaml", "none.yaml"] {
        let outcome = diff(&[trouble]);
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(trouble), "{outcome:?}");
    }
    assert_eq!(diff(&["--no-such-flag"]).status.code(), Some(2));
}

#[test]
fn files_are_written_in_place_and_only_where_something_changes() {
    let directory = directory(&[("a.yaml", POOL), ("b.yaml", COMPLETED)]);
    let outcome = default_in(directory.path(), &["--write", "."], "");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr, format!("a.yaml: defaults written\n{ASSUMED}"));
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    assert_eq!(
        (read("a.yaml").as_str(), read("b.yaml").as_str()),
        (COMPLETED, COMPLETED)
    );
    let stdin = default_in(directory.path(), &["--write", "-"], POOL);
    assert_eq!(stdin.status.code(), Some(2), "{stdin:?}");
}

#[test]
fn what_an_alias_brings_is_left_to_its_author() {
    let text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {annotations: &a {consolidateAfter: 1m}}\n\
                spec: {disruption: *a, template: {spec: {nodeClassRef: {name: a}, requirements: []}}}\n";
    let outcome = default_in(Path::new("."), &["-"], text);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert_eq!(outcome.stdout, text);
    assert!(outcome.stderr.contains("alias"), "{outcome:?}");
}

#[test]
fn a_pool_is_completed_with_another_one_that_takes_its_values_by_an_alias() {
    let pool = |disruption: &str| {
        format!(
            "- apiVersion: karpenter.sh/v1\n  kind: NodePool\n  spec:\n    disruption: {disruption}\n    \
             template: {{spec: {{nodeClassRef: {{name: a}}, requirements: [], expireAfter: 1h}}}}\n"
        )
    };
    let list = |disruption: &str| {
        let pools = pool(disruption) + &pool("*a");
        format!("apiVersion: v1\nkind: List\nitems:\n{pools}")
    };
    let outcome = default_in(Path::new("."), &["-"], &list("&a {consolidateAfter: 1m}"));
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let completed = list(
        "&a {consolidateAfter: 1m, budgets: [{nodes: \"10%\"}], consolidationPolicy: WhenEmptyOrUnderutilized}",
    );
    assert_eq!(outcome.stdout, completed);
    assert_eq!(outcome.stderr, ASSUMED, "the other one has them with it");
}

/// A part of a NodePool, like a kustomize patch.
const PATCH: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  disruption:
    budgets:
    - nodes: \"1\"
";

#[test]
fn a_patch_that_a_kustomization_names_stays_as_it_is() {
    // A patch that lacks nothing, so that only its kustomization shows what it is.
    let full = POOL.replace("name: general # a name", "name: other");
    let directory = directory(&[
        ("base/kustomization.yaml", "resources: [pool.yaml]\n"),
        ("base/pool.yaml", POOL),
        (
            "prod/kustomization.yaml",
            "resources: [../base]\npatches:\n- path: patches/budget.yaml\n- path: ./patches/full.yaml\n",
        ),
        ("prod/patches/budget.yaml", PATCH),
        ("prod/patches/full.yaml", &full),
    ]);
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    // Wherever the command is started, and however the file is named.
    let outcome = default_in(&directory.path().join("prod/patches"), &["--write", "."], "");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(
        outcome.stderr,
        "budget.yaml:1:1: not changed: a kustomization names it as a patch\n\
         full.yaml:2:1: not changed: a kustomization names it as a patch\n"
    );
    let all = default_in(directory.path(), &["--write", "."], "");
    assert!(
        all.stderr.contains("base/pool.yaml: defaults written\n"),
        "{all:?}"
    );
    assert_eq!(read("prod/patches/budget.yaml"), PATCH);
    assert_eq!(read("prod/patches/full.yaml"), full);
    assert_eq!(read("base/pool.yaml"), COMPLETED);
    let diff = default_in(directory.path(), &["--diff", "prod"], "");
    assert_eq!(
        (diff.status.code(), diff.stdout.as_str()),
        (Some(0), ""),
        "{diff:?}"
    );
    let printed = default_in(directory.path(), &["prod/patches/full.yaml"], "");
    assert_eq!(printed.stdout, full, "what is printed may replace the file");
}

#[test]
fn what_lacks_a_field_that_every_nodepool_has_is_taken_for_a_patch() {
    let list = format!("{POOL}---\n{PATCH}");
    let directory = directory(&[("a.yaml", PATCH), ("b.yaml", &list)]);
    let outcome = default_in(directory.path(), &["--write", "."], "");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let why = "not changed: it has no spec.template.spec.nodeClassRef, so it is treated as a patch\n";
    assert_eq!(
        outcome.stderr,
        format!("a.yaml:1:1: {why}b.yaml:19:1: {why}b.yaml: defaults written\n{ASSUMED}")
    );
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    assert_eq!(read("a.yaml"), PATCH);
    assert_eq!(read("b.yaml"), format!("{COMPLETED}---\n{PATCH}"));
    assert_eq!(completed(PATCH, &["-"]), PATCH);
}

#[test]
fn what_sops_has_encrypted_stays_as_it_is() {
    let with_data = POOL.replace("---\n", "sops:\n  mac: ENC[AES256_GCM,data:x,type:str]\n---\n");
    let with_value = POOL.replace("name: default", "name: 'ENC[AES256_GCM,data:x,type:str]'");
    for text in [with_data, with_value] {
        let directory = directory(&[("a.yaml", &text)]);
        let outcome = default_in(directory.path(), &["--write", "a.yaml"], "");
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        assert_eq!(
            outcome.stderr,
            "a.yaml:2:1: not changed: it is encrypted by SOPS\n"
        );
        let left = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
        assert_eq!(left, text);
        assert_eq!(completed(&text, &["-"]), text);
    }
}

#[test]
fn a_template_stays_as_it_is() {
    let value = POOL.replace("name: default", "name: '{{ .Values.class }}'");
    let lines = format!("{POOL}---\n{{{{- if .Values.gpu }}}}\n{POOL}{{{{- end }}}}\n");
    let no_dash = format!("{POOL}---\n{{{{ if .Values.gpu }}}}\n{POOL}{{{{ end }}}}\n");
    let between = format!("{{{{ range .Values.pools }}}}\n---\n{POOL}---\n{{{{ end }}}}\n");
    let is_left = "not changed: it is a template";
    for (text, code, reported) in [
        (value, 0, is_left),
        (lines.clone(), 2, "looks like an unrendered template"),
        (lines, 2, is_left),
        (no_dash.clone(), 2, "looks like an unrendered template"),
        (no_dash, 2, is_left),
        (between, 0, is_left),
    ] {
        let directory = directory(&[("a.yaml", &text)]);
        let outcome = default_in(directory.path(), &["--write", "a.yaml"], "");
        assert_eq!(outcome.status.code(), Some(code), "{outcome:?}");
        assert!(outcome.stderr.contains(reported), "{outcome:?}");
        let left = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
        assert_eq!(left, text);
    }
}

/// The objects completed in the text are complete for a review, too.
#[test]
fn the_corpus_is_completed_and_then_complete() {
    let mut files = Vec::new();
    let mut folders = vec![program::root().join("tests/corpus")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 50, "{}", files.len());
    let copy = tempfile::tempdir().expect("a directory");
    for (number, path) in files.iter().enumerate() {
        fs::copy(path, copy.path().join(format!("{number}.yaml"))).expect("a copy");
    }
    let first = default_in(copy.path(), &["--write", "."], "");
    let second = default_in(copy.path(), &["--diff", "."], "");
    assert_eq!(second.stdout, "", "{first:?}");
}

/// A pool as people write it, with lists indented or not and comments below them.
fn laid_out(step: usize, list: usize) -> String {
    let (s, l) = (" ".repeat(step), " ".repeat(list));
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n{s}name: a\nspec:\n{s}template:\n{s}{s}spec:\n\
         {s}{s}{s}nodeClassRef:\n{s}{s}{s}{s}group: karpenter.k8s.aws\n{s}{s}{s}{s}kind: EC2NodeClass\n{s}{s}{s}{s}name: a\n\
         {s}{s}{s}requirements:\n{s}{s}{s}{l}- key: kubernetes.io/arch\n{s}{s}{s}{l}  operator: In\n\
         {s}{s}{s}{l}  values: [amd64]\n{s}{s}{s}{l}# last comment of the list\n\n{s}# about the pool\n---\n# next\nkind: X\n"
    )
}

#[test]
fn new_keys_stand_below_the_comments_of_the_old_ones_and_are_indented_as_these() {
    for (step, list) in [(2, 0), (2, 2), (4, 0), (4, 2), (4, 4)] {
        let text = laid_out(step, list);
        let (s, l) = (" ".repeat(step), " ".repeat(list));
        let expected = text
            .replace(
                "# last comment of the list\n",
                &format!("# last comment of the list\n{s}{s}{s}expireAfter: 720h\n"),
            )
            .replace(
                "# about the pool\n",
                &format!(
                    "# about the pool\n{s}disruption:\n{s}{s}budgets:\n{s}{s}{l}- nodes: \"10%\"\n{s}{s}consolidateAfter: \
                     0s\n{s}{s}consolidationPolicy: WhenEmptyOrUnderutilized\n"
                ),
            );
        assert_eq!(completed(&text, &["-"]), expected, "{step} {list}");
    }
}

#[test]
fn several_files_are_one_stream_that_names_each() {
    let text = POOL.split("---").next().expect("a pool");
    let folder = directory(&[
        ("pools/a.yaml", text),
        ("pools/b.yaml", &format!("---\n{}", text.trim_end())),
        ("pools/c.yaml", "kind: ConfigMap\napiVersion: v1\n"),
    ]);
    let written = COMPLETED.split("---").next().expect("a pool");
    let outcome = default_in(folder.path(), &["pools"], "");
    assert_eq!(
        outcome.success(),
        format!(
            "---\n# Source: pools/a.yaml\n{written}# Source: pools/b.yaml\n---\n{written}---\n# Source: \
             pools/c.yaml\nkind: ConfigMap\napiVersion: v1\n"
        )
    );
    let one = default_in(folder.path(), &["pools/a.yaml"], "");
    assert_eq!(one.success(), written, "who names a file knows it");
}
