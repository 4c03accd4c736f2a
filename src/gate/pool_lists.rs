//! The LISTs of NodePools for names that the watch does not know: one at a time, however many names are requested.
//! Any client of the gate can invent names.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::ListParams;
use parking_lot::Mutex;
use poolgate_core::nodelimit::ledger::{Moment, ReadSpan};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::claim_lists::{DEADLINE, LONGEST_PAUSE, TIMES_LONGER};
use super::error::CallError;
use super::metrics::GateMetrics;
use crate::cluster::clock::Clock;
use crate::cluster::pools::Pool;
use crate::cluster::{Collection, Deadline};
use crate::runtime::lifecycle::spawn;

/// How many pools a page has.
const PAGE: u32 = 500;

/// All NodePools as they were read.
#[derive(Debug)]
pub struct ListedPools {
    pub by_name: BTreeMap<Box<str>, Pool>,
    pub span: ReadSpan,
}

/// The result of a LIST, and the earliest time of the next one; `None` while it runs.
type Ended = Option<(Result<Arc<ListedPools>, CallError>, Instant)>;

/// Lists the NodePools.
pub struct PoolLists {
    all: Collection<Pool>,
    clock: Clock,
    metrics: GateMetrics,
    last: Mutex<Option<watch::Receiver<Ended>>>,
}

impl PoolLists {
    pub fn new(all: Collection<Pool>, clock: Clock, metrics: GateMetrics) -> Self {
        Self {
            all,
            clock,
            metrics,
            last: Mutex::default(),
        }
    }

    /// All pools that existed at `moment`.
    pub async fn as_of(self: &Arc<Self>, moment: Moment) -> Result<Arc<ListedPools>, CallError> {
        loop {
            let mut running = self.running(moment);
            let ended = running.wait_for(Option::is_some).await;
            // A LIST that panicked sends nothing: the next one may succeed.
            let Some((listed, _)) = ended.ok().and_then(|ended| ended.clone()) else {
                continue;
            };
            let listed = listed?;
            if listed.span.begun >= moment {
                return Ok(listed);
            }
        }
    }

    /// The LIST that runs, or that has ended and began late enough; else a new one.
    fn running(self: &Arc<Self>, moment: Moment) -> watch::Receiver<Ended> {
        let mut last = self.last.lock();
        let mut next = Instant::now();
        if let Some(last) = &*last {
            let serves = match &*last.borrow() {
                None => last.has_changed().is_ok(),
                Some((listed, begins)) => {
                    next = *begins;
                    listed.as_ref().is_ok_and(|listed| listed.span.begun >= moment)
                }
            };
            if serves {
                return last.clone();
            }
        }
        let (ended, running) = watch::channel(None);
        *last = Some(running.clone());
        let lists = Arc::clone(self);
        spawn(async move {
            sleep_until(next).await;
            let begun = Instant::now();
            let listed = lists.list().await.map(Arc::new);
            let next = begun + (begun.elapsed() * TIMES_LONGER).min(LONGEST_PAUSE);
            // Perhaps no request waits any more.
            let _ = ended.send(Some((listed, next)));
        });
        running
    }

    async fn list(&self) -> Result<ListedPools, CallError> {
        self.metrics.reads.inc("pools");
        let begun = self.clock.now();
        let by = Deadline::within(DEADLINE);
        let by_name = all(&self.all, by).await?;
        let done = self.clock.now();
        Ok(ListedPools {
            by_name,
            span: ReadSpan { begun, done },
        })
    }
}

async fn all(pools: &Collection<Pool>, by: Deadline) -> Result<BTreeMap<Box<str>, Pool>, CallError> {
    let mut pages = pools.pages(ListParams::default().limit(PAGE));
    let mut by_name = BTreeMap::new();
    while let Some(page) = pages.next(by).await? {
        by_name.extend(page.into_iter().map(|pool| (pool.metadata.name.clone(), pool)));
    }
    Ok(by_name)
}
