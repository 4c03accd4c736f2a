//! A Kubernetes control plane of a test's own: etcd and kube-apiserver on loopback ports, and kubectl.
//!
//! It is ready about three seconds after its start. Several may run at once; tests that do not disturb each
//! other may share one in a `static`: it ends with the test process even though statics are never dropped.
//!
//! Its API server is of the newest Kubernetes, or of the release that `POOLGATE_TEST_KUBERNETES` names. All other programs
//! are always of the newest.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::accounts::InstalledAccounts;
use super::assets::program;
use super::client::Client;
use super::etcd::{Etcd, StoreCopy};
use super::pki::Pki;
use super::process::{Outcome, Process, run};
use super::wait::wait_for;

/// Drops in the order of its fields: the API server before its store, the directory last.
pub(crate) struct ControlPlane {
    api_server: Process,
    etcd: Etcd,
    kubectl: Kubectl,
    pki: Pki,
    /// What the API servers get beside what all get.
    arguments: Vec<String>,
    accounts: InstalledAccounts,
    directory: TempDir,
}

/// What the first start of an API server stores: roles, namespaces, priority classes. Every control plane begins with a
/// copy: to have each API server write its own costs 1.3 s of processor time more.
static FIRST_STORE: LazyLock<StoreCopy> = LazyLock::new(|| {
    let mut plane = ControlPlane::start_from(None, &[]);
    plane.kill_api_server();
    plane.etcd.end()
});

/// One more API server of a control plane, on the same store. Does not outlive the control plane's directory.
pub(crate) struct ApiServer {
    server: Process,
    kubeconfig: PathBuf,
}

impl ApiServer {
    pub(crate) fn signal(&self, signal: &str) {
        self.server.signal(signal);
    }

    /// A kubeconfig that leads to this server, with the rights of a cluster administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl ControlPlane {
    /// Starts one and waits until it is ready.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with more arguments for its API servers.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        Self::start_from(Some(&FIRST_STORE), arguments)
    }

    fn start_from(store: Option<&StoreCopy>, arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let directory = tempfile::Builder::new()
            .prefix("control-plane-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a temporary directory can be created");
        let pki = Pki::create(directory.path());
        let etcd = Etcd::start(directory.path(), store);
        let (api_server, kubectl) = start_api_server(directory.path(), &pki, etcd.address(), &arguments);
        Self {
            api_server,
            etcd,
            kubectl,
            pki,
            arguments,
            accounts: InstalledAccounts::default(),
            directory,
        }
    }

    /// Kills the API server and starts it anew on the same port.
    pub(crate) fn restart_api_server(&mut self) {
        self.kill_api_server();
        self.revive_api_server();
    }

    fn kill_api_server(&mut self) {
        self.api_server.signal("KILL");
        self.api_server.wait_for_exit();
    }

    fn revive_api_server(&mut self) {
        let mut command = api_server_command(
            self.directory.path(),
            &self.pki,
            self.etcd.address(),
            self.kubectl.port,
        );
        command.args(&self.arguments);
        self.api_server = Process::start("kube-apiserver", &command, self.directory.path());
        let client = Client::of(self);
        wait_for("kube-apiserver to be ready again", || {
            let exited = self.api_server.exited();
            assert_eq!(exited, None, "kube-apiserver ended:\n{}", self.api_server.log());
            client.is_ready().then_some(())
        });
    }

    /// Copies what is stored now; etcd pauses for it.
    pub(crate) fn back_up_store(&mut self) -> StoreCopy {
        let backup = self.etcd.copy();
        wait_for("the API server to find its store again", || {
            Client::of(self).is_ready().then_some(())
        });
        backup
    }

    /// Brings the store back to what was copied, revisions included, and starts the API server anew.
    pub(crate) fn restore_store(&mut self, backup: &StoreCopy) {
        self.kill_api_server();
        self.etcd.restore(backup);
        self.revive_api_server();
    }

    /// Sends a signal (a name without SIG) to etcd.
    pub(crate) fn signal_store(&self, signal: &str) {
        self.etcd.signal(signal);
    }

    /// Starts one more API server on the same store and waits until it is ready. Drop it first.
    pub(crate) fn another_api_server(&self) -> ApiServer {
        let own = self.directory().join("another-api-server");
        fs::create_dir(&own).expect("a directory can be created: one more server is enough");
        let (server, kubectl) = start_api_server(&own, &self.pki, self.etcd.address(), &self.arguments);
        ApiServer {
            server,
            kubeconfig: kubectl.kubeconfig,
        }
    }

    /// The keys and certificates: the server's is for any server on the loopback address.
    pub(crate) fn pki(&self) -> &Pki {
        &self.pki
    }

    /// A kubeconfig with the rights of a cluster administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubectl.kubeconfig
    }

    /// Writes a kubeconfig with the rights of a service account.
    pub(crate) fn kubeconfig_of(&self, namespace: &str, account: &str) -> PathBuf {
        self.write_kubeconfig_of(self.kubeconfig(), (namespace, account), namespace)
    }

    /// The same for the API server of another kubeconfig, with this default namespace. The file is written next to that
    /// kubeconfig.
    pub fn write_kubeconfig_of(
        &self,
        server: &Path,
        (namespace, account): (&str, &str),
        default_namespace: &str,
    ) -> PathBuf {
        let tokens = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let token = Client::of(self).create(&tokens, &json!({"spec": {}}));
        let text = fs::read_to_string(server).expect("the kubeconfig");
        let mut config: Value = serde_json::from_str(&text).expect("JSON");
        config["users"][0]["user"] = json!({"token": token["status"]["token"]});
        config["contexts"][0]["context"]["namespace"] = json!(default_namespace);
        let path = server.with_file_name(format!("{account}.kubeconfig"));
        fs::write(&path, config.to_string()).expect("a kubeconfig can be written");
        path
    }

    /// What it has of the shipped accounts.
    pub(crate) fn accounts(&self) -> &InstalledAccounts {
        &self.accounts
    }

    /// The directory that holds everything this control plane writes.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The process ids of the programs.
    pub(crate) fn process_ids(&self) -> [u32; 2] {
        [self.etcd.id(), self.api_server.id()]
    }

    /// Runs kubectl as a cluster administrator.
    pub(crate) fn kubectl(&self, args: &[&str], stdin: &str) -> Outcome {
        self.kubectl.run(args, stdin)
    }

    /// Runs kubectl with `-o json` and reads what it prints.
    #[track_caller]
    pub(crate) fn kubectl_json(&self, args: &[&str], stdin: &str) -> Value {
        let printed = self.kubectl(&[args, &["-o", "json"]].concat(), stdin).success();
        serde_json::from_str(&printed).expect("kubectl prints JSON")
    }
}

struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    /// kubectl caches what a server can do in the home directory, by host and port: one for each server.
    home: PathBuf,
    /// Where the server listens.
    port: u16,
}

impl Kubectl {
    fn run(&self, args: &[&str], stdin: &str) -> Outcome {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home);
        run(&mut command, stdin)
    }
}

/// kube-apiserver does not take port 0, and a port that was free a moment ago may be taken: then another one
/// is tried.
fn start_api_server(
    directory: &Path,
    pki: &Pki,
    etcd_address: &str,
    arguments: &[String],
) -> (Process, Kubectl) {
    for _ in 0..10 {
        let port = free_port();
        let mut command = api_server_command(directory, pki, etcd_address, port);
        command.args(arguments);
        let mut server = Process::start("kube-apiserver", &command, directory);
        let kubectl = Kubectl {
            program: program("kubectl"),
            kubeconfig: write_kubeconfig(directory, pki, port),
            home: directory.to_owned(),
            port,
        };
        let client = Client::by(&kubectl.kubeconfig);
        let ready = wait_for("kube-apiserver to be ready", || {
            if server.exited().is_some() {
                return Some(false);
            }
            client.is_ready().then_some(true)
        });
        if ready {
            return (server, kubectl);
        }
        let log = server.log();
        assert!(
            log.contains("address already in use"),
            "kube-apiserver ended:\n{log}"
        );
    }
    panic!("kube-apiserver found no free port in ten tries");
}

/// The release whose API server runs, if not the newest.
pub(crate) fn chosen_kubernetes() -> Option<String> {
    env::var("POOLGATE_TEST_KUBERNETES").ok()
}

fn api_server_program() -> PathBuf {
    match chosen_kubernetes() {
        Some(release) => program(&format!("kube-apiserver-{release}")),
        None => program("kube-apiserver"),
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    listener.local_addr().expect("a listener has an address").port()
}

fn api_server_command(directory: &Path, pki: &Pki, etcd_address: &str, port: u16) -> Command {
    let mut command = Command::new(api_server_program());
    let mut file = |flag: &str, path: &Path| {
        command.arg(format!("--{flag}={}", path.display()));
    };
    file("cert-dir", directory);
    file("tls-cert-file", &pki.server_cert);
    file("tls-private-key-file", &pki.server_key);
    file("client-ca-file", &pki.ca);
    file("service-account-key-file", &pki.service_account_public_key);
    file("service-account-signing-key-file", &pki.service_account_key);
    command.args([
        &format!("--etcd-servers=http://{etcd_address}"),
        &format!("--secure-port={port}"),
        "--bind-address=127.0.0.1",
        // Without it, the server looks for a default route and ends where there is none.
        "--advertise-address=127.0.0.1",
        // The address is loopback, which Endpoints reject: nothing to publish.
        "--endpoint-reconciler-type=none",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        // Without it, a pod needs a service account that only a controller would make.
        "--disable-admission-plugins=ServiceAccount",
    ]);
    command
}

/// JSON is YAML.
fn write_kubeconfig(directory: &Path, pki: &Pki, port: u16) -> PathBuf {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": pki.ca,
        }}],
        "users": [{"name": "admin", "user": {
            "client-certificate": pki.admin_cert,
            "client-key": pki.admin_key,
        }}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
    });
    let path = directory.join("kubeconfig");
    fs::write(&path, config.to_string()).expect("a kubeconfig can be written");
    path
}
