//! `cargo bench --bench https`: throughput and latency of the real server over TLS, from this machine.
//!
//! Starts the release binary with a self-signed certificate on loopback ports and sends it one AdmissionReview
//! of about 6 KB again and again: over connections that are kept alive, and over a new connection for each
//! request. Bounded: every phase lasts `--seconds=N` (default 5).

// A benchmark prints, and counts of requests are far below what a float holds exactly.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

mod table;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::table::Table;

/// Connections that work in parallel: about what three API servers keep open.
const CONNECTIONS: usize = 16;

/// An update of an ordinary pool: 28 requirements, three budgets, object and old object.
const REVIEW: &str = include_str!("review.json");

fn main() -> Result<()> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let seconds = table::argument("--seconds", 5);
    let server = Server::start()?;
    let review = Bytes::from(serde_json::from_str::<Value>(REVIEW)?.to_string());
    println!(
        "review of {} bytes, {CONNECTIONS} connections, {seconds} s each",
        review.len()
    );
    let mut table = Table::new(
        "https",
        &[
            "",
            "requests/s",
            "per CPU second",
            "p50 ms",
            "p99 ms",
            "max ms",
            "resident MiB",
        ],
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    for (name, path, reuse) in [
        ("`/validate`, kept alive", "/validate", true),
        ("`/mutate`, kept alive", "/mutate", true),
        ("`/validate`, a new connection each", "/validate", false),
    ] {
        let load = Load {
            address: server.address,
            tls: server.tls.clone(),
            path,
            review: review.clone(),
            reuse,
        };
        let (cpu, start) = (server.cpu_seconds()?, Instant::now());
        let mut latencies = runtime.block_on(load.run(Duration::from_secs(seconds)))?;
        let (cpu, wall) = (server.cpu_seconds()? - cpu, start.elapsed().as_secs_f64());
        latencies.sort_unstable();
        let at = |per_mille: usize| {
            let index = (latencies.len() * per_mille / 1000).min(latencies.len().saturating_sub(1));
            latencies
                .get(index)
                .map_or(0.0, |latency| latency.as_secs_f64() * 1000.0)
        };
        let requests = latencies.len() as f64;
        let rates = [requests / wall, requests / cpu].map(f64::round);
        let latencies = [at(500), at(990), at(1000)];
        table.push(
            name,
            &[&rates[..], &latencies, &[server.resident_mib()?]].concat(),
        );
    }
    table::leave(vec![table])?;
    Ok(())
}

struct Load {
    address: SocketAddr,
    tls: TlsConnector,
    path: &'static str,
    review: Bytes,
    reuse: bool,
}

impl Load {
    async fn run(self, duration: Duration) -> Result<Vec<Duration>> {
        let end = Instant::now() + duration;
        let load = Arc::new(self);
        let workers: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let load = Arc::clone(&load);
                tokio::spawn(async move { load.work(end).await })
            })
            .collect();
        let mut latencies = Vec::new();
        for worker in workers {
            latencies.extend(worker.await??);
        }
        Ok(latencies)
    }

    async fn work(&self, end: Instant) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let mut connection = None;
        while Instant::now() < end {
            let start = Instant::now();
            let mut sender = match connection.take() {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            self.send(&mut sender).await?;
            latencies.push(start.elapsed());
            if self.reuse {
                connection = Some(sender);
            }
        }
        Ok(latencies)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self
            .tls
            .connect(ServerName::try_from("localhost")?, stream)
            .await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn send(&self, sender: &mut SendRequest<Full<Bytes>>) -> Result<()> {
        sender.ready().await?;
        let request = hyper::Request::post(format!("{}?timeout=3s", self.path))
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(self.review.clone()))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let allowed = br#""allowed":true"#;
        if !status.is_success() || !body.windows(allowed.len()).any(|window| window == allowed) {
            bail!("{status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(())
    }
}

/// The release binary, ended when dropped.
struct Server {
    child: Child,
    address: SocketAddr,
    tls: TlsConnector,
}

impl Server {
    fn start() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let ca = directory.path().join("ca.pem");
        let mut child = Command::new(env!("CARGO_BIN_EXE_poolgate"))
            .args([
                "serve",
                "--self-signed",
                "--listen",
                "127.0.0.1:0",
                "--probe-listen",
                "127.0.0.1:0",
            ])
            .args(["--log-format", "json", "--ca-out"])
            .arg(&ca)
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        let address = BufReader::new(stderr)
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
            .find_map(|line| find(&line, "admission")?.parse().ok())
            .context("the server never said where it listens")?;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&ca)?)?;
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            child,
            address,
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    /// Processor time that the server has used so far: fields 14 and 15 of `/proc/PID/stat`, in ticks of 10 ms.
    fn cpu_seconds(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, after_name) = stat.rsplit_once(')').context("stat names the process")?;
        let ticks: u64 = after_name
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        Ok(ticks as f64 / 100.0)
    }

    fn resident_mib(&self) -> Result<f64> {
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

fn find<'v>(line: &'v Value, field: &str) -> Option<&'v str> {
    line.get(field)
        .or_else(|| line.get("fields")?.get(field))?
        .as_str()
}
