//! When a watch begins again, and what it reports until then.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::{Stream, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectList;
use kube::core::Status;

use super::*;
use crate::cluster::collection::RawObject;
use crate::lifecycle::StatusLine;

#[test]
fn tries_become_rarer_and_never_end() {
    let pauses: Vec<Duration> = backoff().take(1_000).collect();
    assert_eq!(pauses.len(), 1_000);
    assert!(
        pauses[0] >= FIRST_PAUSE && pauses[0] <= FIRST_PAUSE * 2,
        "{:?}",
        pauses[0]
    );
    assert!(
        pauses[999] >= LONGEST_PAUSE && pauses[999] <= LONGEST_PAUSE * 2,
        "{:?}",
        pauses[999]
    );
}

#[test]
fn two_that_back_off_do_not_wait_for_the_same_times() {
    let [one, other]: [Vec<Duration>; 2] = [backoff(), backoff()].map(|pauses| pauses.take(10).collect());
    assert_ne!(one, other);
}

/// An API server whose list is empty, and whose watches are closed at once or stay silent.
struct Server {
    watches: Rc<Cell<u32>>,
    is_silent: bool,
}

impl Source for Server {
    async fn list(&self, _: &ListParams) -> kube::Result<ObjectList<RawObject>> {
        let list = serde_json::json!({"metadata": {"resourceVersion": "1"}, "items": []});
        Ok(serde_json::from_value(list).expect("a list"))
    }

    async fn watch(
        &self,
        _: &WatchParams,
        _: &str,
    ) -> kube::Result<impl Stream<Item = kube::Result<WatchEvent<RawObject>>> + use<>> {
        self.watches.set(self.watches.get() + 1);
        Ok(if self.is_silent {
            stream::pending().left_stream()
        } else {
            stream::empty().right_stream()
        })
    }
}

struct Nobody;

impl Follower for Nobody {
    type Object = ConfigMap;
    fn list_begins(&mut self) {}
    fn listed(&mut self, _: ConfigMap) {}
    fn list_ends(&mut self) {}
    fn changed(&mut self, _: ConfigMap) {}
    fn gone(&mut self, _: &ConfigMap) {}
}

/// How many watches are begun in a time, and the line of `/readyz` at its end.
async fn watched_for(is_silent: bool, time: Duration) -> (u32, String) {
    let watches = Rc::new(Cell::new(0));
    let line = StatusLine::default();
    let watch = Watch::new("configmaps", "", line.clone(), &WatchMetrics::default());
    let server = Server {
        watches: Rc::clone(&watches),
        is_silent,
    };
    let _ = timeout(time, watch.run_raw(&server, &mut Nobody)).await;
    (watches.get(), line.state().to_string())
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_begun_anew_ever_more_rarely() {
    let (watches, line) = watched_for(false, Duration::from_mins(1)).await;
    assert!((2..=8).contains(&watches), "{watches}");
    assert_eq!(line, "watching");
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_which_nothing_comes_is_down() {
    let (_, line) = watched_for(true, EARLY).await;
    assert_eq!(line, "watching");
    let (_, line) = watched_for(true, SILENCE + Duration::from_millis(100)).await;
    assert_eq!(line, "not watching: the watch was silent for 60 s");
}

#[test]
fn a_version_that_is_too_old_is_not_a_failure_of_the_watch() {
    let api = |code| {
        let status = Status::failure("too old", "Expired").with_code(code);
        Failure::Client(kube::Error::Api(Box::new(status)))
    };
    assert!(Failure::Expired.is_fixed_by_a_list());
    assert!(api(410).is_fixed_by_a_list());
    assert!(!api(403).is_fixed_by_a_list());
    assert_eq!(api(403).to_string(), "too old");
}
