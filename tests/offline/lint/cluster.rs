//! `--cluster` without a cluster to read.

use std::fs;

use crate::no_cluster::{kubeconfig, refusing};
use crate::support::process::{self, Outcome};
use crate::support::program::poolgate;

/// Runs lint with no kubeconfig or service account on the machine in reach.
fn lint(arguments: &[&str]) -> Outcome {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = poolgate(&[&["lint"], arguments].concat());
    command
        .current_dir(directory.path())
        .env("HOME", directory.path())
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST");
    process::run(&mut command, "")
}

fn fails(arguments: &[&str], why: &str) {
    let outcome = lint(arguments);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains(why), "{why} is not in {outcome:?}");
}

#[test]
fn what_leads_to_no_cluster_is_reported_with_what_to_do() {
    let config = kubeconfig(refusing());
    let path = config.path().to_str().expect("a path");
    fails(
        &["--cluster"],
        "no cluster found: there is no kubeconfig at $KUBECONFIG or ~/.kube/config",
    );
    fails(
        &["--cluster", "--kubeconfig", "/no/such/file"],
        "--kubeconfig /no/such/file cannot be used: /no/such/file cannot be read: No such file",
    );
    fails(
        &["--cluster", "--kubeconfig", path, "--context", "red"],
        "Set --context to one of its contexts: gone",
    );
    let without = fs::read_to_string(config.path())
        .expect("a kubeconfig")
        .replace("current-context: gone\n", "");
    fs::write(config.path(), without).expect("a file can be written");
    fails(&["--cluster", "--kubeconfig", path], "one of its contexts: gone");
}

#[test]
fn a_cluster_that_cannot_be_reached_is_reported_with_its_address_in_every_format() {
    let port = refusing();
    let config = kubeconfig(port);
    let path = config.path().to_str().expect("a path");
    let why = format!("https://127.0.0.1:{port} is unreachable: ");
    fails(&["--cluster", "--kubeconfig", path], &why);
    let outcome = lint(&[
        "--cluster",
        "--kubeconfig",
        path,
        "--karpenter-version",
        "1.15",
        "--output",
        "json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("a report that is complete");
    assert!(
        report["results"][0]["title"]
            .as_str()
            .expect("a title")
            .contains(&why),
        "{report}"
    );
}

#[test]
fn a_cluster_beside_files_is_denied() {
    fails(&["--cluster", "pools"], "cannot be used with");
    fails(&["--cluster", "--fix"], "cannot be used with");
    fails(
        &["--context", "blue", "pools"],
        "--context blue has no effect without --cluster. Add --cluster",
    );
}
