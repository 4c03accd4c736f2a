//! What continual denials cost the API server.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures_util::future::try_join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::sleep_until;

use crate::cost::Cost;
use crate::creations::{CLAIMS, POOLS, send};
use crate::empty::DENIED;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::table::Table;
use crate::{Bench, EMPTY, OWN, median, percentile};

/// How many NodeClaims the pool has; this is also its limit.
const EXISTING: u32 = 4_000;

/// How many creations are sent per second, whatever happens to earlier ones, and for how many seconds.
const PER_SECOND: u32 = 50;
const SECONDS: u32 = 10;

const POOL: &str = "full";

struct Turn {
    times: Vec<f64>,
    cost: Cost,
    lists: f64,
}

impl Bench {
    pub(crate) fn denials(&self) -> Result<Table> {
        let limit = json!({"limits": {"nodes": EXISTING.to_string()}});
        self.post(POOLS, &node_pool(POOL, &limit))?;
        self.runtime.block_on(
            stream::iter(0..EXISTING)
                .map(|number| async move {
                    send(&self.client, CLAIMS, &claim(&format!("existing-{number}"))).await
                })
                .buffer_unordered(16)
                .try_collect::<Vec<()>>(),
        )?;
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
            ],
        );
        let who = [
            ("nobody asks", ""),
            ("an empty webhook denies", EMPTY),
            ("the gate denies", OWN),
        ];
        let mut turns = who.map(|_| Vec::new());
        for round in 0..self.rounds {
            for ((_, prefix), turns) in who.iter().zip(&mut turns) {
                turns.push(self.denials_in_turn(prefix, round)?);
            }
        }
        let denials = f64::from(PER_SECOND * SECONDS);
        for ((who, _), turns) in who.iter().zip(&turns) {
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
                ],
            );
        }
        Ok(table)
    }

    /// One turn; without a prefix nothing is sent.
    fn denials_in_turn(&self, prefix: &str, round: usize) -> Result<Turn> {
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
                self.denied(&format!("claim-{prefix}{DENIED}{round}-{number}"))
                    .await
            }))
            .await?;
            sleep_until((begun + Duration::from_secs(SECONDS.into())).into()).await;
            anyhow::Ok(times)
        })?;
        let cost = self.cost()?.since(&cost);
        let lists = self.requests()?.since(&before, "LIST", "nodeclaims");
        Ok(Turn { times, cost, lists })
    }

    /// How long a denial took, in milliseconds.
    async fn denied(&self, name: &str) -> Result<f64> {
        let begun = Instant::now();
        if send(&self.client, CLAIMS, &claim(name)).await.is_ok() {
            bail!("{name} was let in");
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }
}

/// As large as Karpenter's own.
fn claim(name: &str) -> Value {
    let mut claim = node_claim(name, POOL);
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
