//! `poolgate diff` as a user runs it: files, revisions of Git, and the page's commands over a sample repository.

mod stakes;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::pages::shown;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::{Outcome, run};
use crate::support::program::{poolgate, root, run_in};

/// Prints what `kustomize build FOLDER` and `helm template CHART --values FILE` would, of what the sample has.
const KUSTOMIZE: &str = "#!/bin/sh\ncat \"$2\"/general.yaml\n";
const HELM: &str = "#!/bin/sh\nteam=$(sed -n 's/^team: //p' \"$4\")\nprintf -- '---\\n# Source: pools/templates/general.yaml\\n'\n\
                    sed \"s/{{ .Values.team }}/$team/\" \"$2\"/templates/general.yaml\n";

/// A working tree with the sample's new files, whose `origin/main` has the old ones.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let scene = directory(&[("bin/kustomize", KUSTOMIZE), ("bin/helm", HELM)]);
        for program in ["kustomize", "helm"] {
            let path = scene.path().join("bin").join(program);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
        }
        symlink(poolgate(&[]).get_program(), scene.path().join("bin/poolgate")).expect("a link");
        let repository = Self(scene);
        let sample = root().join("tests/data/gitops");
        let sample = sample.display();
        let line = format!(
            "git init -q -b main . && cp -R {sample}/old/. . && git add . && git -c user.name=a -c user.email=a@example.com \
             -c commit.gpgsign=false commit -qm old && git update-ref refs/remotes/origin/main HEAD && rm -r [a-z]* && \
             cp -R {sample}/new/. ."
        );
        fs::create_dir(repository.tree()).expect("a folder");
        let made = repository.typed(&line);
        assert!(made.status.success(), "{made:?}");
        repository
    }

    fn tree(&self) -> std::path::PathBuf {
        self.0.path().join("tree")
    }

    fn typed(&self, line: &str) -> Outcome {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.0.path().join("bin");
        let mut shell = Command::new("sh");
        shell.args(["-ec", line]).current_dir(self.tree());
        shell
            .env("HOME", self.0.path())
            .env("PATH", format!("{}:{path}", bin.display()));
        for (name, _) in poolgate(&[]).get_envs() {
            shell.env_remove(name);
        }
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
            shell.env_remove(name);
        }
        run(&mut shell, "")
    }
}

const PAGE: &str = include_str!("../../docs/diff.md");

#[test]
fn the_page_of_diff_shows_what_the_program_says_of_a_sample_repository() {
    let shown = shown(PAGE);
    assert_eq!(shown.len(), 1, "{shown:?}");
    for (command, said) in shown {
        let outcome = Repository::new().typed(command);
        assert_eq!(outcome.stdout + &outcome.stderr, said, "{command}");
    }
    let blocks: Vec<&str> = PAGE
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect();
    assert_eq!(blocks.len(), 4, "{blocks:?}");
    for block in blocks {
        let repository = Repository::new();
        let outcome = repository.typed(block);
        assert!(outcome.status.success(), "{block}: {outcome:?}");
        let comment = fs::read_to_string(repository.tree().join("comment.md")).unwrap_or_default();
        let said = outcome.stdout + &comment;
        let replaced = said.matches(
            "this change replaces all nodes of the pool: spec.template.metadata.labels.team changed",
        );
        assert_eq!(replaced.count(), 1, "one NodePool of {block}: {said}");
        let unchanged = said.matches("1 unchanged").count();
        assert_eq!(
            unchanged,
            usize::from(block.contains("clusters")),
            "{block}: {said}"
        );
    }
}

/// Runs `diff` on two files with these texts.
fn diff(old: &str, new: &str, arguments: &[&str]) -> Outcome {
    let folder = directory(&[("old.yaml", old), ("new.yaml", new)]);
    diff_in(folder.path(), &[&["old.yaml", "new.yaml"], arguments].concat())
}

fn diff_in(folder: &Path, arguments: &[&str]) -> Outcome {
    run_in(folder, &[&["diff", "--at=2026-01-05"], arguments].concat(), "")
}

