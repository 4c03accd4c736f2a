//! How many claims a pool has at each moment, and all that happens in it, for the one who judges whether the limit held.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::Value;

use crate::support::history::{Checker, Event, Kind};

/// What was seen of a pool, in the order in which it was seen.
#[derive(Debug)]
pub struct Census {
    pub now: AtomicU64,
    pub most: AtomicU64,
    began: Instant,
    seen: Mutex<Vec<(Duration, Seen)>>,
    calls: AtomicU64,
}

/// Something that was seen.
#[derive(Debug)]
enum Seen {
    /// A creation begins: its review begins no earlier.
    Asked(u64),
    /// It was answered: the claim has this UID.
    Created(u64, String),
    Stored(Kind, Option<Value>, Option<Value>),
}

impl Default for Census {
    fn default() -> Self {
        Self {
            now: AtomicU64::default(),
            most: AtomicU64::default(),
            began: Instant::now(),
            seen: Mutex::default(),
            calls: AtomicU64::default(),
        }
    }
}

impl Census {
    fn note(&self, seen: Seen) {
        let mut all = self.seen.lock().expect("a lock");
        all.push((self.began.elapsed(), seen));
    }

    /// A creation begins. Returns its number.
    pub fn asked(&self) -> u64 {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        self.note(Seen::Asked(call));
        call
    }

    /// A creation has made this claim.
    pub fn created(&self, call: u64, claim: &DynamicObject) {
        self.note(Seen::Created(call, claim.uid().expect("a UID")));
    }

    /// Judges all that was seen of a pool. Returns how many claims were judged.
    pub fn judge(&self, pool: &str) -> usize {
        let all = self.seen.lock().expect("a lock");
        let uids: BTreeMap<u64, &str> = all
            .iter()
            .filter_map(|(_, seen)| match seen {
                Seen::Created(call, uid) => Some((*call, uid.as_str())),
                _ => None,
            })
            .collect();
        let mut checker = Checker::default();
        for (at, seen) in all.iter() {
            let event = match seen {
                Seen::Asked(call) => match uids.get(call) {
                    Some(uid) => Event::Review {
                        call: *call,
                        claim: (*uid).to_owned(),
                        pool: pool.to_owned(),
                    },
                    None => continue,
                },
                // Why others were denied cannot be judged: the watches are later than the answers.
                Seen::Created(call, _) => Event::NoAnswer { call: *call },
                Seen::Stored(kind, before, now) => Event::Stored {
                    kind: *kind,
                    before: before.clone(),
                    now: now.clone(),
                },
            };
            // The checker keeps what it finds.
            let _ = checker.see(*at, &event);
        }
        assert!(checker.violations.is_empty(), "{:#?}", checker.violations);
        uids.len()
    }
}

/// Follows objects by the events of a watch, which misses no revision.
pub async fn follow(api: Api<DynamicObject>, of: ListParams, kind: Kind, census: &Census) {
    let list = api.list(&of).await.expect("a list");
    let mut version = list.metadata.resource_version.expect("a version");
    let is_claim = kind == Kind::Claim;
    let mut now = list.items.len() as u64;
    let value = |object: &DynamicObject| serde_json::to_value(object).expect("an object");
    for object in &list.items {
        census.note(Seen::Stored(kind, None, Some(value(object))));
    }
    let mut params = WatchParams::default().timeout(280);
    (params.label_selector, params.field_selector) = (of.label_selector, of.field_selector);
    loop {
        // An API server that is stopped ends a watch without a word.
        let Ok(events) = api.watch(&params, &version).await else {
            continue;
        };
        let mut events = events.boxed();
        while let Some(Ok(event)) = events.next().await {
            let (more, object, is_there) = match event {
                WatchEvent::Added(object) => (1, object, true),
                WatchEvent::Deleted(object) => (-1, object, false),
                WatchEvent::Modified(object) => (0, object, true),
                WatchEvent::Bookmark(bookmark) => {
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => panic!("the watch ends: {}", status.message),
            };
            version = object.resource_version().expect("a version");
            let object = Some(value(&object));
            census.note(if is_there {
                Seen::Stored(kind, None, object)
            } else {
                Seen::Stored(kind, object, None)
            });
            if is_claim {
                now = now.checked_add_signed(more).expect("as many as there were");
                census.now.store(now, Ordering::Relaxed);
                census.most.fetch_max(now, Ordering::Relaxed);
            }
        }
    }
}
