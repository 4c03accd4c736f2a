//! A watch that never stops: list, follow the changes, and begin again after a failure.
//!
//! kube's watcher hides bookmarks, and the gate must know the version up to which it has seen everything. After a
//! failure it continues from its last version if its follower can, because a list of all pods takes minutes.
//!
//! Each step has a deadline, tries become rarer while they fail, and a change of state is logged once. Knows
//! nothing of what is watched.

mod follower;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures_util::StreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

pub use self::follower::Follower;
use super::api::{ApiError, Deadline, described};
use super::collection::{Collection, Versioned};
use super::metrics::WatchMetrics;
use crate::runtime::lifecycle::StatusLine;

/// How many objects a page of a list has: this limits the memory that a list takes.
const PAGE: u32 = 1_000;

/// How long the API server may take to answer a list or to begin a watch.
const ANSWER: Duration = Duration::from_secs(20);

/// After how many seconds the API server closes a watch that works, so that it is opened again where it is.
const WATCH_SECONDS: u32 = 50;

/// How long a watch may be silent. The API server would have closed it before, so the connection is dead.
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);

/// A watch that is closed sooner than this is not opened again immediately.
const EARLY: Duration = Duration::from_secs(WATCH_SECONDS as u64 / 2);

/// After a failure, the first watches are closed after this many seconds. Two seconds earlier, the API server names
/// the version up to which it has sent everything.
const CATCH_UP_SECONDS: u32 = 5;

/// How many of these watches there are before everything is listed.
const CATCH_UP_TRIES: u32 = 3;

/// How long after the last event a watch may continue: the API server forgets changes after five minutes.
const RESUMABLE: Duration = Duration::from_mins(5);

/// How long there may be no watch before what was seen counts as out of date: NodeClaims are deleted by it.
const LONGEST_UNSEEN: Duration = Duration::from_secs(5);

/// The pauses after failed tries: doubled each time, with a random part, so that replicas do not try at the same time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The name of a watch, and where it reports its state.
#[derive(Debug)]
pub struct Watch {
    /// Its name in logs and metrics.
    pub name: &'static str,
    /// poolgate's behaviour while it is down, for the log.
    pub meanwhile: &'static str,
    /// A field selector, where not all objects are watched.
    pub fields: Option<&'static str>,
    /// A label selector, where not all objects are watched.
    pub labels: Option<&'static str>,
    /// Its line of `/readyz`.
    pub line: StatusLine,
    /// Its metrics.
    pub metrics: WatchMetrics,
    /// Notified when there is reason to try immediately.
    pub retry: Arc<Notify>,
}

/// Why a watch must begin again.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Call(#[from] ApiError),
    #[error("{}", described(.0))]
    Broken(#[from] kube::Error),
    #[error("the API server closed the watch: {0}")]
    Ended(String),
    #[error("the API server keeps closing the watch within {} s", EARLY.as_secs())]
    ClosedEarly,
    #[error("the watch was silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("the API server's answer has no resourceVersion to resume from")]
    NoVersion,
    /// The version is too old to continue from.
    #[error("the resourceVersion is too old to resume from")]
    Expired,
    /// The API server has an older state than the one that was seen: its store was restored.
    #[error("the resourceVersion is newer than the API server's state")]
    Backwards,
    /// The follower needs everything again.
    #[error("re-list requested")]
    Asked,
}

/// The API server's answer if a version is too old to resume from.
const GONE: u16 = 410;

impl Failure {
    /// Whether only the version is wrong.
    fn is_fixed_by_a_list(&self) -> bool {
        match self {
            Self::Expired | Self::Backwards | Self::Asked => true,
            Self::Call(error) => error.status() == Some(GONE),
            _ => false,
        }
    }
}

impl Watch {
    /// A watch of all objects.
    pub fn new(
        name: &'static str,
        meanwhile: &'static str,
        line: StatusLine,
        metrics: &WatchMetrics,
    ) -> Self {
        Self {
            name,
            meanwhile,
            fields: None,
            labels: None,
            line,
            metrics: metrics.clone(),
            retry: Arc::default(),
        }
    }

    /// Watches until the process stops.
    pub async fn run<F: Follower>(self, objects: Collection<F::Object>, mut follower: F) {
        let (mut state, mut position) = (State::starting(&self), None);
        loop {
            let failure = self
                .once(&objects, &mut follower, &mut state, &mut position)
                .await;
            let pause = state.pause();
            if failure.is_fixed_by_a_list() {
                tracing::debug!(watch = self.name, "re-listing");
                position = None;
            } else {
                state.down(&self, &failure);
            }
            if !matches!(failure, Failure::Asked) || pause > LONGEST_UNSEEN {
                follower.lost();
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = self.retry.notified() => state.tries = backoff(),
            }
        }
    }

    /// Continues or lists, and follows until that fails. `position` is where the last try ended, and then where this one did.
    async fn once<F: Follower>(
        &self,
        objects: &Collection<F::Object>,
        follower: &mut F,
        state: &mut State,
        position: &mut Option<Position>,
    ) -> Failure {
        position.take_if(|known| known.is_old() || !follower.resumes());
        let mut missed = match position {
            Some(known) => match self.newest(objects).await {
                Ok(newest) => newest.filter(|newest| known.number() <= Some(*newest)),
                Err(failure) => return failure,
            },
            None => None,
        };
        let known = match position.take().filter(|_| missed.is_some()) {
            Some(known) => known,
            None => match self.list(objects, follower).await {
                Ok(version) => Position::new(version),
                Err(failure) => return failure,
            },
        };
        let known = position.insert(known);
        let mut tries = 0;
        loop {
            let (began, catches_up) = (Instant::now(), missed.is_some());
            let watched = self.follow(objects, follower, known, &mut missed, state).await;
            if let Err(failure) = watched {
                return failure;
            }
            if missed.is_some() {
                tries += 1;
                if tries == CATCH_UP_TRIES {
                    return Failure::Asked;
                }
            } else if !catches_up && began.elapsed() < EARLY {
                tracing::debug!(watch = self.name, "the watch was closed early");
                let pause = state.pause();
                if pause > LONGEST_UNSEEN {
                    return Failure::ClosedEarly;
                }
                sleep(pause).await;
            } else {
                state.tries = backoff();
            }
        }
    }

