//! What an admission adds to a dry run of a NodePool, as requested by `kubectl apply --dry-run=server`.

use std::time::Instant;

use anyhow::{Context as _, Result};
use hyper::Request;
use serde_json::{Value, json};

use crate::support::nodepool::node_pool;
use crate::table::Table;
use crate::{Bench, CEL, EMPTY, NONE, OWN, median, percentile};

/// How many requests are sent in each turn, and how often kubectl is started.
const REQUESTS: usize = 200;
const STARTS: usize = 8;

const WHO: [(&str, &str); 4] = [
    ("no webhook", NONE),
    ("ten rules as a ValidatingAdmissionPolicy", CEL),
    ("two empty webhooks", EMPTY),
    ("poolgate: mutate and validate", OWN),
];

impl Bench {
    pub(crate) fn dry_runs(&self) -> Result<Table> {
        let mut requests = [(); 4].map(|()| Vec::new());
        let mut starts = [(); 4].map(|()| Vec::new());
        let pools = WHO.map(|(_, prefix)| pool(&format!("pool-{prefix}general")));
        self.register_expressions(&pool(&format!("pool-{CEL}general")))?;
        for _ in 0..self.rounds {
            for _ in 0..REQUESTS {
                for (pool, times) in pools.iter().zip(&mut requests) {
                    times.push(self.request(pool)?);
                }
            }
            for _ in 0..STARTS {
                for (pool, times) in pools.iter().zip(&mut starts) {
                    let begun = Instant::now();
                    let arguments = ["apply", "--dry-run=server", "-f", "-"];
                    let ended = self.plane.kubectl(&arguments, &pool.to_string());
                    anyhow::ensure!(ended.status.success(), "kubectl failed");
                    times.push(begun.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        let mut table = Table::new(
            "dry-runs",
            &[
                "",
                "p50 ms",
                "p99 ms",
                "adds ms to the p50",
                "kubectl apply: p50 ms",
            ],
        );
        let [bare, ..] = &requests;
        let bare = median(bare.iter().copied());
        for ((who, _), (requests, starts)) in WHO.iter().zip(requests.iter().zip(&starts)) {
            let p50 = median(requests.iter().copied());
            let p99 = percentile(requests.iter().copied(), 99);
            table.push(who, &[p50, p99, p50 - bare, median(starts.iter().copied())]);
        }
        Ok(table)
    }

    /// How long a request took, in milliseconds.
    fn request(&self, pool: &Value) -> Result<f64> {
        let path = "/apis/karpenter.sh/v1/nodepools?dryRun=All&fieldManager=kubectl-client-side-apply&fieldValidation=Strict";
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(pool.to_string().into_bytes())?;
        let begun = Instant::now();
        let answer = self.runtime.block_on(self.client.request_text(request));
        answer.context("a dry run")?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }
}

/// As large as those that users write.
fn pool(name: &str) -> Value {
    let requirements: Vec<Value> = (0..12)
        .map(|number| {
            let values: Vec<String> = (0..5).map(|value| format!("value-{value}")).collect();
            json!({"key": format!("example.com/label-{number}"), "operator": "In", "values": values})
        })
        .collect();
    node_pool(
        name,
        &json!({
            "limits": {"cpu": "1000", "memory": "1000Gi", "nodes": "100"},
            "disruption": {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": "5m",
                "budgets": [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"}],
            },
            "template": {"spec": {"requirements": requirements, "expireAfter": "720h"}},
        }),
    )
}
