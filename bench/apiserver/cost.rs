//! The cost of what is measured.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use hyper::Request;

use crate::{Bench, process};

/// The cost up to some moment, or between two.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cost {
    /// Processor time in milliseconds.
    pub(crate) api_server: f64,
    pub(crate) etcd: f64,
    pub(crate) poolgate: f64,
}

/// How many requests the API server has answered, and bytes, by verb and resource.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    counts: BTreeMap<(String, String), f64>,
    bytes: BTreeMap<(String, String), f64>,
}

impl Bench {
    /// The cost so far.
    pub(crate) fn cost(&self) -> Result<Cost> {
        let [etcd, api_server] = self.plane.process_ids();
        Ok(Cost {
            api_server: processor_ms(api_server)?,
            etcd: processor_ms(etcd)?,
            poolgate: processor_ms(self.poolgate.process.id())?,
        })
    }

    /// How many requests there were so far.
    pub(crate) fn requests(&self) -> Result<Requests> {
        let request = Request::get("/metrics").body(Vec::new())?;
        let text = self.runtime.block_on(self.client.request_text(request))?;
        let mut requests = Requests::default();
        for line in text.lines() {
            let (figures, line) = if let Some(line) = line.strip_prefix("apiserver_request_total{") {
                (&mut requests.counts, line)
            } else if let Some(line) = line.strip_prefix("apiserver_response_sizes_sum{") {
                (&mut requests.bytes, line)
            } else {
                continue;
            };
            let label = |name: &str| {
                let (_, rest) = line.split_once(&format!("{name}=\""))?;
                Some(rest.split_once('"')?.0.to_owned())
            };
            let (Some(verb), Some(resource)) = (label("verb"), label("resource")) else {
                continue;
            };
            let figure: f64 = line.rsplit(' ').next().context("a value")?.parse()?;
            *figures.entry((verb, resource)).or_default() += figure;
        }
        Ok(requests)
    }
}

impl Cost {
    /// The cost since then.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            api_server: self.api_server - before.api_server,
            etcd: self.etcd - before.etcd,
            poolgate: self.poolgate - before.poolgate,
        }
    }
}

impl Requests {
    /// How many there were since then.
    pub(crate) fn since(&self, before: &Self, verb: &str, resource: &str) -> f64 {
        difference(&self.counts, &before.counts, verb, resource)
    }

    /// How many bytes were sent since then.
    pub(crate) fn bytes_since(&self, before: &Self, verb: &str, resource: &str) -> f64 {
        difference(&self.bytes, &before.bytes, verb, resource)
    }
}

fn difference(
    now: &BTreeMap<(String, String), f64>,
    before: &BTreeMap<(String, String), f64>,
    verb: &str,
    resource: &str,
) -> f64 {
    let key = (verb.to_owned(), resource.to_owned());
    let of = |figures: &BTreeMap<_, f64>| figures.get(&key).copied().unwrap_or_default();
    of(now) - of(before)
}

fn processor_ms(process: u32) -> Result<f64> {
    Ok(process::cpu(process)?.as_secs_f64() * 1e3)
}
