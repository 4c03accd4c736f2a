//! When a watch begins again, and what it reports until then.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{FutureExt as _, stream};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use hyper::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use tower::service_fn;

use super::*;
use crate::cluster::api::Fault;
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

/// An API server whose list is empty, and whose watches are closed at once or stay silent; it counts them.
fn server(watches: &Arc<AtomicU32>, is_silent: bool) -> Client {
    let watches = Arc::clone(watches);
    let server = service_fn(move |request: Request<Body>| {
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch="));
        watches.fetch_add(is_watch.into(), Ordering::Relaxed);
        let list = br#"{"metadata": {"resourceVersion": "1"}, "items": []}"#;
        let body = match (is_watch, is_silent) {
            (false, _) => stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(list)))]).boxed(),
            (true, false) => stream::empty().boxed(),
            (true, true) => stream::pending().boxed(),
        };
        async { Ok::<_, Infallible>(Response::new(StreamBody::new(body))) }
    });
    Client::new(server, "default")
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
    let watches = Arc::default();
    let line = StatusLine::default();
    let watch = Watch::new("configmaps", "", line.clone(), &WatchMetrics::default());
    let objects = Collection::new(server(&watches, is_silent), "/api/v1/configmaps");
    let _ = timeout(time, watch.run(objects, Nobody).boxed()).await;
    (watches.load(Ordering::Relaxed), line.state().to_string())
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
        let fault = Fault::Client(kube::Error::Api(Box::new(status)));
        Failure::Call(ApiError::new("watch", "/api/v1/nodes", None, fault))
    };
    assert!(Failure::Expired.is_fixed_by_a_list());
    assert!(api(410).is_fixed_by_a_list());
    assert!(!api(403).is_fixed_by_a_list());
    assert_eq!(api(403).to_string(), "watch nodes: too old");
}
