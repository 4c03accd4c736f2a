//! The LISTs of claims that decisions need: one at a time for each pool, and rate-limited however many decisions wait. Pools
//! that wait at the same time are listed together: the API server goes through all claims for each LIST.
//!
//! A LIST continues after its round: if it is too late for one request, the next one can use it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::ListParams;
use parking_lot::Mutex;
use poolgate_core::facts::NODEPOOL_LABEL;
use poolgate_core::nodelimit::ledger::{ClaimView, Moment, ReadSpan};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::claims::{ClaimViews, Listed, Listing, NodeClaim};
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

/// How long a LIST waits for other pools. No pool waits for the turn of another one.
const GATHER: Duration = Duration::from_millis(5);

/// How many pools one LIST names. If there are more, it lists the claims of all.
const MOST_NAMED: usize = 100;

/// How many claims a page has: this limits the memory that a list takes, to a few MiB.
const WHOLE_PAGE: u32 = 500;
const METADATA_PAGE: u32 = 2_000;

/// Lists claims, and puts them into the views.
pub struct ClaimLists {
    all: Collection<NodeClaim>,
    views: Arc<Mutex<ClaimViews>>,
    clock: Clock,
    metrics: GateMetrics,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pools: BTreeMap<Box<str>, Pool>,
    /// The LIST that has not begun.
    next: Option<Next>,
}

/// The LISTs of one pool.
enum Pool {
    /// One is running, or about to begin.
    Running(watch::Receiver<Ended>),
    /// The next one begins no earlier.
    Pausing(Instant),
}

/// The result of a LIST; `None` while it runs.
type Ended = Option<Result<(), CallError>>;

/// A LIST that has not begun: further pools may join it.
struct Next {
    pools: BTreeSet<Box<str>>,
    whole: bool,
    /// When the first of them may begin.
    at: Instant,
    earlier: Arc<Notify>,
    ended: watch::Receiver<Ended>,
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
            state: Mutex::default(),
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

    /// The running LIST of this pool, or the next one.
    fn running(self: &Arc<Self>, pool: &str, whole: bool) -> watch::Receiver<Ended> {
        let mut state = self.state.lock();
        let State { pools, next } = &mut *state;
        let now = Instant::now();
        let at = match pools.get(pool) {
            Some(Pool::Running(running)) => {
                let running = running.clone();
                if let Some(next) = next.as_mut().filter(|next| next.pools.contains(pool)) {
                    next.whole |= whole;
                }
                return running;
            }
            Some(Pool::Pausing(at)) => *at,
            None => now,
        };
        pools.retain(|_, pool| !matches!(pool, Pool::Pausing(at) if *at <= now));
        let next = match next {
            Some(next) => {
                if at < next.at {
                    next.at = at;
                    next.earlier.notify_one();
                }
                next
            }
            None => next.insert(self.begin(at)),
        };
        next.whole |= whole;
        next.pools.insert(pool.into());
        let ended = next.ended.clone();
        pools.insert(pool.into(), Pool::Running(ended.clone()));
        ended
    }

    /// Begins a LIST at this time, of the pools that have joined it by then.
    fn begin(self: &Arc<Self>, at: Instant) -> Next {
        let (sender, ended) = watch::channel(None);
        let (lists, earlier) = (Arc::clone(self), Arc::new(Notify::new()));
        let next = Next {
            pools: BTreeSet::new(),
            whole: false,
            at,
            earlier: Arc::clone(&earlier),
            ended,
        };
        spawn(async move {
            let next = lists.when_due(&earlier).await;
            let Some(Next { pools, whole, .. }) = next else {
                return;
            };
            let pausing = Pausing {
                lists: &lists,
                pools,
                begun: Instant::now(),
            };
            let result = lists.list(&pausing.pools, whole).await;
            drop(pausing);
            // Perhaps no request waits any more.
            let _ = sender.send(Some(result));
        });
        next
    }

    /// Waits until the next LIST is due, and takes it: what comes from now on joins another one.
    async fn when_due(&self, earlier: &Notify) -> Option<Next> {
        loop {
            let at = self.state.lock().next.as_ref()?.at;
            tokio::select! {
                () = sleep_until(at) => break,
                () = earlier.notified() => {}
            }
        }
        sleep(GATHER).await;
        self.state.lock().next.take()
    }

    async fn list(&self, pools: &BTreeSet<Box<str>>, whole: bool) -> Result<(), CallError> {
        self.metrics.reads.inc("claims");
        let begun = self.clock.now();
        let by = Deadline::within(DEADLINE);
        let (version, mut listing) = of_pools(&self.all, pools, whole, by).await?;
        let span = ReadSpan {
            begun,
            done: self.clock.now(),
        };
        let mut views = self.views.lock();
        for pool in pools {
            let claims = listing.remove(pool).unwrap_or_default();
            let list = ClaimView::listed(version, claims);
            views.relist(pool, list, Listed { span, whole });
        }
        Ok(())
    }
}

/// Lists the current claims of these pools, and returns the version of the list: whole claims, or their metadata alone, which
/// does not show disruptions. Without a resourceVersion in the request the API server answers from a quorum; all pages are of
/// the first one's version.
async fn of_pools(
    all: &Collection<NodeClaim>,
    pools: &BTreeSet<Box<str>>,
    whole: bool,
    by: Deadline,
) -> Result<(u64, Listing), CallError> {
    let params = selecting(pools);
    let mut pages = if whole {
        all.pages(params.limit(WHOLE_PAGE))
    } else {
        all.metadata_pages(params.limit(METADATA_PAGE))
    };
    let mut listing = Listing::new();
    while let Some(page) = pages.next(by).await? {
        for (pool, uid, claim) in page.into_iter().filter_map(NodeClaim::into_parts) {
            if pools.contains(&pool) {
                listing.entry(pool).or_default().push((uid, claim));
            }
        }
    }
    let version = pages.version().and_then(|version| version.parse().ok());
    let version = version.ok_or_else(|| CallError::Failure {
        error: GateError::ApiServer("the API server's list has no resourceVersion".into()),
        is_final: true,
    })?;
    Ok((version, listing))
}

/// What selects the claims of these pools.
fn selecting(pools: &BTreeSet<Box<str>>) -> ListParams {
    let named: Vec<_> = pools.iter().map(|pool| &**pool).collect();
    let selector = match *named {
        [pool] => format!("{NODEPOOL_LABEL}={pool}"),
        _ if named.len() <= MOST_NAMED => format!("{NODEPOOL_LABEL} in ({})", named.join(",")),
        _ => NODEPOOL_LABEL.to_owned(),
    };
    ListParams::default().labels(&selector)
}

/// A LIST that ends, with or without success, makes room for the next one of its pools.
struct Pausing<'a> {
    lists: &'a ClaimLists,
    pools: BTreeSet<Box<str>>,
    begun: Instant,
}

impl Drop for Pausing<'_> {
    fn drop(&mut self) {
        let pause = (self.begun.elapsed() * TIMES_LONGER).min(LONGEST_PAUSE);
        let next = self.begun + pause;
        let mut state = self.lists.state.lock();
        for pool in &self.pools {
            state.pools.insert(pool.clone(), Pool::Pausing(next));
        }
    }
}

#[cfg(test)]
mod tests;
