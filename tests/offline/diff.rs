//! `poolgate diff` as a user runs it: files, revisions of Git, and the page's commands over a sample repository.

mod stakes;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::pages::shown;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::{Outcome, run};
use crate::support::program::{poolgate, root, run_in};
use crate::support::schemas::assert_described;

/// Prints what `kustomize build FOLDER` and `helm template CHART --values FILE` would, of what the sample has.
const KUSTOMIZE: &str = "#!/bin/sh\ncat \"$2\"/general.yaml\n";
const HELM: &str = "#!/bin/sh\nteam=$(sed -n 's/^team: //p' \"$4\")\nprintf -- '---\\n# Source: pools/templates/general.yaml\\n'\n\
                    sed \"s/{{ .Values.team }}/$team/\" \"$2\"/templates/general.yaml\n";

/// A working tree with the sample's new files, whose `origin/main` has the old ones.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let scene = directory(&[("bin/kustomize", KUSTOMIZE), ("bin/helm", HELM)]);
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
    let report = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_described(&report);
    report
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
