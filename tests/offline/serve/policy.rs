//! A policy that changes while the server runs, as a ConfigMap volume delivers it.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Connection, assert_works, review};
use crate::support::mount::Mount;
use crate::support::poolgate::Poolgate;
use crate::support::program;
use crate::support::wait::wait_for;

const FILE: &str = "policy.yaml";

const AT_MOST_TEN: &str = "\
apiVersion: poolgate.dev/v1alpha1
kind: Policy
bounds:
  limits:
    max: {nodes: 10}
";

/// A mounted ConfigMap with a policy, or without.
struct ConfigMap(Mount);

impl ConfigMap {
    fn mount() -> Self {
        Self(Mount::of(&[FILE]))
    }

    fn path(&self) -> String {
        self.0.path(FILE)
    }

    fn swap(&mut self, policy: Option<&str>) {
        match policy {
            Some(policy) => self.0.swap(&[(FILE, policy)]),
            None => self.0.swap(&[]),
        }
    }
}

/// Whether a pool of at most 20 nodes is admitted.
fn admits_twenty(server: &Poolgate) -> bool {
    let twenty = review("twenty", &json!({"limits": {"nodes": "20"}}));
    let answer = Connection::to(server).post("/validate", &twenty);
    let response = &answer.json()["response"];
    let admitted = response["allowed"].as_bool().expect("a verdict");
    let message = response["status"]["message"].as_str().unwrap_or_default();
    assert!(admitted || message.contains("[policy-limit-max]"), "{answer:?}");
    admitted
}

#[test]
fn a_changed_policy_changes_the_verdict_and_a_broken_one_does_not() {
    let mut config_map = ConfigMap::mount();
    config_map.swap(Some(AT_MOST_TEN));
    let server = Poolgate::serve_with(&["--policy", &config_map.path()]);
    assert!(!admits_twenty(&server));
    assert_eq!(server.metric("poolgate_policy_loads_total"), Some(1.0));

    config_map.swap(Some(&AT_MOST_TEN.replace("10", "20")));
    wait_for("the new bound", || admits_twenty(&server).then_some(()));
    assert_eq!(server.metric("poolgate_policy_loads_total"), Some(2.0));
    assert_eq!(server.metric("poolgate_policy_load_failing"), Some(0.0));
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
    server.wait_for_metric("poolgate_policy_load_failing", 1.0);
    assert!(admits_twenty(&server), "the previous policy stays in force");
    let (status, ready) = server.probe("/readyz");
    assert_eq!(status, 200, "a broken file takes no replica away: {ready}");
    let path = config_map.path();
    let place = format!("stays in force: 1 mistake in the policy: {path}:5:5: there is no field \"most\"");
    assert!(
        ready.starts_with("ok\npolicy: ") && ready.contains(&place),
        "{ready}"
    );

    config_map.swap(Some(AT_MOST_TEN));
    wait_for("the fixed policy", || (!admits_twenty(&server)).then_some(()));
    assert_eq!(server.metric("poolgate_policy_load_failing"), Some(0.0));
    assert_eq!(server.metric("poolgate_policy_load_errors_total"), Some(1.0));
    assert_eq!(server.logged("loaded the policy", 3).len(), 3, "{}", server.log());
    let message = "the policy file cannot be used; the previous policy stays in force";
    assert_eq!(server.logged(message, 1).len(), 1, "{}", server.log());
    assert_works(&server);
}

#[test]
fn a_changed_policy_is_in_force_within_fifteen_seconds() {
    let mut config_map = ConfigMap::mount();
    config_map.swap(Some(AT_MOST_TEN));
    let server = Poolgate::serve_with(&["--policy", &config_map.path()]);
    for (policy, admitted) in [
        (AT_MOST_TEN.replace("10", "20"), true),
        (AT_MOST_TEN.into(), false),
    ] {
        config_map.swap(Some(&policy));
        let began = Instant::now();
        wait_for("the new bound", || {
            (admits_twenty(&server) == admitted).then_some(())
        });
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }
}

#[test]
fn an_optional_policy_may_come_and_go() {
    let mut config_map = ConfigMap::mount();
    let path = config_map.path();
    let server = Poolgate::serve_with(&[
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
    wait_for("the policy", || (!admits_twenty(&server)).then_some(()));
    config_map.swap(None);
    wait_for("the built-in policy", || admits_twenty(&server).then_some(()));
    assert_eq!(server.metric("poolgate_policy_load_errors_total"), Some(0.0));
}

#[test]
fn a_policy_that_is_broken_at_the_start_keeps_no_replica_away_unless_it_is_required() {
    let mut config_map = ConfigMap::mount();
    config_map.swap(Some(&AT_MOST_TEN.replace("max:", "most:")));
    let server = Poolgate::serve_with(&["--policy", &config_map.path(), "--policy-poll-interval=100ms"]);
    assert!(admits_twenty(&server), "the built-in policy has no bounds");
    let negative = review("negative", &json!({"limits": {"cpu": "-1"}}));
    let answer = Connection::to(&server).post("/validate", &negative);
    assert_eq!(
        answer.json()["response"]["allowed"],
        false,
        "its rules are in force"
    );
    wait_for("a look at the file", || {
        let (_, ready) = server.probe("/readyz");
        ready
            .contains("policy: the built-in policy (1 mistake")
            .then_some(())
    });
    assert_eq!(server.metric("poolgate_policy_load_failing"), Some(1.0));
    config_map.swap(Some(AT_MOST_TEN));
    wait_for("the fixed policy", || (!admits_twenty(&server)).then_some(()));
    assert_eq!(server.metric("poolgate_policy_load_failing"), Some(0.0));

    config_map.swap(Some(&AT_MOST_TEN.replace("max:", "most:")));
    let required = [
        "serve",
        "--self-signed",
        "--no-cluster",
        "--policy-required",
        "--policy",
    ];
    let rejected = program::run(&[&required[..], &[&config_map.path()]].concat(), "");
    assert!(
        !rejected.status.success() && rejected.stderr.contains("there is no field \"most\""),
        "{rejected:?}"
    );
}
