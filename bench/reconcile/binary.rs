//! The release binary, and what it uses.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::time::sleep;

use crate::process;

/// How long the binary may take to see everything.
const SYNC: Duration = Duration::from_mins(10);

/// How much of a quarter of a second an idle binary may use: the cost of asking it.
const IDLE: Duration = Duration::from_millis(20);

/// The release binary. Killed when dropped.
pub(crate) struct Reconciler {
    child: Child,
    probe: SocketAddr,
}

impl Drop for Reconciler {
    fn drop(&mut self) {
        // Nothing to do if it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reconciler {
    pub(crate) fn start(kubeconfig: &std::path::Path) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_poolgate"))
            .args([
                "reconcile",
                "--observe",
                "--log-format=json",
                "--probe-listen=127.0.0.1:0",
            ])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stderr(Stdio::piped())
            .spawn()?;
        let log = child.stderr.take().context("a pipe")?;
        let mut lines = BufReader::new(log).lines();
        let probe = loop {
            let line: Value = serde_json::from_str(&lines.next().context("it has ended")??)?;
            let fields = line.get("fields");
            if let Some(probe) = fields
                .and_then(|fields| fields.get("probe"))
                .and_then(Value::as_str)
            {
                break probe.parse()?;
            }
        };
        // What it would write is reported line by line, and not needed.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, probe })
    }

    /// Waits until pools have been looked at this many times. Returns when that was.
    pub(crate) async fn wait_for_looks(&self, begun: Instant, count: f64) -> Result<Instant> {
        while self.looks().await.unwrap_or(0.0) < count {
            if begun.elapsed() > SYNC {
                bail!("not every pool was looked at within {SYNC:?}");
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(Instant::now())
    }

    /// Waits until everything was seen and no pool is waiting.
    pub(crate) async fn wait_until_settled(&self, begun: Instant) -> Result<()> {
        let mut quiet = 0;
        while quiet < 4 {
            if begun.elapsed() > SYNC {
                bail!("not settled after {SYNC:?}");
            }
            sleep(Duration::from_millis(250)).await;
            let looks = self.looks().await.unwrap_or(-1.0);
            let cpu = self.cpu()?;
            sleep(Duration::from_millis(250)).await;
            let is_idle = self.cpu()?.saturating_sub(cpu) <= IDLE;
            let is_quiet = looks > 0.0 && self.looks().await.is_ok_and(|later| later <= looks) && is_idle;
            quiet = if is_quiet { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    /// How many times pools were looked at.
    pub(crate) async fn looks(&self) -> Result<f64> {
        let mut stream = tokio::net::TcpStream::connect(self.probe).await?;
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.probe
        );
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await?;
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await?;
        let mut counts = text.lines().filter_map(|line| {
            let value = line
                .strip_prefix("poolgate_reconcile_total{")?
                .split(' ')
                .nth(1)?;
            value.parse::<f64>().ok()
        });
        counts.next().context("no look yet")
    }

    pub(crate) fn memory(&self, field: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let kib: u64 = line.context("a field")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024)
    }

    /// The processor time that it has used.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        process::cpu(self.child.id())
    }
}
