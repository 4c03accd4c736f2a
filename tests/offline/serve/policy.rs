//! A policy that changes while the server runs, as a ConfigMap volume brings it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::client::review_of;
use super::server::{Server, wait_for};

/// The promise: a change takes effect within this time, at the default interval.
const PROMISE: Duration = Duration::from_secs(15);

const AT_MOST_TEN: &str = "\
apiVersion: poolgate.dev/v1alpha1
kind: Policy
bounds:
  limits:
    max: {nodes: 10}
";

/// A mounted ConfigMap: a link to a file in a directory that is replaced as a whole by moving one link.
struct ConfigMap {
    directory: PathBuf,
    generation: u32,
}

impl ConfigMap {
    fn mount(directory: &Path) -> Self {
        symlink("..data/policy.yaml", directory.join("policy.yaml")).expect("a link");
        Self {
            directory: directory.to_owned(),
            generation: 0,
        }
    }

    fn path(&self) -> String {
        let path = self.directory.join("policy.yaml");
        path.to_str().expect("a path").to_owned()
    }

    /// Replaces the contents as a kubelet does; nothing for a file that is taken away.
    fn swap(&mut self, policy: Option<&str>) {
        let old = self.directory.join(format!("..{}", self.generation));
        self.generation += 1;
        let name = format!("..{}", self.generation);
        let new = self.directory.join(&name);
        fs::create_dir(&new).expect("a directory");
        if let Some(policy) = policy {
            fs::write(new.join("policy.yaml"), policy).expect("written");
        }
        symlink(&name, self.directory.join("..data_tmp")).expect("a link");
        fs::rename(self.directory.join("..data_tmp"), self.directory.join("..data")).expect("moved");
        if old.exists() {
            fs::remove_dir_all(old).expect("removed");
        }
    }
}

/// Whether a pool of at most 20 nodes is admitted.
fn admits_twenty(server: &Server) -> bool {
    let object = json!({"metadata": {"name": "general"}, "spec": {
        "limits": {"nodes": "20"},
        "disruption": {
            "consolidateAfter": "1m", "consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "10%"}],
        },
        "template": {"spec": {
            "expireAfter": "720h",
            "terminationGracePeriod": "1h",
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
        }},
    }});
    let answer = server
        .connect()
        .post("/validate", &review_of("twenty", &object.to_string()));
    let response = &answer.json()["response"];
    let admitted = response["allowed"].as_bool().expect("a verdict");
    let message = response["status"]["message"].as_str().unwrap_or_default();
    assert!(admitted || message.contains("[policy-limit-max]"), "{answer:?}");
    admitted
}

#[test]
fn a_changed_policy_changes_the_verdict_and_a_broken_one_does_not() {
    let mount = tempfile::tempdir().expect("a directory");
    let mut config_map = ConfigMap::mount(mount.path());
    config_map.swap(Some(AT_MOST_TEN));
    let server = Server::start(&["--policy", &config_map.path()]);
    assert!(!admits_twenty(&server));
    assert_eq!(server.metric("poolgate_policy_loads_total"), 1);

    config_map.swap(Some(&AT_MOST_TEN.replace("10", "20")));
    wait_for("the new bound", PROMISE, || admits_twenty(&server).then_some(()));
    assert_eq!(server.metric("poolgate_policy_loads_total"), 2);
    assert_eq!(server.metric("poolgate_policy_load_failing"), 0);
    let (_, metrics) = server.probe("/metrics");
    let infos = metrics
        .lines()
        .filter(|line| line.starts_with("poolgate_policy_info{"));
    let infos: Vec<&str> = infos.collect();
    assert!(
        infos.len() == 1 && infos[0].contains("source=\"file\""),
        "{infos:?}"
    );

    config_map.swap(Some(&AT_MOST_TEN.replace("max:", "most:")));
    wait_for("the failure to show", PROMISE, || {
        (server.metric("poolgate_policy_load_failing") == 1).then_some(())
    });
    assert!(admits_twenty(&server), "the policy before stays in force");
    let (status, ready) = server.probe("/readyz");
    assert_eq!(status, 200, "a broken file takes no replica away: {ready}");
    let path = config_map.path();
    let place = format!("stays in force: 1 mistake in the policy: {path}:5:5: there is no field \"most\"");
    assert!(
        ready.starts_with("ok\npolicy: ") && ready.contains(&place),
        "{ready}"
    );

    config_map.swap(Some(AT_MOST_TEN));
    wait_for("the mended policy", PROMISE, || {
        (!admits_twenty(&server)).then_some(())
    });
    assert_eq!(server.metric("poolgate_policy_load_failing"), 0);
    assert_eq!(server.metric("poolgate_policy_load_errors_total"), 1);
    assert_eq!(server.logged("policy in force").len(), 3, "{}", server.log());
    let message = "the policy file cannot be used; the policy before stays in force";
    assert_eq!(server.logged(message).len(), 1, "{}", server.log());
    server.assert_works();
}

#[test]
fn an_optional_policy_may_come_and_go() {
    let mount = tempfile::tempdir().expect("a directory");
    let mut config_map = ConfigMap::mount(mount.path());
    let path = config_map.path();
    let server = Server::start(&[
        "--policy",
        &path,
        "--policy-optional",
        "--policy-poll-interval",
        "100ms",
    ]);
    assert!(admits_twenty(&server));
    let (_, ready) = server.probe("/readyz");
    assert!(
        ready.starts_with("ok\npolicy: the built-in policy (there is no "),
        "{ready}"
    );
    config_map.swap(Some(AT_MOST_TEN));
    wait_for("the policy", PROMISE, || (!admits_twenty(&server)).then_some(()));
    config_map.swap(None);
    wait_for("the built-in policy", PROMISE, || {
        admits_twenty(&server).then_some(())
    });
    assert_eq!(server.metric("poolgate_policy_load_errors_total"), 0);
}
