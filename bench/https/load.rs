//! The client: as many connections as three API servers keep open, each with one request at a time, the next one at
//! once or at a fixed rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use crate::reviews::Case;
use crate::server::Server;

const CONNECTIONS: usize = 16;

/// The results of one round.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    pub(crate) per_cpu_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) resident_mib: f64,
}

impl Round {
    /// The median of each figure.
    pub(crate) fn median(rounds: &[Self]) -> Self {
        let median = |figure: fn(&Self) -> f64| {
            let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures.get(figures.len() / 2).copied().unwrap_or_default()
        };
        Self {
            per_cpu_second: median(|round| round.per_cpu_second),
            p50_ms: median(|round| round.p50_ms),
            p99_ms: median(|round| round.p99_ms),
            resident_mib: median(|round| round.resident_mib),
        }
    }

    /// The figures in the order of the table.
    pub(crate) fn figures(&self) -> [f64; 4] {
        [
            self.per_cpu_second.round(),
            self.p50_ms,
            self.p99_ms,
            self.resident_mib,
        ]
    }
}

/// Sends a review repeatedly for this long.
pub(crate) async fn round(server: &Server, case: &Case, duration: Duration) -> Result<Round> {
    let before = server.cpu_seconds()?;
    let begin = Instant::now();
    let load = Arc::new(Load {
        address: server.address,
        tls: server.tls.clone(),
        case: case.clone(),
        begin,
        end: begin + duration,
        begun: AtomicU32::new(0),
    });
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|_| tokio::spawn(Arc::clone(&load).work()))
        .collect();
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await??);
    }
    latencies.sort_unstable();
    let at = |per_cent: usize| {
        let index = (latencies.len() * per_cent / 100).min(latencies.len().saturating_sub(1));
        let latency = latencies.get(index);
        latency.map_or(0.0, |latency| latency.as_secs_f64() * 1000.0)
    };
    Ok(Round {
        per_cpu_second: latencies.len() as f64 / (server.cpu_seconds()? - before),
        p50_ms: at(50),
        p99_ms: at(99),
        resident_mib: server.resident_mib()?,
    })
}

struct Load {
    address: std::net::SocketAddr,
    tls: tokio_rustls::TlsConnector,
    case: Case,
    begin: Instant,
    end: Instant,
    /// How many requests have started, if they are sent at a rate.
    begun: AtomicU32,
}

impl Load {
    async fn work(self: Arc<Self>) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let mut connection = self.connect().await?;
        while let Some(start) = self.next().await {
            self.send(&mut connection).await?;
            latencies.push(start.elapsed());
        }
        Ok(latencies)
    }

    /// The moment from which the next request is timed; `None` after the end. A request that is due while all
    /// connections are busy is timed from then: a slow server does not get fewer requests, they wait longer.
    async fn next(&self) -> Option<Instant> {
        let Some(per_second) = self.case.per_second else {
            return Some(Instant::now()).filter(|now| *now < self.end);
        };
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let due = self.begin + Duration::from_secs(1) * number / per_second;
        if due >= self.end {
            return None;
        }
        if Instant::now() >= due {
            return Some(due);
        }
        tokio::time::sleep_until(due.into()).await;
        Some(Instant::now())
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
        let request = hyper::Request::post(format!("{}?timeout=10s", self.case.path))
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(self.case.body.clone()))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let wanted = format!("\"allowed\":{}", self.case.is_allowed);
        if !status.is_success()
            || !body
                .windows(wanted.len())
                .any(|window| window == wanted.as_bytes())
        {
            bail!("{}: {status}: {}", self.case.name, String::from_utf8_lossy(&body));
        }
        Ok(())
    }
}