fn json(old: &str, new: &str, arguments: &[&str]) -> Value {
    let outcome = diff(old, new, &[&["--output=json"], arguments].concat());
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

/// With a label that all nodes get.
fn labelled(team: &str) -> String {
    SOUND.replace(
        "  template:\n",
        &format!("  template:\n    metadata: {{labels: {{team: {team}}}}}\n"),
    )
}

const STATUS: &str = "status: {nodes: 40, resources: {cpu: \"80\"}}\n";

#[test]
fn a_template_that_changes_replaces_the_nodes_of_the_status_at_the_pace_of_the_budgets() {
    let old = labelled("blue") + STATUS;
    let change = &json(&old, &labelled("red"), &[])["pools"][0];
    assert_eq!(change["drift"]["atMost"], 40, "{change}");
    assert_eq!(
        change["drift"]["fields"],
        serde_json::json!(["spec.template.metadata.labels.team"])
    );
    assert_eq!(change["drift"]["pace"], "at most 4 at a time (budgets[0])");
    let named = &json(&old, &labelled("red"), &["--nodes=general=100", "--nodes=7"])["pools"][0];
    assert_eq!(named["drift"]["pace"], "at most 10 at a time (budgets[0])");
    let frozen = labelled("red").replace(
        "- nodes: 10%",
        "- nodes: \"0\"\n      schedule: \"@daily\"\n      duration: 8h",
    );
    let later = diff(&old, &frozen, &[]).stdout;
    let later = later.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        later.contains("no budget limits how many at a time, not before Mon 2026-01-05 08:00 UTC"),
        "{later}"
    );
    assert!(
        later.contains("disruption by drift closes: daily 00:00-08:00 UTC"),
        "{later}"
    );
}

#[test]
fn a_default_that_is_written_out_and_another_order_are_no_difference() {
    let written = SOUND.replace("    spec:\n", "    spec:\n      expireAfter: 720h\n");
    let outcome = diff(SOUND, &format!("# a comment\n{written}"), &["--exit-code"]);
    assert_eq!(
        (outcome.status.code(), outcome.stdout.as_str()),
        (
            Some(0),
            "NodePools: 1 unchanged; no node is replaced\n\
             compared as for Karpenter 1.15 (assumed; set with --karpenter-version)\n"
        )
    );
    let named = diff(SOUND, SOUND, &["--karpenter-version=1.15"]).stdout;
    assert_eq!(named, "NodePools: 1 unchanged; no node is replaced\n");
    let heavier = SOUND.replace("spec:\n  disruption", "spec:\n  weight: 5\n  disruption");
    let outcome = diff(SOUND, &heavier, &["--exit-code"]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(
        outcome.stdout.contains("changed, without drift: spec.weight"),
        "{outcome:?}"
    );
}

#[test]
fn a_pool_that_vanishes_or_may_not_change_so_puts_all_its_nodes_at_stake() {
    let old = SOUND.to_owned() + STATUS;
    let other = SOUND.replace("name: general", "name: other");
    let outcome = diff(&old, &other, &[]);
    assert!(
        outcome.stdout.contains("NodePool general vanishes (old.yaml:1)"),
        "{outcome:?}"
    );
    assert!(
        outcome
            .stdout
            .contains("all its 40 nodes are drained immediately, past every budget"),
        "{outcome:?}"
    );
    assert!(
        outcome.stdout.contains("NodePool other appears (new.yaml:1)"),
        "{outcome:?}"
    );
    let fixed = "replicas: 3\n  disruption";
    let fixed = SOUND
        .replace("disruption", fixed)
        .replace("    cpu: \"100\"\n    memory: 100Gi\n", "    nodes: \"5\"\n");
    let kind = SOUND
        .replace("kind: EC2NodeClass", "kind: Other")
        .replace("karpenter.k8s.aws", "example.com");
    for new in [&other, &fixed, &kind] {
        assert_eq!(json(&old, new, &[])["nodesAtStake"], 40, "{new}");
    }
    let rejected = diff(&old, &kind, &[]).stdout;
    let said = rejected.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("the API server rejects this, and a forced replacement deletes all nodes"),
        "{said}"
    );
    assert!(!said.contains("this change replaces"), "{said}");
}

