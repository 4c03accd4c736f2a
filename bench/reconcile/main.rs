//! `cargo bench --bench reconcile`: what `poolgate reconcile` needs for a cluster far larger than Kubernetes is
//! tested for: 1,000 NodePools with a limit, 100,000 NodeClaims and their nodes, and the pods on them.
//!
//! A scripted API server on loopback lists and streams the objects; the release binary watches them with
//! `--observe`, which does everything except writing. `--claims=N` (several separated by commas, the last for the
//! events) and `--pods-per-node=N` change the size.

// A benchmark prints, and counts are far below what a float holds exactly.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

mod binary;
mod objects;
#[path = "../process.rs"]
mod process;
mod script;
#[path = "../table.rs"]
mod table;

use std::net::SocketAddr;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use axum::Router;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::binary::Reconciler;
use crate::objects::{claim, node, pod, pool};
use crate::script::{CLAIMS, NODES, PODS, POOLS_PATH, Script, answer};
use crate::table::Table;

/// How many pools there are.
const POOLS: usize = 1_000;

/// How many events of each kind are sent.
const EVENTS: usize = 20_000;

fn main() -> Result<()> {
    let sizes = table::argument("--claims", "10000,25000,50000,100000".to_owned());
    let sizes: Vec<usize> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let pods_per_node = table::argument("--pods-per-node", 3);
    let scripts = sizes.into_iter().map(|claims| Script {
        claims,
        pods: claims * pods_per_node,
        ..Script::default()
    });
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(run(scripts.collect()))
}

/// Makes the object of the event with this number.
type MakeObject = fn(&Script, usize) -> String;

async fn run(scripts: Vec<Script>) -> Result<()> {
    let mut cluster = Table::new(
        "cluster",
        &[
            "pools",
            "claims and nodes",
            "pods",
            "listed after s",
            "judged s later",
            "CPU s",
            "resident MiB",
            "at most MiB",
        ],
    );
    let mut last = None;
    for script in scripts {
        // One at a time.
        drop(last.take());
        let (script, reconciler, begun, judged) = started(script).await?;
        let listed = *script.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = listed.unwrap_or(begun);
        let resident = reconciler.memory("VmRSS")? as f64;
        cluster.push(
            &POOLS.to_string(),
            &[
                script.claims as f64,
                script.pods as f64,
                (listed - begun).as_secs_f64(),
                judged.saturating_duration_since(listed).as_secs_f64(),
                reconciler.cpu()?.as_secs_f64(),
                resident,
                reconciler.memory("VmHWM")? as f64,
            ],
        );
        last = Some((script, reconciler));
    }
    let (script, reconciler) = last.context("at least one size")?;
    let events = measure_events(&script, &reconciler).await?;
    table::leave(vec![cluster, events])?;
    Ok(())
}

/// A reconciler that has seen and checked all of this; when it began, and when it had done so.
async fn started(script: Script) -> Result<(Script, Reconciler, Instant, Instant)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(answer).with_state(script.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, kubeconfig_for(address).to_string())?;
    let begun = Instant::now();
    let reconciler = Reconciler::start(&kubeconfig)?;
    let judged = reconciler.wait_for_looks(begun, POOLS as f64).await?;
    reconciler.wait_until_settled(begun).await?;
    Ok((script, reconciler, begun, judged))
}

async fn measure_events(script: &Script, reconciler: &Reconciler) -> Result<Table> {
    let mut events = Table::new(
        "events",
        &["", "CPU µs each", "all after s", "looks at pools", "resident MiB"],
    );
    let kinds: [(&str, &str, MakeObject); 4] = [
        (
            "heartbeat of a node, which changes nothing",
            NODES,
            |script, i| node(i % script.claims),
        ),
        ("a claim drifts, or does not any more", CLAIMS, |script, i| {
            claim(i % script.claims, i / 64 % 2 == 0)
        }),
        ("a pod comes or goes", PODS, |script, i| {
            pod(script.pods + i % 512, i % script.claims)
        }),
        ("a pool's limit changes", POOLS_PATH, |_, i| {
            pool(i % POOLS, 100 + i % 7)
        }),
    ];
    for (name, path, object) in kinds {
        wait_between_minutes().await?;
        let (cpu, begun) = (reconciler.cpu()?, Instant::now());
        let looks = reconciler.looks().await?;
        for event in 0..EVENTS {
            let line = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", object(script, event));
            script.send(path, line)?;
            if event % 500 == 499 {
                sleep(Duration::from_millis(20)).await;
            }
        }
        reconciler.wait_until_settled(begun).await?;
        let used = reconciler.cpu()?.saturating_sub(cpu);
        events.push(
            name,
            &[
                used.as_secs_f64() * 1e6 / EVENTS as f64,
                begun.elapsed().as_secs_f64(),
                reconciler.looks().await? - looks,
                reconciler.memory("VmRSS")? as f64,
            ],
        );
    }
    Ok(events)
}

/// Waits until the looks are over with which a minute begins, and until no other minute begins soon: a pool whose budgets have
/// a window is looked at each minute.
async fn wait_between_minutes() -> Result<()> {
    loop {
        let second = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() % 60;
        if (15..=35).contains(&second) {
            return Ok(());
        }
        sleep(Duration::from_secs(1)).await;
    }
}

fn kubeconfig_for(address: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    })
}
