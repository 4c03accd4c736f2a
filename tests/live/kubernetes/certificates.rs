//! `poolgate certificates` with the roles and the policy that are shipped: the API server calls poolgate, and trusts it,
//! whatever becomes of certificates. (No kubelet runs: the test copies the Secret into files as one would, and calls go to a
//! URL in place of a Service.)

mod contest;
mod fence;
mod helm;
mod registration_reported;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::CertificateParams;
use serde_json::{Value, json};

use crate::support::authority::Authority;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::full::full;
use crate::support::load::Load;
use crate::support::mount::Mount;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::reconciler::LEDGERS;
use crate::support::relay::Relay;
use crate::support::rendered::rendered;
use crate::support::running::Running;
use crate::support::wait::wait_for;

/// The gate and the webhook of deletions, and certificates that poolgate issues itself.
fn manifests() -> String {
    rendered("gate", &["--set=deletion.enabled=true"])
}

pub const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
pub const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const CONFIGURATIONS: [(&str, &str); 4] = [
    (MUTATING, "poolgate"),
    (VALIDATING, "poolgate"),
    (VALIDATING, "poolgate-deletion"),
    (VALIDATING, "poolgate-gate"),
];

const SECRETS: &str = "/api/v1/namespaces/poolgate-system/secrets";

/// How long API servers have to learn of a bundle, and pods of a leaf. The slower of the two kubelets takes a second.
const TRUST: Duration = Duration::from_secs(4);
const SERVE: Duration = Duration::from_secs(12);
const SLOW: Duration = Duration::from_secs(1);

/// A control plane to which the manifests were applied.
pub struct Installed {
    pub plane: ControlPlane,
    pub client: Client,
}

impl Installed {
    pub fn new() -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        // A third of the processor time that a client-side apply takes.
        plane
            .kubectl(&["apply", "--server-side", "-f", "-"], &manifests())
            .success();
        let client = Client::of(&plane);
        Self { plane, client }
    }

    /// Starts what keeps certificates, by its own account.
    pub fn keeper(&self, arguments: &[&str]) -> Running {
        let account = self
            .plane
            .kubeconfig_of("poolgate-system", "poolgate-certificates");
        let account = account.to_str().expect("a path in UTF-8");
        let own = ["certificates", "--kubeconfig", account, "--name=127.0.0.1"];
        let (trust, serve) = (
            format!("--trust-wait={}s", TRUST.as_secs()),
            format!("--serve-wait={}s", SERVE.as_secs()),
        );
        let fast = ["--look-interval=200ms", &trust, &serve];
        Running::start(Running::directory(), &[&own[..], &fast, arguments].concat())
    }

    pub fn configuration(&self, (path, name): (&str, &str)) -> Value {
        self.client
            .get(&format!("{path}/{name}"))
            .unwrap_or_else(|| panic!("{name} is not there"))
    }

    /// Calls of reviews and of the gate go to these addresses, and what is not answered is denied.
    pub fn call(&self, [reviews, gate]: &[Relay; 2]) {
        for (path, name) in CONFIGURATIONS {
            let relay = if name == "poolgate-gate" { gate } else { reviews };
            let mut configuration = self.configuration((path, name));
            for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
                let called = webhook["clientConfig"]["service"]["path"]
                    .as_str()
                    .expect("a path");
                let url = format!("https://{}{called}", relay.address());
                webhook["clientConfig"] =
                    json!({"url": url, "caBundle": webhook["clientConfig"]["caBundle"]});
                webhook["failurePolicy"] = json!("Fail");
            }
            self.client.replace(&format!("{path}/{name}"), &configuration);
        }
    }

    /// Changes every bundle.
    fn set_bundles(&self, bundle: impl Fn(String) -> String) {
        for (path, name) in CONFIGURATIONS {
            let mut configuration = self.configuration((path, name));
            for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
                let before = decoded(&webhook["clientConfig"]["caBundle"]);
                webhook["clientConfig"]["caBundle"] = json!(STANDARD.encode(bundle(before)));
            }
            // Somebody else may be writing as well.
            wait_for("the bundles to be written", || {
                let current = self.configuration((path, name));
                configuration["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
                let replaced = self.client.try_replace(&format!("{path}/{name}"), &configuration);
                replaced.ok()
            });
        }
    }

    /// What the webhooks trust in: one text where all are the same.
    fn bundles(&self) -> BTreeSet<String> {
        let configurations = CONFIGURATIONS.map(|configuration| self.configuration(configuration));
        let webhooks = configurations
            .iter()
            .flat_map(|configuration| configuration["webhooks"].as_array().expect("webhooks"));
        webhooks
            .map(|webhook| decoded(&webhook["clientConfig"]["caBundle"]))
            .collect()
    }

    /// The value of a key of a Secret.
    fn secret(&self, name: &str, key: &str) -> String {
        let secret = self.client.get(&format!("{SECRETS}/{name}")).expect("a Secret");
        decoded(&secret["data"][key])
    }

    fn change_secret(&self, name: &str, data: &Value) {
        self.client
            .merge(&format!("{SECRETS}/{name}"), &json!({"data": data}));
    }

    /// Waits until every webhook trusts in the CA of the Secret alone, and the leaf is of that CA.
    fn wait_until_settled(&self) -> String {
        wait_for("one CA and its leaf", || {
            let ca = self.secret("poolgate-certificates", "ca.crt");
            let is_settled = !ca.is_empty()
                && self.bundles() == BTreeSet::from([ca.clone()])
                && self.secret("poolgate-certificates", "previous.crt").is_empty()
                && self.secret("poolgate-tls", "ca.crt") == ca;
            is_settled.then_some(ca)
        })
    }
}

