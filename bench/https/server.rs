//! The measured servers: the release binary, and the peer.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tempfile::TempDir;
use tokio_rustls::TlsConnector;

use crate::process;

/// A certificate for `localhost`, in files as both servers read them.
pub(crate) struct Certificate {
    directory: TempDir,
    der: CertificateDer<'static>,
}

impl Certificate {
    pub(crate) fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        std::fs::write(directory.path().join("tls.crt"), made.cert.pem())?;
        std::fs::write(directory.path().join("tls.key"), made.signing_key.serialize_pem())?;
        Ok(Self {
            directory,
            der: made.cert.der().clone(),
        })
    }

    fn connector(&self) -> Result<TlsConnector> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.der.clone())?;
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// A running server. It is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) tls: TlsConnector,
}

impl Server {
    /// A release binary of poolgate.
    pub(crate) fn poolgate(program: &Path, certificate: &Certificate) -> Result<Self> {
        let file = |name: &str| certificate.directory.path().join(name).into_os_string();
        let (chain, key) = (file("tls.crt"), file("tls.key"));
        let mut arguments: Vec<&OsStr> = [
            "serve",
            "--no-cluster",
            "--log-format=json",
            "--listen=127.0.0.1:0",
        ]
        .map(OsStr::new)
        .to_vec();
        arguments.extend(["--probe-listen=127.0.0.1:0", "--tls-cert"].map(OsStr::new));
        arguments.extend([&chain, OsStr::new("--tls-key"), &key]);
        let child = Command::new(program)
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.with_context(|| format!("{} does not start", program.display()))?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        Self::listening(child, certificate, stderr, |line| {
            let line = serde_json::from_str::<Value>(line).ok()?;
            let address = line
                .get("admission")
                .or_else(|| line.get("fields")?.get("admission"))?;
            address.as_str()?.parse().ok()
        })
    }

    /// The peer.
    pub(crate) fn peer(program: &Path, certificate: &Certificate) -> Result<Self> {
        Self::with_port(
            Command::new(program).arg(certificate.directory.path()),
            certificate,
        )
    }

    /// The empty handler, another process of this program.
    pub(crate) fn floor(certificate: &Certificate) -> Result<Self> {
        let argument = format!("--floor={}", certificate.directory.path().display());
        Self::with_port(Command::new(std::env::current_exe()?).arg(argument), certificate)
    }

    /// A server that prints its port.
    fn with_port(command: &mut Command, certificate: &Certificate) -> Result<Self> {
        let child = command.stdout(Stdio::piped()).spawn();
        let mut child =
            child.with_context(|| format!("{} does not start", command.get_program().display()))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        Self::listening(child, certificate, stdout, |line| {
            let port: u16 = line.parse().ok()?;
            Some(SocketAddr::from(([127, 0, 0, 1], port)))
        })
    }

    fn listening(
        child: Child,
        certificate: &Certificate,
        output: impl Read + Send + 'static,
        address: impl Fn(&str) -> Option<SocketAddr>,
    ) -> Result<Self> {
        let mut output = BufReader::new(output);
        let address = output
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| address(&line))
            .context("the server never said where it listens")?;
        // A log is read as long as the server writes it, as in life.
        thread::spawn(move || io::copy(&mut output, &mut io::sink()));
        Ok(Self {
            child,
            address,
            tls: certificate.connector()?,
        })
    }

    /// Processor time that the server has used so far.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        Ok(process::cpu(self.child.id())?.as_secs_f64())
    }

    /// Its resident memory.
    pub(crate) fn resident_mib(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kib = status.lines().find_map(|line| {
            line.strip_prefix("VmRSS:")?
                .split_whitespace()
                .next()?
                .parse::<f64>()
                .ok()
        });
        Ok(kib.context("status has VmRSS")? / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
