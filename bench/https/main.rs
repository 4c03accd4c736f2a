//! `cargo bench --bench https [-- --peer=PROGRAM]`: what a review costs a real server over TLS 1.3, and how long it
//! takes; for comparison, with the same reviews and the same client, a webhook of controller-runtime with
//! Karpenter's own types (`tests/programs/peer`; `bench/peer` builds it and runs this).
//!
//! Requests per second of the server's own CPU time do not depend on the client. The servers take turns, round by
//! round, and the median round is reported. Bounded: `--rounds=N` (default 3) of `--seconds=N` (default 2) for each
//! review and server.

// A benchmark prints, and counts of requests are far below what a float holds exactly.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

#[path = "../largest.rs"]
mod largest;
mod load;
#[path = "../process.rs"]
mod process;
mod reviews;
mod server;
#[path = "../table.rs"]
mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::load::Round;
use crate::reviews::Case;
use crate::server::{Certificate, Server};
use crate::table::Table;

fn main() -> Result<()> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let rounds = table::argument("--rounds", 3_usize);
    let duration = Duration::from_secs(table::argument("--seconds", 2));
    let peer: PathBuf = table::argument("--peer", PathBuf::new());
    let certificate = Certificate::new()?;
    let mut servers = vec![Server::poolgate(&certificate)?];
    if !peer.as_os_str().is_empty() {
        servers.push(Server::peer(&peer, &certificate)?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let bench = Bench {
        servers,
        runtime,
        rounds,
        duration,
    };
    let reviews = bench.measure("reviews", reviews::usual()?)?;
    let arriving = bench.measure("arriving", reviews::arriving()?)?;
    let sizes = bench.measure("sizes", reviews::growing()?)?;
    table::leave(vec![reviews, arriving, sizes])?;
    Ok(())
}

struct Bench {
    servers: Vec<Server>,
    runtime: Runtime,
    rounds: usize,
    duration: Duration,
}

impl Bench {
    fn measure(&self, name: &'static str, cases: Vec<Case>) -> Result<Table> {
        let own = ["", "bytes", "per CPU second", "p50 ms", "p99 ms", "resident MiB"];
        let peers = [
            "peer: per CPU second",
            "p50 ms",
            "p99 ms",
            "resident MiB",
            "times as many per CPU second",
        ];
        let with_peer = self.servers.len() > 1;
        let columns: Vec<&str> = own
            .into_iter()
            .chain(peers.into_iter().filter(|_| with_peer))
            .collect();
        let mut table = Table::new(name, &columns);
        for case in cases {
            let mut rounds = vec![Vec::new(); self.servers.len()];
            for _ in 0..self.rounds {
                for (server, rounds) in self.servers.iter().zip(&mut rounds) {
                    rounds.push(self.runtime.block_on(load::round(server, &case, self.duration))?);
                }
            }
            let medians: Vec<Round> = rounds.iter().map(|rounds| Round::median(rounds)).collect();
            let mut figures = vec![case.body.len() as f64];
            for round in &medians {
                figures.extend([
                    round.per_cpu_second.round(),
                    round.p50_ms,
                    round.p99_ms,
                    round.resident_mib,
                ]);
            }
            if let [own, peer] = medians.as_slice() {
                figures.push(own.per_cpu_second / peer.per_cpu_second);
            }
            table.push(&case.name, &figures);
        }
        Ok(table)
    }
}
