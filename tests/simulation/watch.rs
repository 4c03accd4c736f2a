//! A watch of the API server: changes in their order, late or never, and bookmarks.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::cluster::Cluster;
use super::faults::Fault;

/// How often a watch that shows nothing gets a bookmark.
const BOOKMARK: Duration = Duration::from_secs(30);

pub(super) type Selector = Box<dyn Fn(&Value) -> bool + Send>;

/// An open watch.
pub(super) struct Watch {
    pub(super) cluster: Arc<Cluster>,
    pub(super) announcements: tokio::sync::watch::Receiver<u64>,
    pub(super) path: String,
    pub(super) selected: Selector,
    pub(super) version: u64,
    pub(super) ends: Instant,
    pub(super) bookmarked: Instant,
    pub(super) is_ending: bool,
    /// Whether the API server is the one whose cache stands still sometimes.
    pub(super) is_behind: bool,
}

impl Watch {
    /// The next lines; `None` at its end.
    pub(super) async fn next(&mut self) -> Option<String> {
        if self.is_ending {
            return None;
        }
        loop {
            let (lag, is_cut, is_silent) = {
                let mut inner = self.cluster.lock();
                let lag = if inner.faults.strikes(Fault::Lag, 0.6) {
                    inner.faults.between(100, 20_000)
                } else {
                    inner.faults.between(1, 30)
                };
                let is_cut = inner.faults.strikes(Fault::Cuts, 0.15);
                (lag, is_cut, inner.faults.strikes(Fault::SilentWatches, 0.08))
            };
            if is_silent {
                self.cluster.lock().checker.happens("silent watch");
                pending::<()>().await;
            }
            if is_cut {
                return None;
            }
            sleep(lag).await;
            let lines = self.lines();
            if !lines.is_empty() {
                return Some(lines);
            }
            let quiet = (self.bookmarked + BOOKMARK).min(self.ends);
            let changed = timeout(
                quiet.saturating_duration_since(Instant::now()),
                self.announcements.changed(),
            );
            if matches!(changed.await, Ok(Ok(()))) {
                continue;
            }
            sleep_until(quiet).await;
            self.bookmarked = Instant::now();
            self.is_ending = Instant::now() >= self.ends;
            let lines = self.lines();
            let version = self.version.to_string();
            let bookmark =
                json!({"kind": "Any", "apiVersion": "v1", "metadata": {"resourceVersion": version}});
            return Some(lines + &line("BOOKMARK", &bookmark));
        }
    }

    /// What has changed since the last lines.
    fn lines(&mut self) -> String {
        let inner = self.cluster.lock();
        let cached = inner.cached.filter(|_| self.is_behind);
        let newest = cached.unwrap_or(inner.store.version);
        let changes = &inner.store.changes;
        let from = changes.partition_point(|change| change.version <= self.version);
        let mut lines = String::new();
        for change in changes.get(from..).unwrap_or_default() {
            if change.key.0 == self.path && change.version <= newest {
                let is_wanted = |object: &Option<Arc<Value>>| {
                    object.as_ref().is_some_and(|object| (self.selected)(object))
                };
                let (kind, object) = match (is_wanted(&change.before), is_wanted(&change.now)) {
                    (false, false) => continue,
                    (false, true) => ("ADDED", change.now.clone()),
                    (true, true) => ("MODIFIED", change.now.clone()),
                    (true, false) => ("DELETED", change.before.clone()),
                };
                let mut object = object.map(|object| (*object).clone()).unwrap_or_default();
                object["metadata"]["resourceVersion"] = change.version.to_string().into();
                lines += &line(kind, &object);
            }
        }
        self.version = self.version.max(newest);
        lines
    }
}

/// A line of a watch, with its type first, as the API server writes it.
fn line(kind: &str, object: &Value) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}
