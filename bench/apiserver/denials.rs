//! What continual denials cost the API server.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures_util::future::try_join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hyper::Request;
use serde_json::{Value, json};
use tokio::time::sleep_until;

use crate::cost::Cost;
use crate::creations::{CLAIMS, POOLS, send};
use crate::empty::DENIED;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::table::Table;
use crate::{Bench, EMPTY, OWN, median, percentile};

/// How many NodeClaims all pools have together. Each pool has as many as its limit.
const EXISTING: u32 = 4_000;

/// How many creations are sent per second, whatever happens to earlier ones, and for how many seconds.
const PER_SECOND: u32 = 50;
const SECONDS: u32 = 10;

struct Turn {
    times: Vec<f64>,
    cost: Cost,
    lists: f64,
    bytes: f64,
}

impl Bench {
    pub(crate) fn denials(&self) -> Result<Table> {
        let mut table = Table::new(
            "denials",
            &[
                "",
                "p50 ms",
                "p99 ms",
                "API server: CPU ms each",
                "etcd: CPU ms each",
                "poolgate: CPU ms each",
                "NodeClaims listed, each",
                "KiB listed, each",
            ],
        );
        let denials = f64::from(PER_SECOND * SECONDS);
        for (who, prefix, pools) in [
            ("nobody asks", "", 1),
            ("an empty webhook denies, 1 pool", EMPTY, 1),
            ("the gate denies, 1 pool", OWN, 1),
            ("the gate denies, 10 pools", OWN, 10),
            ("the gate denies, 100 pools", OWN, 100),
        ] {
            self.fill(pools)?;
            let turns = (0..self.rounds).map(|round| self.denials_in_turn(prefix, pools, round));
            let turns = turns.collect::<Result<Vec<_>>>()?;
            let each = |figure: fn(&Turn) -> f64| median(turns.iter().map(figure)) / denials;
            let times = || turns.iter().flat_map(|turn| turn.times.iter().copied());
            table.push(
                who,
                &[
                    median(times()),
                    percentile(times(), 99),
                    each(|turn| turn.cost.api_server),
                    each(|turn| turn.cost.etcd),
                    each(|turn| turn.cost.poolgate),
                    each(|turn| turn.lists),
                    each(|turn| turn.bytes) / 1024.0,
                ],
            );
        }
        Ok(table)
    }

    /// Spreads the NodeClaims over so many pools, unless they are already.
    fn fill(&self, pools: u32) -> Result<()> {
        let first = pool(pools, 0);
        let stored = Request::get(format!("{POOLS}/{first}")).body(Vec::new())?;
        if self.runtime.block_on(self.client.request_text(stored)).is_ok() {
            return Ok(());
        }
        let all = Request::delete(CLAIMS).body(Vec::new())?;
        self.runtime.block_on(self.client.request_text(all))?;
        let limit = json!({"limits": {"nodes": (EXISTING / pools).to_string()}});
        for number in 0..pools {
            self.post(POOLS, &node_pool(&pool(pools, number), &limit))?;
        }
        self.runtime.block_on(
            stream::iter(0..EXISTING)
                .map(|number| async move {
                    let claim = claim(&format!("existing-{number}"), &pool(pools, number % pools));
                    send(&self.client, CLAIMS, &claim).await
                })
                .buffer_unordered(16)
                .try_collect::<Vec<()>>(),
        )?;
        Ok(())
    }

    /// One turn; without a prefix nothing is sent.
    fn denials_in_turn(&self, prefix: &str, pools: u32, round: usize) -> Result<Turn> {
        let count = if prefix.is_empty() {
            0
        } else {
            PER_SECOND * SECONDS
        };
        let before = self.requests()?;
        let cost = self.cost()?;
        let times = self.runtime.block_on(async {
            let begun = Instant::now();
            let times = try_join_all((0..count).map(|number| async move {
                sleep_until((begun + Duration::from_secs(1) / PER_SECOND * number).into()).await;
                let name = format!("claim-{prefix}{DENIED}{round}-{number}");
                self.denied(&name, &pool(pools, number % pools)).await
            }))
            .await?;
            sleep_until((begun + Duration::from_secs(SECONDS.into())).into()).await;
            anyhow::Ok(times)
        })?;
        let cost = self.cost()?.since(&cost);
        let after = self.requests()?;
        Ok(Turn {
            times,
            cost,
            lists: after.since(&before, "LIST", "nodeclaims"),
            bytes: after.bytes_since(&before, "LIST", "nodeclaims"),
        })
    }

    /// How long a denial took, in milliseconds.
    async fn denied(&self, name: &str, pool: &str) -> Result<f64> {
        let begun = Instant::now();
        if send(&self.client, CLAIMS, &claim(name, pool)).await.is_ok() {
            bail!("{name} was let in");
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }
}

/// One of so many full pools.
fn pool(pools: u32, number: u32) -> String {
    format!("full-{pools}-{number}")
}

/// As large as Karpenter's own.
fn claim(name: &str, pool: &str) -> Value {
    let mut claim = node_claim(name, pool);
    let types: Vec<String> = (0..200)
        .map(|number| format!("m{number}.{}xlarge", number % 24))
        .collect();
    let annotations = json!({
        "compatibility.karpenter.kwok.sh/kwoknodeclass-hash-version": "v1",
        "karpenter.sh/nodepool-hash": "15512487543267589651",
        "karpenter.sh/nodepool-hash-version": "v3",
    });
    if let Some(metadata) = claim.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".into(), annotations);
    }
    if let Some(requirements) = claim
        .pointer_mut("/spec/requirements")
        .and_then(Value::as_array_mut)
    {
        requirements
            .push(json!({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}));
    }
    claim
}