#[test]
fn the_exit_code_follows_nodes_and_findings_only_if_it_is_asked_to() {
    let (old, new) = (labelled("blue") + STATUS, labelled("red"));
    let code = |old: &str, new: &str, arguments: &[&str]| diff(old, new, arguments).status.code();
    assert_eq!(code(&old, &new, &[]), Some(0));
    assert_eq!(code(&old, &new, &["--max-drift=40"]), Some(0));
    assert_eq!(code(&old, &new, &["--max-drift=39"]), Some(1));
    let unknown = diff(&labelled("blue"), &new, &["--max-drift=1000"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(
        unknown
            .stderr
            .contains("the number of nodes of NodePool general is unknown. Add --nodes"),
        "{unknown:?}"
    );
    assert_eq!(
        code(&labelled("blue"), &new, &["--max-drift=3", "--nodes=3"]),
        Some(0)
    );

    let bad = old.replace("cpu: \"100\"", "cpu: \"-1\"");
    assert_eq!(code(&old, &bad, &["--fail-on-new"]), Some(1));
    assert_eq!(code(&bad, &bad, &["--fail-on-new"]), Some(0));
    let gone = diff(&bad, &old, &["--fail-on-new"]);
    assert_eq!(gone.status.code(), Some(0));
    assert!(gone.stdout.contains("gone error: spec.limits.cpu"), "{gone:?}");
    let full = old.replace("cpu: \"100\"", "cpu: \"50\"");
    let below = diff(&old, &full, &["--fail-on-new"]);
    assert_eq!(below.status.code(), Some(1), "80 are in use: {below:?}");
    assert!(below.stdout.contains("[limit-below-use]"), "{below:?}");
    let second = SOUND
        .replace("name: general", "name: second")
        .replace("nodes: 10%", "nodes: 5x%");
    assert_eq!(
        code(&old, &format!("{old}---\n{second}"), &["--fail-on-new"]),
        Some(1),
        "a new pool"
    );
}

#[test]
fn what_a_policy_wants_acknowledged_comes_with_the_value_that_does_it() {
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndrift: {acknowledge: {pools: [gen*]}}\n";
    let (old, new) = (labelled("blue"), labelled("red"));
    let compared = |new: &str| -> Value {
        let folder = directory(&[("old.yaml", &*old), ("new.yaml", new), (".poolgate.yaml", policy)]);
        let outcome = diff_in(folder.path(), &["old.yaml", "new.yaml", "--output=json"]);
        serde_json::from_str::<Value>(&outcome.stdout).expect("JSON")["pools"][0]["drift"]["acknowledge"]
            .take()
    };
    let digest = compared(&new);
    let digest = digest.as_str().expect("a digest");
    let annotation =
        format!("  name: general\n  annotations: {{poolgate.dev/acknowledge-drift: \"{digest}\"}}\n");
    assert_eq!(
        compared(&new.replace("  name: general\n", &annotation)),
        Value::Null
    );
}

#[test]
fn pools_of_one_name_in_several_places_are_compared_by_path_or_not_at_all() {
    let (blue, red) = (labelled("blue"), labelled("red"));
    let folder = directory(&[
        ("old/eu/pool.yaml", &*blue),
        ("old/us/pool.yaml", &*blue),
        ("new/eu/pool.yaml", &*blue),
        ("new/us/pool.yaml", &*red),
        ("moved/eu/pool.yaml", &*blue),
        ("moved/us/general.yaml", &*red),
    ]);
    let by_path = diff_in(folder.path(), &["old", "new"]).success();
    assert!(
        by_path.starts_with("NodePool general changes (new/us/pool.yaml:1)"),
        "{by_path}"
    );
    assert!(
        by_path.contains("NodePools: 1 changed, 1 unchanged; the number of replaced nodes is unknown\n"),
        "{by_path}"
    );
    let ambiguous = diff_in(folder.path(), &["old", "moved"]);
    assert_eq!(
        (ambiguous.status.code(), ambiguous.stdout.as_str()),
        (Some(2), "")
    );
    for said in [
        "NodePool general",
        "old/us/pool.yaml:1",
        "moved/us/general.yaml:1",
        "the manifests of one cluster",
    ] {
        assert!(ambiguous.stderr.contains(said), "{said}: {ambiguous:?}");
    }
    let moved = diff_in(folder.path(), &["old/us", "moved/us"]).success();
    assert!(
        moved.starts_with("NodePool general changes (moved/us/general.yaml:1)"),
        "{moved}"
    );
}

#[test]
fn what_cannot_be_compared_is_an_error_that_says_why() {
    let folder = directory(&[
        ("pool.yaml", SOUND),
        (
            "template.yaml",
            &SOUND.replace("name: general", "name: '{{ .Values.name }}'"),
        ),
        ("broken.yaml", "a: ["),
    ]);
    for (arguments, why) in [
        (
            &["pool.yaml"][..],
            "give OLD and NEW, or --git REVISION or --cluster with NEW alone",
        ),
        (&["-", "-"], "standard input can be read only once"),
        (&["pool.yaml", "nowhere.yaml"], "nowhere.yaml"),
        (&["pool.yaml", "broken.yaml"], "broken.yaml:1:4"),
        (
            &["pool.yaml", "template.yaml"],
            "it is a template. Render it first",
        ),
        (&["--git=HEAD", "pool.yaml"], "not a git repository"),
        (&["--git=--help", "pool.yaml"], "is not a revision"),
        (&["--git=HEAD", "-"], "--git compares files, not standard input"),
        (
            &["--nodes=gpu=4", "pool.yaml", "pool.yaml"],
            "--nodes gpu: there is no NodePool of this name",
        ),
        (
            &["--context=prod", "pool.yaml", "pool.yaml"],
            "--context prod has no effect without --cluster",
        ),
    ] {
        let outcome = diff_in(folder.path(), arguments);
        assert_eq!(
            (outcome.status.code(), outcome.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        assert!(outcome.stderr.contains(why), "{arguments:?}: {outcome:?}");
    }
}

#[test]
fn a_revision_has_the_files_that_are_read_today_and_no_others() {
    let repository = Repository::new();
    let said = repository.typed("poolgate diff --git origin/main .").success();
    assert!(
        said.contains("NodePools: 3 changed, 1 gone, 1 unchanged; the number of replaced nodes is unknown\n"),
        "each way's folder, and no templates of a chart: {said}"
    );
    let file = repository.typed("cd plain && poolgate diff --git origin/main --exit-code general.yaml");
    assert_eq!(file.status.code(), Some(1), "{file:?}");
    assert!(
        file.stdout
            .starts_with("NodePool general changes (general.yaml:1)"),
        "{file:?}"
    );
    let none = repository.typed("poolgate diff --git no/such plain/");
    assert_eq!(none.status.code(), Some(2));
    assert!(
        none.stderr.starts_with("error: --git no/such: fatal: "),
        "{none:?}"
    );
}

#[test]
fn markdown_takes_nothing_of_a_manifest_for_its_own() {
    let odd = labelled("blue").replace("team:", "\"a*_<b>`|@all\":");
    let outcome = diff(SOUND, &odd, &["--output=markdown"]).success();
    assert!(
        outcome.starts_with(
            "**NodePools: 1 changed; the number of replaced nodes is unknown**\n\nNodePool general"
        ),
        "{outcome}"
    );
    assert!(outcome.contains(r"a\*\_\<b\>\`\|\@all"), "{outcome}");
}

#[test]
fn without_a_path_a_revision_is_compared_with_the_current_directory() {
    let repository = Repository::new();
    let named = repository.typed("poolgate diff --git origin/main .").success();
    assert_eq!(
        repository.typed("poolgate diff --git origin/main").success(),
        named
    );
    let nothing = repository.typed("poolgate diff");
    assert!(nothing.stderr.contains("give OLD and NEW"), "{nothing:?}");
}

/// The names and the texts are larger than a pipe. A reader that sent all names first would never end.
#[test]
fn a_revision_of_many_large_files_is_read_by_one_process() {
    let repository = Repository::new();
    let filler = "# a line that takes room\n".repeat(4000);
    let folder = repository.tree().join("many");
    fs::create_dir(&folder).expect("a folder");
    for number in 0..300 {
        let pool = SOUND.replace("name: general", &format!("name: pool-{number}"));
        fs::write(folder.join(format!("{number}.yaml")), format!("{pool}{filler}")).expect("a file");
    }
    let made = repository.typed(
        "git add many && git -c user.name=a -c user.email=a@example.com -c commit.gpgsign=false commit -qm many",
    );
    assert!(made.status.success(), "{made:?}");
    let said = repository
        .typed("GIT_TRACE=$HOME/trace poolgate diff --git HEAD many")
        .success();
    assert!(said.starts_with("NodePools: 300 unchanged;"), "{said}");
    let calls = repository
        .typed("grep -c 'built-in: git cat-file' $HOME/trace")
        .success();
    assert_eq!(calls, "1\n");
}
