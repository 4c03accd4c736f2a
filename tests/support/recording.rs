//! Everything that ever happened to the objects of a collection, from a watch.
//!
//! A watch leaves nothing out and keeps the order of events, so what a recording says of every moment is true of
//! every moment: "never more than five" needs no luck with sampling.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use hyper::Request;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::client::Client;
use super::wait::wait_for;

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// When the watch reported it, which is milliseconds after it happened.
    pub(crate) at: Instant,
    /// The object as it was then; as it was last, if it is gone.
    pub(crate) object: Value,
    /// Whether this was its end.
    pub(crate) gone: bool,
}

impl Change {
    /// The store's version of this change.
    pub(crate) fn version(&self) -> u64 {
        let version = self.object["metadata"]["resourceVersion"].as_str();
        let version = version.and_then(|version| version.parse().ok());
        version.expect("an object has a version, which is a number")
    }

    fn uid(&self) -> &str {
        self.object["metadata"]["uid"]
            .as_str()
            .expect("an object has a uid")
    }
}

#[derive(Default)]
struct Tape {
    changes: Vec<Change>,
    /// Why the tape has a gap: from then on it proves nothing.
    broken: Option<String>,
}

/// A running recording. It stops when it is dropped.
pub(crate) struct Recording {
    tape: Arc<Mutex<Tape>>,
    collection: String,
    task: JoinHandle<()>,
}

impl Recording {
    /// Starts to record a collection, such as `/api/v1/nodes`, or what a selector in its parameters leaves of it; the
    /// objects that are there come first.
    pub(crate) fn start(client: &Client, collection: &str) -> Self {
        let tape = Arc::new(Mutex::new(Tape::default()));
        let list = client
            .get(collection)
            .unwrap_or_else(|| panic!("{collection} is not served"));
        for object in list["items"].as_array().expect("a collection has items") {
            write(&tape, object.clone(), false);
        }
        let version = list["metadata"]["resourceVersion"].as_str();
        let version = version.expect("a list has a version").to_owned();
        let (runtime, requests) = client.parts();
        let task = runtime.spawn(record(requests, collection.to_owned(), version, tape.clone()));
        Self {
            tape,
            collection: collection.to_owned(),
            task,
        }
    }

    /// All changes so far, once the recording has caught up with the server.
    pub(crate) fn changes(&self, client: &Client) -> Vec<Change> {
        wait_for("a recording to catch up", || {
            // The tape first: what happens between the two looks is on the next one.
            let changes = self.so_far();
            let mut stored: Vec<_> = client.list(&self.collection).iter().map(identity).collect();
            let mut reported: Vec<_> = standing(&changes).into_values().map(identity).collect();
            stored.sort();
            reported.sort();
            (stored == reported).then_some(changes)
        })
    }

    /// All changes that were reported so far.
    pub(crate) fn so_far(&self) -> Vec<Change> {
        let tape = lock(&self.tape);
        assert_eq!(
            tape.broken, None,
            "the recording of {} has a gap",
            self.collection
        );
        tape.changes.clone()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How many objects that `counts` was at each change: when, and how many from then on.
pub(crate) fn counts(changes: &[Change], counts: impl Fn(&Value) -> bool) -> Vec<(Instant, usize)> {
    let mut standing = BTreeMap::new();
    let mut history = Vec::new();
    for change in changes {
        if change.gone {
            standing.remove(change.uid());
        } else {
            standing.insert(change.uid(), counts(&change.object));
        }
        let count = standing.values().filter(|counted| **counted).count();
        if history.last().is_none_or(|(_, last)| *last != count) {
            history.push((change.at, count));
        }
    }
    history
}

/// Two recordings of one cluster as one, in the order in which things happened: versions are those of the store.
pub(crate) fn merged(one: &[Change], other: &[Change]) -> Vec<Change> {
    let mut all: Vec<_> = one.iter().chain(other).cloned().collect();
    all.sort_by_key(Change::version);
    all
}

/// The highest of all counts.
pub(crate) fn peak(history: &[(Instant, usize)]) -> usize {
    history.iter().map(|(_, count)| *count).max().unwrap_or_default()
}

/// From when to when each object was in a state, by its name, in order; None where it still is. An object that
/// goes leaves every state.
pub(crate) fn spells(
    changes: &[Change],
    state: impl Fn(&Value) -> bool,
) -> Vec<(String, Instant, Option<Instant>)> {
    let mut spells: Vec<(String, Instant, Option<Instant>)> = Vec::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for change in changes {
        let is = !change.gone && state(&change.object);
        match (open.get(change.uid()).copied(), is) {
            (None, true) => {
                open.insert(change.uid(), spells.len());
                spells.push((name(&change.object).to_owned(), change.at, None));
            }
            (Some(spell), false) => {
                open.remove(change.uid());
                spells[spell].2 = Some(change.at);
            }
            _ => {}
        }
    }
    spells
}

/// Whether an object is being deleted.
pub(crate) fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The names of the objects that were deleted, in that order.
pub(crate) fn deleted_in_order(changes: &[Change]) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for change in changes.iter().filter(|change| is_going(&change.object)) {
        let name = name(&change.object);
        if !order.iter().any(|known| known == name) {
            order.push(name.to_owned());
        }
    }
    order
}

/// The objects that are after `changes`, by uid.
fn standing(changes: &[Change]) -> BTreeMap<&str, &Value> {
    let mut standing = BTreeMap::new();
    for change in changes {
        if change.gone {
            standing.remove(change.uid());
        } else {
            standing.insert(change.uid(), &change.object);
        }
    }
    standing
}

fn identity(object: &Value) -> (String, String) {
    let metadata = &object["metadata"];
    (
        metadata["uid"].to_string(),
        metadata["resourceVersion"].to_string(),
    )
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().expect("an object has a name")
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(tape: &Mutex<Tape>, object: Value, gone: bool) {
    let at = Instant::now();
    lock(tape).changes.push(Change { at, object, gone });
}

/// Watches on and on. The API server ends each watch after some time, and when it ends itself: the next one begins
/// where the last one stopped.
async fn record(client: kube::Client, collection: String, mut version: String, tape: Arc<Mutex<Tape>>) {
    loop {
        let and = if collection.contains('?') { '&' } else { '?' };
        let path = format!(
            "{collection}{and}watch=true&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=3600"
        );
        let request = Request::get(path).body(Vec::new()).expect("a request");
        let Ok(events) = client.request_events::<Value>(request).await else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        let mut events = pin!(events);
        while let Ok(Some(event)) = events.try_next().await {
            let (object, gone) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(bookmark) => {
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => {
                    lock(&tape).broken = Some(status.message);
                    return;
                }
            };
            version = object["metadata"]["resourceVersion"]
                .as_str()
                .expect("an object has a version")
                .to_owned();
            write(&tape, object, gone);
        }
    }
}