fn decoded(value: &Value) -> String {
    let bytes = STANDARD
        .decode(value.as_str().unwrap_or_default())
        .expect("base64");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Brings the Secret to a pod's files, late, until it is dropped.
pub struct Kubelet {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    files: [String; 2],
}

impl Kubelet {
    /// Waits for both files, as the volume does.
    pub fn start(installed: &Installed, late: Duration) -> Self {
        let client = Client::of(&installed.plane);
        let mut mount = Mount::of(&["tls.crt", "tls.key"]);
        let files = ["tls.crt", "tls.key"].map(|name| mount.path(name));
        let over = Arc::new(AtomicBool::new(false));
        let pair = move || {
            let secret = client.get(&format!("{SECRETS}/poolgate-tls")).expect("a Secret");
            let pair = ["tls.crt", "tls.key"].map(|key| decoded(&secret["data"][key]));
            pair.iter().all(|file| !file.is_empty()).then_some(pair)
        };
        let mut mounted = wait_for("the Secret to be filled", &pair);
        let swap = |mount: &mut Mount, [certificate, key]: &[String; 2]| {
            mount.swap(&[("tls.crt", certificate), ("tls.key", key)]);
        };
        swap(&mut mount, &mounted);
        let stop = Arc::clone(&over);
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
                if let Some(pair) = pair().filter(|pair| *pair != mounted) {
                    thread::sleep(late);
                    swap(&mut mount, &pair);
                    mounted = pair;
                }
            }
        });
        Self {
            over,
            thread: Some(thread),
            files,
        }
    }

    /// A server with the rights of an account, and with more arguments.
    pub fn server(&self, account: &Path, arguments: &[&str]) -> Poolgate {
        Poolgate::start(&[&self.own(account)[..], arguments].concat())
    }

    /// The same of a gate.
    pub fn gate(&self, account: &Path, arguments: &[&str]) -> Poolgate {
        Poolgate::start_gate(&[&self.own(account)[..], arguments].concat())
    }

    fn own<'a>(&'a self, account: &'a Path) -> [&'a str; 7] {
        let [certificate, key] = &self.files;
        [
            "--cert-poll-interval=100ms",
            "--kubeconfig",
            account.to_str().expect("a path in UTF-8"),
            "--tls-cert",
            certificate,
            "--tls-key",
            key,
        ]
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the kubelet has died");
        }
    }
}

#[test]
fn the_manifests_applied_again_take_no_certificate_back() {
    let installed = Installed::new();
    let plane = &installed.plane;
    let mut keeper = installed.keeper(&[]);
    keeper.wait_until_ready();
    let (bundles, leaf) = (installed.bundles(), installed.secret("poolgate-tls", "tls.crt"));
    assert_eq!(bundles.len(), 1, "{bundles:?}");
    let manifests = manifests();
    let diff = plane.kubectl(&["diff", "-f", "-"], &manifests);
    assert_eq!(diff.status.code(), Some(0), "{diff:?}");
    plane.kubectl(&["apply", "-f", "-"], &manifests).success();
    let server_side = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    plane.kubectl(&server_side, &manifests).success();
    assert_eq!(installed.bundles(), bundles);
    assert_eq!(installed.secret("poolgate-tls", "tls.crt"), leaf);
    assert_eq!(
        keeper.metric("poolgate_certificates_errors_total"),
        Some(0.0),
        "{}",
        keeper.log()
    );

    // A configuration that comes later is filled, and one that is gone is not an error.
    installed.client.delete(&format!("{VALIDATING}/poolgate-gate"));
    let looked = |keeper: &Running| keeper.metric("poolgate_certificates_failing") == Some(0.0);
    plane.kubectl(&["apply", "-f", "-"], &manifests).success();
    wait_for("the new configuration to trust", || {
        (installed.bundles() == bundles && looked(&keeper)).then_some(())
    });
    assert_eq!(
        keeper.metric("poolgate_certificates_errors_total"),
        Some(0.0),
        "{}",
        keeper.log()
    );
    assert_eq!(keeper.terminate().code(), Some(0));
}