    /// The version of the newest object of any kind; `None` if versions have no order.
    async fn newest<K: DeserializeOwned + Clone + Send + 'static>(
        &self,
        objects: &Collection<K>,
    ) -> Result<Option<u64>, Failure> {
        let mut pages = objects.pages(self.params(1));
        pages.next(Deadline::within(ANSWER)).await?;
        let version = pages.version().ok_or(Failure::NoVersion)?;
        Ok(version.parse().ok())
    }

    fn params(&self, limit: u32) -> ListParams {
        let mut params = ListParams::default().limit(limit);
        params.field_selector = self.fields.map(Into::into);
        params.label_selector = self.labels.map(Into::into);
        params
    }

    async fn list<F: Follower>(
        &self,
        objects: &Collection<F::Object>,
        follower: &mut F,
    ) -> Result<String, Failure> {
        let mut pages = objects.pages(self.params(PAGE));
        follower.list_begins();
        while let Some(page) = pages.next(Deadline::within(ANSWER)).await? {
            for object in page {
                follower.listed(object);
            }
        }
        follower.list_ends();
        let version = pages.version().ok_or(Failure::NoVersion)?;
        follower.complete_up_to(version);
        Ok(version.to_owned())
    }

    /// Follows the changes after a version until the API server closes the watch as planned. Changes up to `missed`
    /// happened while the watch was down.
    async fn follow<F: Follower>(
        &self,
        objects: &Collection<F::Object>,
        follower: &mut F,
        position: &mut Position,
        missed: &mut Option<u64>,
        state: &mut State,
    ) -> Result<(), Failure> {
        let seconds = if missed.is_some() {
            CATCH_UP_SECONDS
        } else {
            WATCH_SECONDS
        };
        let params = WatchParams {
            field_selector: self.fields.map(Into::into),
            label_selector: self.labels.map(Into::into),
            timeout: Some(seconds),
            ..WatchParams::default()
        };
        let events = objects
            .watch(&params, &position.version, Deadline::within(ANSWER))
            .await?;
        let mut events = pin!(events);
        if missed.is_none() {
            state.up(self);
        }
        let mut relist = follower.wants_list();
        loop {
            if missed.is_some_and(|missed| position.number() >= Some(missed)) {
                *missed = None;
                follower.caught_up();
                state.up(self);
            }
            let event = tokio::select! {
                () = &mut relist => return Err(Failure::Asked),
                event = timeout(SILENCE, events.next()) => event,
            };
            let Some(event) = event.map_err(|_| Failure::Silent)? else {
                return Ok(());
            };
            let before = position.number();
            let version = &mut position.version;
            match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    *version = version_of(&object).ok_or(Failure::NoVersion)?;
                    follower.changed(object);
                }
                WatchEvent::Deleted(object) => {
                    *version = version_of(&object).ok_or(Failure::NoVersion)?;
                    follower.gone(&object);
                }
                WatchEvent::Bookmark(bookmark) => *version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) if status.code == GONE => return Err(Failure::Expired),
                WatchEvent::Error(status) => return Err(Failure::Ended(status.message)),
            }
            position.at = Instant::now();
            if position.number() < before {
                return Err(Failure::Backwards);
            }
            follower.complete_up_to(&position.version);
        }
    }
}

/// Up to where the changes of a watch have been seen.
#[derive(Debug)]
struct Position {
    version: String,
    /// When that was so.
    at: Instant,
}

impl Position {
    fn new(version: String) -> Self {
        let at = Instant::now();
        Self { version, at }
    }

    /// The version, if it is a number: others have no order.
    fn number(&self) -> Option<u64> {
        self.version.parse().ok()
    }

    fn is_old(&self) -> bool {
        self.number().is_none() || self.at.elapsed() > RESUMABLE
    }
}

fn version_of(object: &impl Versioned) -> Option<String> {
    object.version().map(str::to_owned)
}

/// The state of a watch.
struct State {
    up: Option<bool>,
    tries: ExponentialBackoff,
}

impl State {
    fn starting(watch: &Watch) -> Self {
        watch.metrics.is_up(watch.name, false);
        watch.line.set("starting");
        Self {
            up: None,
            tries: backoff(),
        }
    }

    fn up(&mut self, watch: &Watch) {
        if self.up != Some(true) {
            tracing::info!(watch = watch.name, "watch is running");
            watch.metrics.is_up(watch.name, true);
            watch.line.set("watching");
            self.up = Some(true);
        }
    }

    fn down(&mut self, watch: &Watch, failure: &Failure) {
        watch.metrics.errors.inc(watch.name);
        watch.line.set(format!("not watching: {failure}"));
        if self.up == Some(false) {
            tracing::debug!(watch = watch.name, error = %failure, "watch failed again");
        } else {
            watch.metrics.is_up(watch.name, false);
            tracing::warn!(watch = watch.name, error = %failure, meanwhile = watch.meanwhile, "watch failed, retrying");
            self.up = Some(false);
        }
    }

    fn pause(&mut self) -> Duration {
        self.tries.next().unwrap_or(LONGEST_PAUSE)
    }
}

/// The pauses after failed tries, without end.
pub fn backoff() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests;
