//! The LISTs of a pool's claims that decisions need: one at a time for each pool, and rate-limited however many
//! decisions wait.
//!
//! A LIST continues after its round: if it is too late for one request, the next one can use it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::ListParams;
use parking_lot::Mutex;
use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::ledger::{ClaimView, Moment, ReadSpan};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::claims::{ClaimViews, Listed, NodeClaim};
use super::error::{CallError, GateError};
use super::metrics::GateMetrics;
use crate::cluster::clock::Clock;
use crate::cluster::{Collection, Deadline};
use crate::runtime::lifecycle::spawn;

/// How long the API server may take for a LIST.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Listing a pool takes a twentieth of the time at most, or one LIST a second if each takes long.
pub const TIMES_LONGER: u32 = 20;
pub const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How many claims a page has: this limits the memory that a list takes. With metadata alone it is hardly less, and few
/// pools have a second page.
const WHOLE_PAGE: u32 = 500;
const METADATA_PAGE: u32 = 10_000;

/// Lists claims, and puts them into the views.
pub struct ClaimLists {
    all: Collection<NodeClaim>,
    views: Arc<Mutex<ClaimViews>>,
    clock: Clock,
    metrics: GateMetrics,
    pools: Mutex<BTreeMap<Box<str>, Pool>>,
}

/// The LISTs of one pool.
enum Pool {
    /// One is running, or about to begin.
    Running(watch::Receiver<Option<Result<(), CallError>>>),
    /// The next one begins no earlier.
    Pausing(Instant),
}

impl ClaimLists {
    pub fn new(
        all: Collection<NodeClaim>,
        views: Arc<Mutex<ClaimViews>>,
        clock: Clock,
        metrics: GateMetrics,
    ) -> Self {
        Self {
            all,
            views,
            clock,
            metrics,
            pools: Mutex::default(),
        }
    }

    /// Returns when the view of this pool shows all claims that existed at `moment`. With `whole`, the view must also show
    /// which of them are being disrupted.
    pub async fn as_of(self: &Arc<Self>, pool: &str, moment: Moment, whole: bool) -> Result<(), CallError> {
        while !self.is_listed(pool, moment, whole) {
            let mut running = self.running(pool, whole);
            let ended = running.wait_for(Option::is_some).await;
            // A LIST that panicked sends nothing: the next one may succeed.
            ended.ok().and_then(|ended| ended.clone()).transpose()?;
        }
        Ok(())
    }

    fn is_listed(&self, pool: &str, moment: Moment, whole: bool) -> bool {
        let views = self.views.lock();
        views
            .listed(pool)
            .is_some_and(|listed| listed.span.begun >= moment && (listed.whole || !whole))
    }

    /// The running LIST; a new one if there is none.
    fn running(self: &Arc<Self>, pool: &str, whole: bool) -> watch::Receiver<Option<Result<(), CallError>>> {
        let mut pools = self.pools.lock();
        let now = Instant::now();
        let next = match pools.get(pool) {
            Some(Pool::Running(running)) => return running.clone(),
            Some(Pool::Pausing(next)) => *next,
            None => now,
        };
        pools.retain(|_, pool| !matches!(pool, Pool::Pausing(next) if *next <= now));
        let (ended, running) = watch::channel(None);
        pools.insert(pool.into(), Pool::Running(running.clone()));
        let (lists, pool) = (Arc::clone(self), Box::from(pool));
        spawn(async move {
            sleep_until(next).await;
            let pausing = Pausing {
                lists: &lists,
                pool,
                begun: Instant::now(),
            };
            let result = lists.list(&pausing.pool, whole).await;
            drop(pausing);
            // Perhaps no request waits any more.
            let _ = ended.send(Some(result));
        });
        running
    }

    async fn list(&self, pool: &str, whole: bool) -> Result<(), CallError> {
        self.metrics.reads.inc("claims");
        let begun = self.clock.now();
        let by = Deadline::within(DEADLINE);
        let list = of_pool(&self.all, pool, whole, by).await?;
        let span = ReadSpan {
            begun,
            done: self.clock.now(),
        };
        self.views.lock().relist(pool, list, Listed { span, whole });
        Ok(())
    }
}

/// Lists the current claims of a pool: whole, or their metadata alone, which does not show disruptions. Without a
/// resourceVersion in the request the API server answers from a quorum; all pages are of the first one's version.
async fn of_pool(
    all: &Collection<NodeClaim>,
    pool: &str,
    whole: bool,
    by: Deadline,
) -> Result<ClaimView, CallError> {
    let params = ListParams::default().labels(&format!("{NODEPOOL_LABEL}={pool}"));
    let mut pages = if whole {
        all.pages(params.limit(WHOLE_PAGE))
    } else {
        all.metadata_pages(params.limit(METADATA_PAGE))
    };
    let mut claims = Vec::new();
    while let Some(page) = pages.next(by).await? {
        let parts = page.into_iter().filter_map(NodeClaim::into_parts);
        claims.extend(parts.map(|(_, uid, claim)| (uid, claim)));
    }
    let version = pages.version().and_then(|version| version.parse().ok());
    let version = version.ok_or_else(|| CallError::Failure {
        error: GateError::ApiServer("the API server's list has no resourceVersion".into()),
        is_final: true,
    })?;
    Ok(ClaimView::listed(version, claims))
}

/// A LIST that ends, with or without success, makes room for the next one.
struct Pausing<'a> {
    lists: &'a ClaimLists,
    pool: Box<str>,
    begun: Instant,
}

impl Drop for Pausing<'_> {
    fn drop(&mut self) {
        let pause = (self.begun.elapsed() * TIMES_LONGER).min(LONGEST_PAUSE);
        let next = Pool::Pausing(self.begun + pause);
        self.lists.pools.lock().insert(self.pool.clone(), next);
    }
}
