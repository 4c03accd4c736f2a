//! A real poolgate: the binary, serving on ports of its own with a certificate of its own.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::pki::Pki;
use super::process::Process;
use super::wait::wait_for;

const START: Duration = Duration::from_mins(1);
const STOP: Duration = Duration::from_mins(1);
const PROBE: Duration = Duration::from_secs(10);

/// Drops in the order of its fields: the process before its directory.
pub(crate) struct Poolgate {
    process: Process,
    admission: SocketAddr,
    probe: SocketAddr,
    directory: TempDir,
}

impl Poolgate {
    /// Starts `poolgate serve` and waits until it is ready.
    pub(crate) fn serve() -> Self {
        Self::serve_with(&[])
    }

    /// Starts `poolgate serve` with more arguments, which looks at no cluster, and waits until it is ready.
    pub(crate) fn serve_with(args: &[&str]) -> Self {
        Self::start(&[args, &["--no-cluster"]].concat())
    }

    /// Starts `poolgate serve` with more arguments, which looks at the cluster of this kubeconfig, and waits until
    /// it watches all that it looks at.
    pub(crate) fn serve_watching(kubeconfig: &Path, args: &[&str]) -> Self {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let server = Self::start(&[args, &[&kubeconfig]].concat());
        wait_for("poolgate to watch the NodePool definition", START, || {
            let (_, told) = server.probe("/readyz");
            told.contains("NodePool definition: watching\n").then_some(())
        });
        server
    }

    /// Starts one of several gates that show the same certificate, and waits until it watches all that it decides by.
    pub(crate) fn replica(kubeconfig: &Path, pki: &Pki, args: &[&str]) -> Self {
        let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let certificate = [
            flag("kubeconfig", kubeconfig),
            flag("tls-cert", &pki.server_cert),
            flag("tls-key", &pki.server_key),
        ];
        let certificate = certificate.each_ref().map(String::as_str);
        let server = Self::launch(
            &[&certificate[..], &["--gate", "--shutdown-delay=0s"], args].concat(),
            None,
        );
        for line in [
            "NodeClaims: watching\n",
            "node limit ledgers: watching\n",
            "static NodePools: watching\n",
        ] {
            wait_for(line, START, || {
                server.probe("/readyz").1.contains(line).then_some(())
            });
        }
        server
    }

    /// Starts `poolgate serve` with more arguments and a certificate of its own, and waits until it is ready.
    fn start(args: &[&str]) -> Self {
        Self::launch(args, Some("ca.crt"))
    }

    fn launch(args: &[&str], authority: Option<&str>) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("poolgate-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a temporary directory can be created");
        let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate"));
        command
            .args(["serve", "--listen=127.0.0.1:0", "--probe-listen=127.0.0.1:0"])
            .args(["--log-format", "json"])
            .args(args);
        if let Some(authority) = authority {
            command
                .args(["--self-signed", "--ca-out"])
                .arg(directory.path().join(authority));
        }
        let mut process = Process::start("poolgate", &command, directory.path());
        let (admission, probe) = wait_for("poolgate to listen", START, || {
            assert_eq!(process.exited(), None, "poolgate ended:\n{}", process.log());
            entries(&process.log()).iter().find_map(listening)
        });
        let server = Self {
            process,
            admission,
            probe,
            directory,
        };
        wait_for("poolgate to be ready", START, || {
            (server.probe("/readyz").0 == 200).then_some(())
        });
        server
    }

    /// Where the admission endpoints are, as a webhook configuration names them.
    pub(crate) fn base_url(&self) -> String {
        format!("https://{}", self.admission)
    }

    /// The address of the admission port.
    pub(crate) fn admission(&self) -> SocketAddr {
        self.admission
    }

    /// The certificate that a client has to trust.
    pub(crate) fn ca(&self) -> String {
        fs::read_to_string(self.directory.path().join("ca.crt")).expect("poolgate has written --ca-out")
    }

    /// Asks the probe port; the status code and the body. A refused connection is status 0.
    pub(crate) fn probe(&self, path: &str) -> (u16, String) {
        get(self.probe, path).unwrap_or_default()
    }

    /// The log so far, one JSON object a line.
    pub(crate) fn logs(&self) -> Vec<Value> {
        entries(&self.process.log())
    }

    /// Everything written so far, what is not JSON included.
    pub(crate) fn output(&self) -> String {
        self.process.log()
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.process.terminate(STOP)
    }
}

fn entries(log: &str) -> Vec<Value> {
    log.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The addresses of the line that says that both sockets are bound and served.
fn listening(entry: &Value) -> Option<(SocketAddr, SocketAddr)> {
    let fields = &entry["fields"];
    if fields["message"] != "listening" {
        return None;
    }
    let address = |name: &str| fields[name].as_str()?.parse().ok();
    Some((address("admission")?, address("probe")?))
}

/// HTTP without a client: the answer ends where the connection does.
pub(crate) fn get(address: SocketAddr, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, PROBE)?;
    stream.set_read_timeout(Some(PROBE))?;
    stream.set_write_timeout(Some(PROBE))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_default();
    Ok((status, body.to_owned()))
}
