//! `cargo bench --bench https [-- --peer=PROGRAM] [--before=PROGRAM…]`: what a review costs a real server over TLS 1.3,
//! and how long it takes; for comparison, with the same reviews and the same client, a webhook of controller-runtime with
//! Karpenter's own types (`tests/programs/peer`; `bench/peer` builds it and runs this), other builds of poolgate, and at
//! constant rates an empty handler.
//!
//! Requests per second of the server's own CPU time do not depend on the client. The servers take turns, round by
//! round, and the median round is reported. Bounded: `--rounds=N` (default 3) of `--seconds=N` (default 2) for each
//! review and server.

// A benchmark prints, and counts of requests are far below what a float holds exactly.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

mod floor;
#[path = "../largest.rs"]
mod largest;
mod load;
#[path = "../process.rs"]
mod process;
mod reviews;
mod server;
#[path = "../table.rs"]
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::load::Round;
use crate::reviews::Case;
use crate::server::{Certificate, Server};
use crate::table::Table;

fn main() -> Result<()> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    if let Some(directory) = table::arguments::<PathBuf>("--floor").next() {
        return floor::serve(&directory);
    }
    let rounds = table::argument("--rounds", 3_usize);
    let duration = Duration::from_secs(table::argument("--seconds", 2));
    let certificate = Certificate::new()?;
    let program = Path::new(env!("CARGO_BIN_EXE_poolgate"));
    let own = Server::poolgate(program, &certificate)?;
    let peer = table::arguments::<PathBuf>("--peer")
        .map(|program| Server::peer(&program, &certificate))
        .next()
        .transpose()?;
    let before = table::arguments::<PathBuf>("--before").map(|program| {
        let name = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok((name, Server::poolgate(&program, &certificate)?))
    });
    let before = before.collect::<Result<_>>()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let bench = Bench {
        own,
        peer,
        before,
        floor: Server::floor(&certificate)?,
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
    own: Server,
    peer: Option<Server>,
    /// Other builds by their name.
    before: Vec<(String, Server)>,
    /// The empty handler. Without a rate, only the client's speed would be measured.
    floor: Server,
    runtime: Runtime,
    rounds: usize,
    duration: Duration,
}

impl Bench {
    fn measure(&self, name: &'static str, cases: Vec<Case>) -> Result<Table> {
        let floor = Some(&self.floor).filter(|_| cases.iter().all(|case| case.per_second.is_some()));
        let servers = [Some(&self.own), self.peer.as_ref(), floor].into_iter().flatten();
        let servers: Vec<&Server> = servers
            .chain(self.before.iter().map(|(_, server)| server))
            .collect();
        let mut table = Table::new(name, &self.columns(floor.is_some()));
        for case in cases {
            let mut rounds = vec![Vec::new(); servers.len()];
            for _ in 0..self.rounds {
                for (server, rounds) in servers.iter().zip(&mut rounds) {
                    rounds.push(self.runtime.block_on(load::round(server, &case, self.duration))?);
                }
            }
            let mut medians = rounds.iter().map(|rounds| Round::median(rounds));
            let own = medians.next().unwrap_or_default();
            let mut figures = vec![case.body.len() as f64];
            figures.extend(own.figures());
            if let Some(peer) = self.peer.as_ref().and_then(|_| medians.next()) {
                figures.extend(peer.figures());
                figures.push(own.per_cpu_second / peer.per_cpu_second);
            }
            if let Some(floor) = floor.and_then(|_| medians.next()) {
                figures.extend([
                    floor.per_cpu_second.round(),
                    floor.per_cpu_second / own.per_cpu_second,
                ]);
            }
            for before in medians {
                figures.extend([before.per_cpu_second.round(), before.p99_ms]);
            }
            table.push(&case.name, &figures);
        }
        Ok(table)
    }

    fn columns(&self, with_floor: bool) -> Vec<String> {
        let mut columns = vec!["", "bytes", "per CPU second", "p50 ms", "p99 ms", "resident MiB"];
        if self.peer.is_some() {
            columns.extend([
                "peer: per CPU second",
                "p50 ms",
                "p99 ms",
                "resident MiB",
                "times as many per CPU second",
            ]);
        }
        if with_floor {
            columns.extend(["empty handler: per CPU second", "times its CPU time"]);
        }
        let before = self.before.iter();
        let before = before.flat_map(|(name, _)| [format!("{name}: per CPU second"), "p99 ms".to_owned()]);
        columns.into_iter().map(str::to_owned).chain(before).collect()
    }
}
