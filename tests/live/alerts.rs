//! The alerts and the dashboard that are shipped, as Prometheus takes them: on a bad day those fire that should, on a good day none. Both
//! days are recorded here, from processes that are well or in trouble.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::CertificateParams;
use serde_json::{Value, json};

use crate::support::assets::program;
use crate::support::authority::Authority;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::files::directory;
use crate::support::fleet::Fleet;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::process::{Outcome, run};
use crate::support::reconciler::{LEDGERS, Reconciler};
use crate::support::rendered::rendered;
use crate::support::running::Running;
use crate::support::wait::wait_for;

const ALERTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/helm/files/alerts.yaml");
const DASHBOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/helm/files/dashboard.json");
const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const DAY: Duration = Duration::from_hours(24);

fn promtool(arguments: &[&str]) -> Outcome {
    run(Command::new(program("promtool")).args(arguments), "")
}

/// What a Prometheus has seen.
#[derive(Default)]
struct Recording {
    /// By the name of each series.
    series: BTreeMap<String, f64>,
    /// Those that change, as promtool writes their values.
    moving: BTreeMap<String, String>,
    /// Whether all processes are gone after ten minutes.
    ends: bool,
    /// How many minutes a step takes instead of one.
    step: Option<u32>,
}

impl Recording {
    /// Scrapes a process that has seen what it watches.
    fn scrape(&mut self, instance: &str, process: &Running) {
        let text = wait_for("every watch to be up", || {
            let (_, text) = process.probe("/metrics");
            let is_down = |line: &str| line.starts_with("poolgate_watch_up{") && line.ends_with(" 0");
            (!text.is_empty() && !text.lines().any(is_down)).then_some(text)
        });
        self.read(instance, &text);
    }

    fn read(&mut self, instance: &str, text: &str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let mut value: f64 = value.parse().expect("a number");
            // To Prometheus the day begins in 1970.
            if name.contains("_timestamp_seconds") {
                value -= now.as_secs_f64();
            }
            let name = match name.split_once('{') {
                Some((name, labels)) => format!("{name}{{instance=\"{instance}\",{labels}"),
                None => format!("{name}{{instance=\"{instance}\"}}"),
            };
            self.series.insert(name, value);
        }
    }

    /// Which alerts fire within 120 steps of it, as Prometheus has it.
    #[track_caller]
    fn expect_firing(&self, expected: &[&str]) {
        let series: Vec<Value> = self
            .series
            .iter()
            .map(|(name, value)| {
                let is_counter = name.contains("_total{") || name.contains("_count{");
                let before = if is_counter { 0.0 } else { *value };
                let after = if self.ends {
                    "stale".to_owned()
                } else {
                    format!("{value}+0x130")
                };
                json!({"series": name, "values": format!("{before}+0x10 {after}")})
            })
            .chain(
                self.moving
                    .iter()
                    .map(|(name, values)| json!({"series": name, "values": values})),
            )
            .collect();
        let samples: Vec<Value> = expected
            .iter()
            .map(|alert| json!({"labels": format!("{{alertname=\"{alert}\"}}"), "value": 1}))
            .collect();
        let step = self.step.unwrap_or(1);
        let end = format!("{}m", 120 * step);
        let tests = json!({
            "rule_files": [ALERTS],
            "evaluation_interval": format!("{step}m"),
            "tests": [{
                "interval": format!("{step}m"),
                "input_series": series,
                "promql_expr_test": [{
                    // At least one of each; how many does not matter.
                    "expr": format!("group by (alertname) (max_over_time(ALERTS{{alertstate=\"firing\"}}[{end}]))"),
                    "eval_time": end,
                    "exp_samples": samples,
                }],
            }],
        });
        let files = directory(&[("day.yaml", &tests.to_string())]);
        let day = files.path().join("day.yaml");
        let tested = promtool(&["test", "rules", day.to_str().expect("a path")]);
        assert!(tested.status.success(), "{}{}", tested.stdout, tested.stderr);
    }
}

/// A server's certificate that expires after a time, as files.
fn certificate(life: Duration) -> tempfile::TempDir {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("names");
    params.not_after = (SystemTime::now() + life).into();
    let issued = Authority::named("a test's").issue(&params);
    directory(&[("tls.crt", &issued.certificate), ("tls.key", &issued.key)])
}

fn flags(files: &tempfile::TempDir) -> [String; 2] {
    let path = |name: &str| files.path().join(name).display().to_string();
    [
        format!("--tls-cert={}", path("tls.crt")),
        format!("--tls-key={}", path("tls.key")),
    ]
}

#[test]
fn prometheus_takes_the_alerts_and_on_a_good_day_none_fires() {
    let checked = promtool(&["check", "rules", ALERTS]);
    assert!(checked.status.success(), "{}{}", checked.stdout, checked.stderr);
    let files = certificate(60 * DAY);
    let [certificate, key] = flags(&files);
    let server = Poolgate::start(&["--no-cluster", &certificate, &key]);
    let mut day = Recording::default();
    day.scrape("poolgate-1", &server);
    assert!(day.series.len() > 30, "{:?}", day.series);
    day.expect_firing(&[]);
}

