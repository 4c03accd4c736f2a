//! A server of one's own.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::client::{Connection, dial};

/// How long a server may take to start: the machine may be busy with other tests.
const START: Duration = Duration::from_secs(30);

pub(super) struct Server {
    child: Child,
    pub(super) admission: SocketAddr,
    probe: SocketAddr,
    ca: String,
    directory: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, as some tests want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// A server with a certificate of its own.
    pub(super) fn start(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ca.crt");
        let ca_out = path.to_str().expect("a path").to_owned();
        let mut all = vec!["--self-signed", "--ca-out", &ca_out];
        all.extend(arguments);
        let mut server = Self::start_with(directory, String::new(), &all);
        server.ca = fs::read_to_string(path).expect("the authority");
        server
    }

    /// A server whose certificate the arguments name and `ca` signed.
    pub(super) fn start_with(directory: TempDir, ca: String, arguments: &[&str]) -> Self {
        let log = directory.path().join("log");
        // Whoever runs the tests may have a cluster of his own.
        let no_cluster = (!arguments.contains(&"--kubeconfig")).then_some("--no-cluster");
        let child = Command::new(env!("CARGO_BIN_EXE_poolgate"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--probe-listen",
                "127.0.0.1:0",
            ])
            .args(["--log-format", "json"])
            .args(no_cluster)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log).expect("a log"))
            .spawn()
            .expect("a process");
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = Self {
            child,
            admission: nowhere,
            probe: nowhere,
            ca,
            directory,
        };
        let listening = wait_for("the server to listen", START, || {
            assert_eq!(
                server.child.try_wait().expect("a state"),
                None,
                "{}",
                server.log()
            );
            server.logged("listening").into_iter().next()
        });
        let address = |name: &str| listening["fields"][name].as_str()?.parse().ok();
        server.admission = address("admission").expect("an address");
        server.probe = address("probe").expect("an address");
        server
    }

    pub(super) fn connect(&self) -> Connection {
        Connection::open(self.admission, &self.ca)
    }

    pub(super) fn ca(&self) -> &str {
        &self.ca
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).expect("a log")
    }

    /// The log lines with this message.
    pub(super) fn logged(&self, message: &str) -> Vec<Value> {
        let log = self.log();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .filter(|line| line["fields"]["message"] == message)
            .collect()
    }

    /// Asks the probe port: the status line and the rest.
    pub(super) fn probe(&self, path: &str) -> (u16, String) {
        let mut socket = dial(self.probe);
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: poolgate\r\nConnection: close\r\n\r\n"
        )
        .expect("sent");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .expect("a status");
        (status, body.to_owned())
    }

    /// The value of a metric, by its name with labels; 0 while it does not exist.
    pub(super) fn metric(&self, name: &str) -> i64 {
        let (_, text) = self.probe("/metrics");
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().expect("a number"))
    }

    /// The memory that the process has in use, in KiB.
    pub(super) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a status");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("a size");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Sends a signal by its name.
    pub(super) fn signal(&self, name: &str) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.child.id())])
            .status();
        assert!(sent.expect("a shell").success());
    }

    pub(super) fn wait_for_exit(&mut self, limit: Duration) -> ExitStatus {
        let child = &mut self.child;
        wait_for("the server to end", limit, || child.try_wait().expect("a state"))
    }

    /// The server still does what it is for.
    pub(super) fn assert_works(&self) {
        let answer = self
            .connect()
            .post("/validate", &super::client::good_review("still-here"));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["response"]["uid"], "still-here");
        assert_eq!(self.metric("poolgate_panics_total"), 0);
    }
}

/// Tries again and again until there is something.
pub(super) fn wait_for<T>(what: &str, limit: Duration, mut attempt: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(began.elapsed() < limit, "waited {limit:?} for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
