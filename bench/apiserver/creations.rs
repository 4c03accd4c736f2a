//! What the gate costs creations of NodeClaims that have room.

use std::time::Instant;

use anyhow::{Context as _, Result};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hyper::Request;
use serde_json::{Value, json};

use crate::cost::{Cost, Requests};
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::table::Table;
use crate::{Bench, EMPTY, NONE, OWN, median};

pub(crate) const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
pub(crate) const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

/// How many creations there are in each turn, and how many run at the same time.
const CREATIONS: usize = 320;
const AT_ONCE: [usize; 3] = [1, 16, 64];

const WHO: [(&str, &str); 3] = [
    ("no webhook", NONE),
    ("an empty webhook", EMPTY),
    ("the gate", OWN),
];

/// The results of one turn.
struct Turn {
    per_second: f64,
    p50: f64,
    cost: Cost,
    before: Requests,
    after: Requests,
}

impl Bench {
    pub(crate) fn creations(&self) -> Result<Table> {
        for (_, prefix) in WHO {
            self.post(POOLS, &limited(prefix, 100_000))?;
        }
        // The first claim of a pool finds no ledger, and is not measured.
        self.turn(OWN, 1, 1)?;
        let mut table = Table::new(
            "creations",
            &[
                "",
                "at once",
                "a second",
                "p50 ms",
                "API server: CPU ms each",
                "etcd: CPU ms each",
                "poolgate: CPU ms each",
                "NodePools read, each",
                "ledgers written, each",
                "NodeClaims listed, each",
            ],
        );
        for at_once in AT_ONCE {
            let mut turns = [(); 3].map(|()| Vec::new());
            for _ in 0..self.rounds {
                for ((_, prefix), turns) in WHO.iter().zip(&mut turns) {
                    turns.push(self.turn(prefix, CREATIONS, at_once)?);
                }
            }
            for ((who, _), turns) in WHO.iter().zip(&turns) {
                let each = |figure: fn(&Turn) -> f64| median(turns.iter().map(figure));
                let count = CREATIONS as f64;
                table.push(
                    who,
                    &[
                        at_once as f64,
                        each(|turn| turn.per_second),
                        each(|turn| turn.p50),
                        each(|turn| turn.cost.api_server) / count,
                        each(|turn| turn.cost.etcd) / count,
                        each(|turn| turn.cost.poolgate) / count,
                        each(|turn| turn.requests("GET", "nodepools")) / count,
                        each(|turn| turn.requests("PUT", "configmaps")) / count,
                        each(|turn| turn.requests("LIST", "nodeclaims")) / count,
                    ],
                );
            }
        }
        Ok(table)
    }

    fn turn(&self, prefix: &str, creations: usize, at_once: usize) -> Result<Turn> {
        let before = self.requests()?;
        let (cost, begun) = (self.cost()?, Instant::now());
        let times: Vec<f64> = self.runtime.block_on(
            stream::iter(0..creations)
                .map(|number| async move {
                    let begun = Instant::now();
                    let claim = node_claim(&format!("claim-{prefix}{number}"), prefix_pool(prefix));
                    send(&self.client, CLAIMS, &claim).await?;
                    anyhow::Ok(begun.elapsed().as_secs_f64() * 1e3)
                })
                .buffer_unordered(at_once)
                .try_collect(),
        )?;
        let (elapsed, cost) = (begun.elapsed(), self.cost()?.since(&cost));
        let after = self.requests()?;
        let all = format!(
            "{CLAIMS}?labelSelector=karpenter.sh/nodepool={}",
            prefix_pool(prefix)
        );
        let request = Request::delete(all).body(Vec::new())?;
        self.runtime.block_on(self.client.request_text(request))?;
        Ok(Turn {
            per_second: creations as f64 / elapsed.as_secs_f64(),
            p50: median(times),
            cost,
            before,
            after,
        })
    }

    /// Creates an object that must be accepted.
    pub(crate) fn post(&self, path: &str, object: &Value) -> Result<()> {
        self.runtime.block_on(send(&self.client, path, object))
    }
}

impl Turn {
    fn requests(&self, verb: &str, resource: &str) -> f64 {
        self.after.since(&self.before, verb, resource)
    }
}

pub(crate) async fn send(client: &kube::Client, path: &str, object: &Value) -> Result<()> {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())?;
    client.request_text(request).await.context("a creation")?;
    Ok(())
}

/// The pool of claims with this prefix.
fn prefix_pool(prefix: &str) -> &str {
    prefix.trim_end_matches('-')
}

fn limited(prefix: &str, nodes: u32) -> Value {
    node_pool(
        prefix_pool(prefix),
        &json!({"limits": {"nodes": nodes.to_string()}}),
    )
}