#[test]
fn prometheus_takes_every_question_of_the_dashboard() {
    let dashboard = fs::read_to_string(DASHBOARD).expect("a dashboard");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let rules: Vec<Value> = targets
        .enumerate()
        .map(|(number, target)| json!({"record": format!("question:{number}"), "expr": target["expr"]}))
        .collect();
    assert!(rules.len() > 15, "{rules:?}");
    let rules = json!({"groups": [{"name": "dashboard", "rules": rules}]});
    let files = directory(&[("rules.yaml", &rules.to_string())]);
    let rules = files.path().join("rules.yaml");
    let checked = promtool(&["check", "rules", rules.to_str().expect("a path")]);
    assert!(checked.status.success(), "{}{}", checked.stdout, checked.stderr);
}

#[test]
fn an_alert_fires_if_no_reconciler_is_left_and_not_because_of_those_that_observe() {
    let plane = ControlPlane::start();
    let _fleet = Fleet::in_cluster(&plane);
    plane
        .kubectl(&["apply", "-f", "-"], &rendered("gate", &[]))
        .success();
    let account = plane.kubeconfig_of("poolgate-system", "poolgate-reconciler");
    let mut day = Recording::default();
    for instance in ["observing-1", "observing-2"] {
        let observing = Reconciler::start(&account, &[LEDGERS, "--observe"]);
        wait_for("a leader", || observing.leads().then_some(()));
        day.scrape(instance, &observing);
    }
    day.expect_firing(&[]);
    let leader = Reconciler::start(&account, &[LEDGERS]);
    wait_for("a leader", || leader.leads().then_some(()));
    day.scrape("poolgate-reconciler-1", &leader);
    day.expect_firing(&[]);
    day.read("poolgate-reconciler-1", "poolgate_leader 0");
    day.expect_firing(&["PoolgateNoSingleLeader"]);
    day.read("poolgate-reconciler-1", "poolgate_leader 1");
    day.ends = true;
    day.expect_firing(&["PoolgateNoSingleLeader"]);
}

#[test]
fn a_rollout_is_stuck_if_it_may_move_and_does_not() {
    let always = |nodes: i32| format!("{nodes}+0x130");
    let tries = |first: i32, second: i32| format!("{first} {second} ").repeat(65);
    for (what, waiting, replacing, blocked, allowed, is_stuck) in [
        ("nothing goes", always(40), always(0), always(0), 4, true),
        ("a drain does not end", always(3), always(1), always(0), 1, true),
        (
            "the last drain does not end",
            always(0),
            always(1),
            always(0),
            1,
            true,
        ),
        ("each try fails", tries(3, 2), tries(0, 1), always(0), 1, true),
        ("it moves", "400-1x130".to_owned(), always(4), always(0), 4, false),
        ("the window is closed", always(40), always(0), always(0), 0, false),
        ("the rest is blocked", always(3), always(0), always(3), 4, false),
        ("one is not blocked", always(3), always(0), always(2), 4, true),
        ("it is over", always(0), always(0), always(0), 4, false),
    ] {
        println!("{what}");
        let mut day = Recording::default();
        for (state, nodes) in [("waiting", waiting), ("replacing", replacing)] {
            let name = format!("poolgate_nodepool_nodes{{nodepool=\"general\",state=\"{state}\"}}");
            day.moving.insert(name, nodes);
        }
        let by_pods = "poolgate_nodepool_blocked_nodes{nodepool=\"general\",cause=\"pod_disruption_budget\"}";
        day.moving.insert(by_pods.to_owned(), blocked);
        let name = "poolgate_nodepool_allowed_disruptions{nodepool=\"general\",reason=\"Drifted\"}";
        day.moving.insert(name.to_owned(), always(allowed));
        let up_to_date = "poolgate_nodepool_nodes{nodepool=\"general\",state=\"up_to_date\"}";
        day.moving.insert(up_to_date.to_owned(), "0+1x130".to_owned());
        let expected: &[&str] = if is_stuck { &["PoolgateRolloutStuck"] } else { &[] };
        day.expect_firing(expected);
    }
}

#[test]
fn nodes_are_blocked_if_as_many_were_for_a_day_by_what_does_not_pass() {
    for (cause, nodes, fires) in [
        ("pod_disruption_budget", "2+0x130".to_owned(), true),
        ("deleting", "1+0x130".to_owned(), true),
        ("budget_closed", "9+0x130".to_owned(), false),
        ("pod_disruption_budget", "2 3 ".repeat(65), false),
        ("pod_do_not_disrupt", "0+0x130".to_owned(), false),
    ] {
        let mut days = Recording {
            step: Some(20),
            ..Recording::default()
        };
        let name = format!("poolgate_nodepool_blocked_nodes{{nodepool=\"general\",cause=\"{cause}\"}}");
        days.moving.insert(name, nodes);
        let expected: &[&str] = if fires { &["PoolgateNodesBlocked"] } else { &[] };
        days.expect_firing(expected);
    }
}