#[test]
fn rotations_under_load_lose_no_admission() {
    let installed = Installed::new();
    let plane = &installed.plane;
    let keeper = installed.keeper(&[]);
    let [account, gates_account] =
        ["poolgate", "poolgate-gate"].map(|name| plane.kubeconfig_of("poolgate-system", name));
    let kubelets = [Duration::ZERO, SLOW].map(|late| Kubelet::start(&installed, late));
    let servers = kubelets.each_ref().map(|kubelet| kubelet.server(&account, &[]));
    let gates = kubelets
        .each_ref()
        .map(|kubelet| kubelet.gate(&gates_account, &[LEDGERS]));
    let relays = [&servers, &gates].map(|replicas| {
        let relay = Relay::start();
        relay.set_targets(replicas.iter().map(Poolgate::admission).collect());
        relay
    });
    installed.call(&relays);
    // From nothing to a denial.
    let bad = node_pool("bad", &json!({"limits": {"memory": "-1Gi"}}));
    wait_for("a denial by poolgate", || {
        let answer = plane.kubectl(&["create", "--dry-run=server", "-f", "-"], &bad.to_string());
        assert!(!answer.status.success(), "{answer:?}");
        answer.stderr.contains("[limit-amount]").then_some(())
    });
    installed.wait_until_settled();

    let [authorities, leaves, swaps] = if full() { [10, 10, 3] } else { [2, 2, 1] };
    let request = |client| {
        if client % 2 == 0 {
            let pool = node_pool(&format!("asked-{client}"), &json!({}));
            ("/apis/karpenter.sh/v1/nodepools?dryRun=All", pool)
        } else {
            let claim = node_claim(&format!("asked-{client}"), "asked");
            ("/apis/karpenter.sh/v1/nodeclaims?dryRun=All", claim)
        }
    };
    let load = Load::during(plane, request, |load| {
        for _ in 0..authorities {
            let before = installed.secret("poolgate-certificates", "ca.crt");
            installed.change_secret("poolgate-certificates", &json!({"ca.key": null}));
            wait_for("another CA", || {
                (installed.secret("poolgate-certificates", "ca.crt") != before).then_some(())
            });
            assert_ne!(installed.wait_until_settled(), before);
            load.wait_for_more();
        }
        for _ in 0..leaves {
            let before = installed.secret("poolgate-tls", "tls.crt");
            installed.change_secret("poolgate-tls", &Value::Null);
            wait_for("another leaf", || {
                let leaf = installed.secret("poolgate-tls", "tls.crt");
                (!leaf.is_empty() && leaf != before).then_some(())
            });
            load.wait_for_more();
        }
        for _ in 0..swaps {
            swap(&installed);
            load.wait_for_more();
        }
    });
    let [loads, errors] = [
        "poolgate_certificate_loads_total",
        "poolgate_certificate_load_errors_total",
    ]
    .map(|metric| {
        let replicas = servers.iter().chain(&gates);
        let values = replicas.map(|replica| replica.metric(metric).unwrap_or_default());
        values.collect::<Vec<_>>()
    });
    println!(
        "{authorities} CA rotations, {leaves} leaf rotations, {swaps} swaps: {} requests, loads {loads:?}",
        load.asked()
    );
    assert_eq!(load.lost(), Vec::<String>::new(), "{}", keeper.log());
    assert!(errors.iter().all(|errors| *errors == 0.0), "{errors:?}");
    // A leaf may be replaced before a kubelet brings it; one for each CA must have come.
    assert!(
        loads.iter().all(|loads| *loads > f64::from(authorities)),
        "{loads:?}"
    );
}

/// Somebody else brings a CA and a leaf of it, in the right order; then poolgate's are back.
fn swap(installed: &Installed) {
    let other = Authority::named("somebody else");
    installed.set_bundles(|before| before + &other.pem());
    thread::sleep(TRUST);
    let names = [
        "poolgate.poolgate-system.svc",
        "poolgate-gate.poolgate-system.svc",
        "127.0.0.1",
    ];
    let params = CertificateParams::new(names.map(str::to_owned)).expect("names");
    let issued = other.issue(&params);
    let data = json!({
        "tls.crt": STANDARD.encode(issued.certificate),
        "tls.key": STANDARD.encode(issued.key),
        "ca.crt": STANDARD.encode(other.pem()),
    });
    installed.change_secret("poolgate-tls", &data);
    installed.wait_until_settled();
}
