//! The control plane that the other tests are on.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::shared::{both_versions, published};
use crate::support::control_plane::{ControlPlane, chosen_kubernetes};
use crate::support::nodepool::node_pool;
use crate::support::wait::{PATIENCE, wait_for};

/// Set for a copy of this test binary that starts a control plane, writes about it into the named file, and
/// waits to be killed.
const VICTIM: &str = "POOLGATE_TEST_VICTIM";

#[test]
fn kubectl_and_server_are_of_the_pinned_releases() {
    let plane = &published().plane;
    let version = plane.kubectl_json(&["version"], "");
    let (client, server) = (
        &version["clientVersion"]["gitVersion"],
        &version["serverVersion"]["gitVersion"],
    );
    if let Some(release) = chosen_kubernetes() {
        assert_eq!(server, &format!("v{release}"));
        return;
    }
    assert_eq!(client, server);
    // Whoever brings programs of their own decides which.
    if env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(client, pinned_kubernetes());
    }
}

fn pinned_kubernetes() -> &'static str {
    let requires = include_str!("../../programs/go.mod").lines();
    requires
        .filter_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .find_map(|version| version.split(' ').next())
        .expect("go.mod requires k8s.io/kubernetes")
}

#[test]
fn two_at_once_serve_the_crds_of_their_karpenter() {
    assert_eq!(served_versions(&published().plane), json!(["v1"]));
    assert_eq!(served_versions(&both_versions().plane), json!(["v1", "v1beta1"]));
}

fn served_versions(plane: &ControlPlane) -> Value {
    let crd = plane.kubectl_json(&["get", "crd", "nodepools.karpenter.sh"], "");
    let versions = crd["spec"]["versions"]
        .as_array()
        .expect("a CRD has versions")
        .iter();
    versions
        .filter(|version| version["served"] == true)
        .map(|version| version["name"].clone())
        .collect()
}

#[test]
fn registered_webhooks_are_in_effect_at_once() {
    let plane = &published().plane;
    // Nobody listens there: such a NodePool is denied, and that is how it shows.
    plane.register_webhooks_for("unheard-", "https://127.0.0.1:1", "");
    let pool = node_pool("unheard-pool", &json!({}));
    let answer = plane.kubectl(&["apply", "-f", "-"], &pool.to_string());
    assert!(
        answer
            .stderr
            .contains("failed calling webhook \"mutate.poolgate.dev\""),
        "{answer:?}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_dropped_control_plane_leaves_nothing() {
    let plane = ControlPlane::start();
    let directory = plane.directory().to_owned();
    assert!(processes_about(&directory) >= plane.process_ids().len());
    drop(plane);
    expect_nothing_left(&directory);
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_test_leaves_nothing() {
    if let Some(report) = env::var_os(VICTIM) {
        return be_the_victim(Path::new(&report));
    }
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let report = scratch.path().join("report");
    let mut victim = Command::new(env::current_exe().expect("a test binary has a path"))
        .args([
            "--exact",
            "live::kubernetes::harness::a_killed_test_leaves_nothing",
        ])
        .env(VICTIM, &report)
        .stdout(Stdio::null())
        .spawn()
        .expect("the test binary starts");
    let directory = wait_for("the victim to report", || {
        assert_eq!(
            victim.try_wait().expect("a child can be waited for"),
            None,
            "the victim ended"
        );
        fs::read_to_string(&report).ok().map(PathBuf::from)
    });
    assert!(processes_about(&directory) > 0);
    victim.kill().expect("the victim can be killed");
    victim.wait().expect("a killed process ends");
    expect_nothing_left(&directory);
}

fn be_the_victim(report: &Path) {
    let plane = ControlPlane::start();
    // In two steps, so that the reader never sees half a path.
    let unfinished = report.with_extension("unfinished");
    fs::write(&unfinished, plane.directory().to_str().expect("a UTF-8 path"))
        .expect("a report can be written");
    fs::rename(&unfinished, report).expect("a report can be published");
    std::thread::sleep(PATIENCE * 2);
    panic!("nobody killed the victim");
}

/// The programs and their watchers all carry the directory on their command line.
fn processes_about(directory: &Path) -> usize {
    let needle = directory.to_str().expect("a UTF-8 path");
    let processes = fs::read_dir("/proc")
        .expect("/proc can be listed")
        .filter_map(Result::ok);
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(needle))
        .count()
}

fn expect_nothing_left(directory: &Path) {
    wait_for("processes and directory to go", || {
        (processes_about(directory) == 0 && !directory.exists()).then_some(())
    });
}