#[test]
fn on_a_bad_day_those_alerts_fire_that_should() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    let mut day = Recording::default();
    plane
        .kubectl(&["apply", "-f", "-"], &rendered("gate", &[]))
        .success();

    // A certificate that expires in three days, a policy that cannot be read, and an empty caBundle.
    let files = certificate(3 * DAY);
    let [certificate, key] = flags(&files);
    let policy = files.path().join("policy.yaml");
    fs::write(&policy, "kind: Nonsense\n").expect("a file");
    let policy = format!("--policy={}", policy.display());
    let account = plane.kubeconfig_of("poolgate-system", "poolgate");
    let account = format!("--kubeconfig={}", account.display());
    let server = Poolgate::start(&[&certificate, &key, &policy, "--policy-optional", &account]);
    let missing = "poolgate_registration_problems{problem=\"no_ca_bundle\"}";
    server.wait_for_metric(missing, 2.0);
    day.scrape("poolgate-1", &server);

    // So requests under Ignore are admitted without a review, and those under Fail are not.
    let client = Client::of(&plane);
    let path = format!("{CONFIGURATIONS}/poolgate");
    let mut ignoring = client.get(&path).expect("a configuration");
    ignoring["webhooks"][0]["failurePolicy"] = json!("Ignore");
    client.replace(&path, &ignoring);
    let create = |name: &str| {
        let pool = node_pool(name, &json!({"limits": {"memory": "-1Gi"}}));
        client.try_create(&format!("{POOLS}?dryRun=All"), &pool)
    };
    let failed_open = "apiserver_admission_webhook_fail_open_count{name=\"validate.nodepools.poolgate.dev\",type=\"validating\"}";
    wait_for("the API server to fail open", || {
        let _ = create("unchecked");
        client.metric(failed_open).filter(|count| *count > 0.0)
    });
    ignoring = client.get(&path).expect("a configuration");
    ignoring["webhooks"][0]["failurePolicy"] = json!("Fail");
    client.replace(&path, &ignoring);
    wait_for("a denial", || create("denied").is_err().then_some(()));
    for name in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let all = ["delete", name, "--selector=app.kubernetes.io/part-of=poolgate"];
        plane.kubectl(&all, "").success();
    }
    let counted = plane.kubectl(&["get", "--raw", "/metrics"], "").success();
    let of_webhooks: Vec<&str> = counted
        .lines()
        .filter(|line| line.starts_with("apiserver_admission_webhook_") && line.contains("poolgate.dev"))
        .collect();
    day.read("api-server", &of_webhooks.join("\n"));

    // A pool above its limit, with a node that Karpenter may not repair for now, and certificates that cannot be kept.
    fleet.pool("general", 1, &json!({}));
    fleet.busy("general", "node-a");
    fleet.busy("general", "node-b");
    let marks = json!({"metadata": {
        "labels": {"poolgate.dev/held": "true"},
        "annotations": {"karpenter.sh/do-not-repair": "true", "poolgate.dev/held-for": "repair"},
    }});
    fleet.change_node("node-b", &marks);
    let account = plane.kubeconfig_of("poolgate-system", "poolgate-reconciler");
    let reconciler = Reconciler::start(&account, &[LEDGERS]);
    for metric in ["excess_nodes", "unrepaired_nodes"] {
        let metric = format!("poolgate_nodepool_{metric}{{nodepool=\"general\"}}");
        reconciler.wait_for_metric(&metric, 1.0);
    }
    // A drifted node that Karpenter, which does not run here, could replace.
    fleet.pool("stuck", 5, &json!({}));
    fleet.busy("stuck", "node-c");
    reconciler.wait_for_metric(
        "poolgate_nodepool_nodes{nodepool=\"stuck\",state=\"waiting\"}",
        1.0,
    );
    // A node for which no new one comes: that takes 15 minutes.
    let stopped = "poolgate_replacements_total{reason=\"Unhealthy\",outcome=\"stopped\"}";
    reconciler.wait_for_metric(stopped, 0.0);
    day.scrape("poolgate-reconciler-1", &reconciler);
    day.read("poolgate-reconciler-1", &format!("{stopped} 1"));
    let account = format!("--kubeconfig={}", account.display());
    let keeper = Running::start(Running::directory(), &["certificates", &account]);
    keeper.wait_for_metric("poolgate_certificates_failing", 1.0);
    day.scrape("poolgate-certificates-1", &keeper);

    day.expect_firing(&[
        "PoolgateFailClosed",
        "PoolgateCertificateExpiring",
        "PoolgateCertificateRenewalFailing",
        "PoolgateNodesAboveLimit",
        "PoolgateBrokenNodesWaiting",
        "PoolgateFailOpen",
        "PoolgatePolicyLoadFailed",
        "PoolgateWebhookMisconfigured",
        "PoolgateReplacementsStopped",
        "PoolgateRolloutStuck",
    ]);
}
