//! A real `poolgate reconcile`.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::poolgate::get;
use super::process::{Outcome, Process, run};
use super::wait::wait_for;

const START: Duration = Duration::from_mins(1);
const STOP: Duration = Duration::from_mins(1);

/// Drops in the order of its fields: the process before its directory.
pub(crate) struct Reconciler {
    process: Process,
    probe: SocketAddr,
    _directory: TempDir,
}

impl Reconciler {
    /// Starts one with more arguments, and waits until it has seen the whole cluster.
    pub(crate) fn start(kubeconfig: &Path, args: &[&str]) -> Self {
        let mut reconciler = Self::launch(kubeconfig, args);
        wait_for("the reconciler to be ready", START, || {
            reconciler.expect_alive();
            (reconciler.probe("/readyz").0 == 200).then_some(())
        });
        reconciler
    }

    /// Starts one with more arguments, and waits until it answers probes.
    pub(crate) fn launch(kubeconfig: &Path, args: &[&str]) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("reconciler-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a temporary directory can be created");
        let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate"));
        command
            .args(["reconcile", "--probe-listen=127.0.0.1:0", "--log-format=json"])
            .args(["--lease-duration=3s", "--kubeconfig"])
            .arg(kubeconfig)
            .args(args);
        let mut process = Process::start("poolgate", &command, directory.path());
        let probe = wait_for("the reconciler to listen", START, || {
            assert_eq!(process.exited(), None, "the reconciler ended:\n{}", process.log());
            let log = process.log();
            log.lines().find_map(listening)
        });
        Self {
            process,
            probe,
            _directory: directory,
        }
    }

    /// Takes back every mark, by a process that ends.
    pub(crate) fn release_all(kubeconfig: &Path) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate"));
        command
            .args(["reconcile", "--release-all", "--kubeconfig"])
            .arg(kubeconfig);
        run(&mut command, "", START)
    }

    /// Asks the probe port; the status code and the body. A refused connection is status 0.
    pub(crate) fn probe(&self, path: &str) -> (u16, String) {
        get(self.probe, path).unwrap_or_default()
    }

    /// The value of a metric, named with its labels.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = self.probe("/metrics");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    /// Whether it writes.
    pub(crate) fn leads(&self) -> bool {
        self.metric("poolgate_leader") == Some(1.0)
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// Kills it: no signal that it could see.
    pub(crate) fn kill(&self) {
        self.process.signal("KILL");
    }

    /// Stops it, or lets it go on.
    pub(crate) fn signal(&self, signal: &str) {
        self.process.signal(signal);
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.process.terminate(STOP)
    }

    /// Panics with its last words if it has ended.
    #[track_caller]
    pub(crate) fn expect_alive(&mut self) {
        assert_eq!(
            self.process.exited(),
            None,
            "the reconciler ended:\n{}",
            self.process.log()
        );
    }
}

fn listening(line: &str) -> Option<SocketAddr> {
    let entry: Value = serde_json::from_str(line).ok()?;
    let fields = &entry["fields"];
    (fields["message"] == "listening").then_some(())?;
    fields["probe"].as_str()?.parse().ok()
}
