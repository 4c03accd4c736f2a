//! Users can type the examples in `--help`.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::reference;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::{Outcome, run};
use crate::support::program::{poolgate, root};

/// The help of a command.
fn help(command: &[&str]) -> String {
    let outcome = run(&mut poolgate(&[command, &["--help"]].concat()), "");
    assert!(outcome.status.success(), "{command:?}: {outcome:?}");
    outcome.stdout
}

/// Every command with its help, including subcommands.
fn commands(above: &[&str], found: &mut Vec<(String, String)>) {
    let help = help(above);
    for name in reference::commands(&help) {
        commands(&[above, &[name]].concat(), found);
    }
    found.push((above.join(" "), help));
}

/// The lines of the examples, without their comments.
fn examples(help: &str) -> Vec<&str> {
    let lines = help.split("Examples:\n").nth(1).unwrap_or_default().lines();
    let lines = lines.map(|line| line.trim().split("   ").next().unwrap_or_default());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Cases for its policy.
const CASES: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: PolicyTest\npolicy: policy.yaml\ncases: [{name: sound, file: pool.yaml, expect: []}]\n";

/// A folder with the files that examples and pages name, and with programs that print what others would.
pub struct Scene(TempDir);

impl Scene {
    pub fn new() -> Self {
        let crd = fs::read_to_string(root().join("tests/data/crds/karpenter-1.15.0-nodepools.yaml"))
            .expect("a CRD");
        let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";
        let pools = "#!/bin/sh\ncat pools/general.yaml\n";
        let scene = directory(&[
            ("pools/general.yaml", SOUND),
            ("a.yaml", SOUND),
            ("old.yaml", SOUND),
            ("new.yaml", SOUND),
            ("b.json", "[]"),
            ("overlays/prod/kustomization.yaml", ""),
            ("chart/Chart.yaml", ""),
            ("base.yaml", ""),
            ("prod.yaml", ""),
            ("pool.yaml", SOUND),
            ("policy.yaml", policy),
            ("cases.yaml", CASES),
            (
                "deploy.yaml",
                include_str!("../../docs/examples/pods/deploy.yaml"),
            ),
            (
                "daemonsets.yaml",
                include_str!("../cases/why/machines/daemons.yaml"),
            ),
            ("types.json", include_str!("../cases/why/machines/types.json")),
            ("crd.yaml", &crd),
            ("base.env", "NAME=general\n"),
            ("prod.env", "NODES=10\n"),
            (".config/fish/completions/kubectl.fish", ""),
            (".local/share/bash-completion/completions/kubectl", ""),
            (
                "review.json",
                include_str!("../../docs/examples/five-mistakes.review.json"),
            ),
            ("bin/flux", pools),
            ("bin/helm", pools),
            ("bin/kustomize", pools),
            ("bin/man", "#!/bin/sh\ngrep -q '^.TH'\n"),
            ("bin/reviewdog", "#!/bin/sh\ncat >/dev/null\n"),
            (
                "bin/kubectl",
                "#!/bin/sh\ncase \"$*\" in\n\"get crd \"*) cat crd.yaml;;\n\"get nodepools \"* | kustomize*) cat \
                 pools/general.yaml;;\n\"replace -f -\") grep -q nodeLimitMode;;\npoolgate*) shift; exec \
                 kubectl-poolgate \"$@\";;\n*) exit 9;;\nesac\n",
            ),
        ]);
        let bin = scene.path().join("bin");
        let program = poolgate(&[]);
        for name in ["poolgate", "kubectl-poolgate"] {
            std::os::unix::fs::symlink(program.get_program(), bin.join(name)).expect("a link");
        }
        Self(scene)
    }

    /// Makes the scene a repository whose remote branch has its pools.
    fn commit(&self) {
        let made = self.typed(
            "git init -q . && git add pools && git -c user.name=a -c user.email=a@example.com -c commit.gpgsign=false commit \
             -qm pools && git update-ref refs/remotes/origin/main HEAD",
        );
        assert!(made.status.success(), "{made:?}");
    }

    /// Runs a line that the help of a command or a page shows. Servers, also that of an editor, and commands that need a
    /// cluster are called with `--help` added: an unknown flag then still fails. Other tests run them.
    pub fn does_its_work(&self, shown_in: &str, line: &str) {
        if line.contains("--git ") {
            self.commit();
        }
        let help = if is_for_a_cluster(line) { " --help" } else { "" };
        // For zsh; the shell of the tests is bash.
        let outcome = self.typed(&format!("fpath=(. .); {line}{help}"));
        // A review may be denied, a difference found, and a pod refused.
        let most = i32::from(
            ["admit", "--diff", "why pod"]
                .iter()
                .any(|one| line.contains(one)),
        );
        let code = outcome.status.code();
        assert!(
            code.is_some_and(|code| code <= most),
            "{shown_in}: {line}: {outcome:?}"
        );
        assert!(
            !outcome.stderr.contains("0 NodePools"),
            "{shown_in}: {line}: {outcome:?}"
        );
    }

    /// Runs a line in the scene.
    pub fn typed(&self, line: &str) -> Outcome {
        let path = std::env::var("PATH").unwrap_or_default();
        let scene = self.0.path();
        let mut shell = Command::new("bash");
        shell
            .args(["-o", "pipefail", "-c", line])
            .current_dir(scene)
            .env("HOME", scene)
            .env("PATH", format!("{}:{path}", scene.join("bin").display()));
        for (name, _) in poolgate(&[]).get_envs() {
            shell.env_remove(name);
        }
        run(&mut shell, "")
    }
}

fn is_for_a_cluster(line: &str) -> bool {
    let commands = [
        "serve",
        "gate",
        "reconcile",
        "certificates",
        "status",
        "rollout",
        "freeze",
        "unfreeze",
    ];
    let named = line.split(' ').nth(1).unwrap_or_default();
    commands.contains(&named)
        || named == "lsp"
        || line.contains("why node")
        || line.contains("why pool")
        || line.contains(" --cluster")
}

#[test]
fn every_help_has_examples_and_each_does_what_it_says() {
    let mut all = Vec::new();
    commands(&[], &mut all);
    assert!(all.len() > 15, "{all:?}");
    for (command, help) in &all {
        let examples = examples(help);
        assert!(!examples.is_empty(), "poolgate {command} --help shows no example");
        for line in examples {
            Scene::new().does_its_work(command, line);
        }
    }
}

#[test]
fn a_link_with_kubectls_prefix_is_a_plugin() {
    let outcome = Scene::new().typed("kubectl poolgate lint pools/");
    assert!(outcome.status.success(), "{outcome:?}");
}

/// `script` simulates the terminal.
#[test]
fn a_terminal_is_reported_what_is_waited_for_and_a_pipe_is_not() {
    let scene = Scene::new();
    for (command, wanted) in [
        ("poolgate lint -", "waiting for manifests on standard input"),
        (
            "poolgate admit",
            "waiting for an AdmissionReview on standard input",
        ),
        (
            "poolgate crd patch",
            "waiting for the NodePool CRD (kubectl get crd ",
        ),
    ] {
        let said = scene.typed(&format!("script -qec '{command}' /dev/null </dev/null; true"));
        assert!(said.stdout.contains(wanted), "{command}: {said:?}");
        let piped = scene.typed(&format!("{command} </dev/null; true"));
        assert!(!piped.stderr.contains("waiting"), "{command}: {piped:?}");
    }
}

/// Both read standard input where no path is named. Who types them alone has forgotten the path.
#[test]
fn default_and_budgets_do_not_wait_for_a_terminal() {
    let scene = Scene::new();
    for command in [
        "poolgate default",
        "poolgate budgets",
        "poolgate budgets -",
        "poolgate default --diff -",
    ] {
        let line = format!("script -qec \"{command}; echo code \\$?\" /dev/null </dev/null");
        let said = scene.typed(&line).stdout;
        assert!(
            said.contains("error: standard input is a terminal"),
            "{command}: {said}"
        );
        assert!(said.contains("code 2"), "{command}: {said}");
        let piped = scene.typed(&format!("{command} <pool.yaml; true"));
        assert!(!piped.stderr.contains("terminal"), "{command}: {piped:?}");
    }
}
