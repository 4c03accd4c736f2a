//! A poolgate that serves until the test drops it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitStatus;

use serde_json::Value;
use tempfile::TempDir;

use super::process::Process;
use super::program::poolgate;
use super::wait::{PATIENCE, wait_for};

/// What `poolgate serve` and `poolgate reconcile` have in common. Drops in the order of its fields: the process before
/// its directory.
pub(crate) struct Running {
    pub(crate) process: Process,
    listening: Value,
    pub directory: TempDir,
}

impl Running {
    /// A directory for one, which is removed even if the test process is killed.
    pub(crate) fn directory() -> TempDir {
        tempfile::Builder::new()
            .prefix("poolgate-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a temporary directory can be created")
    }

    /// Starts one in its directory with these arguments, and waits until it listens.
    pub(crate) fn start(directory: TempDir, arguments: &[&str]) -> Self {
        let common = ["--probe-listen=127.0.0.1:0", "--log-format=json"];
        let command = poolgate(&[arguments, &common].concat());
        let process = Process::start("poolgate", &command, directory.path());
        let mut running = Self {
            process,
            listening: Value::Null,
            directory,
        };
        running.listening = wait_for("poolgate to listen", || {
            running.expect_alive();
            running.lines("listening").pop()
        });
        running
    }

    /// Waits until it says that it is ready.
    pub(crate) fn wait_until_ready(&mut self) {
        wait_for("poolgate to be ready", || {
            self.expect_alive();
            (self.probe("/readyz").0 == 200).then_some(())
        });
    }

    /// Panics with its last output if it has stopped.
    #[track_caller]
    pub(crate) fn expect_alive(&mut self) {
        assert_eq!(self.process.exited(), None, "poolgate ended:\n{}", self.log());
    }

    /// The address that it gave a port when it began to listen.
    pub(crate) fn address(&self, port: &str) -> SocketAddr {
        let address = self.listening["fields"][port].as_str();
        let address = address.and_then(|address| address.parse().ok());
        address.unwrap_or_else(|| panic!("no address of {port}: {}", self.listening))
    }

    /// Asks the probe port; the status code and the body. A refused connection is status 0.
    pub(crate) fn probe(&self, path: &str) -> (u16, String) {
        get(self.address("probe"), path).unwrap_or_default()
    }

    /// The value of a metric, named with its labels; none while it has none.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = self.probe("/metrics");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    /// Waits until a metric has this value: what a client sees may come before it is counted.
    #[track_caller]
    pub(crate) fn wait_for_metric(&self, name: &str, value: f64) {
        wait_for(name, || (self.metric(name) == Some(value)).then_some(()));
    }

    /// What it has written so far.
    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// The log lines with this message, once there are at least so many: a thread writes them, after what they are about.
    #[track_caller]
    pub(crate) fn logged(&self, message: &str, least: usize) -> Vec<Value> {
        wait_for(message, || {
            Some(self.lines(message)).filter(|lines| lines.len() >= least)
        })
    }

    fn lines(&self, message: &str) -> Vec<Value> {
        let log = self.log();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .filter(|line| line["fields"]["message"] == message)
            .collect()
    }

    /// Sends a signal (a name without SIG).
    pub(crate) fn signal(&self, signal: &str) {
        self.process.signal(signal);
    }

    /// Waits until it has stopped by itself.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        self.process.wait_for_exit()
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait_for_exit()
    }
}

/// HTTP without a client: the answer ends where the connection does.
pub(crate) fn get(address: SocketAddr, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = dial(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok((status(head).unwrap_or_default(), body.to_owned()))
}

/// The status in the head of an answer.
pub(crate) fn status(head: &str) -> Option<u16> {
    head.split(' ').nth(1)?.parse().ok()
}

/// A TCP connection with a limit on each read and write.
pub(crate) fn dial(address: SocketAddr) -> std::io::Result<TcpStream> {
    patient(TcpStream::connect_timeout(&address, PATIENCE)?)
}

/// The same for one that is there.
pub(crate) fn patient(stream: TcpStream) -> std::io::Result<TcpStream> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
