//! When a watch begins again, and what it reports until then.

use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, stream};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use hyper::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::cluster::api::Fault;
use crate::runtime::lifecycle::StatusLine;

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

/// An API server whose list is empty, and whose watches end as one of these says.
#[derive(Clone, Default)]
struct Server {
    lists: Arc<AtomicU32>,
    watches: Arc<AtomicU32>,
    version: Arc<AtomicU32>,
    end: End,
}

#[derive(Clone, Copy, Default)]
enum End {
    /// Immediately, as planned.
    #[default]
    Closed,
    /// Never, and nothing comes.
    Silent,
    /// With a failure.
    Broken,
    /// With a bookmark of the server's version, and then a failure.
    Marked,
    /// Because the resourceVersion is too old to resume from.
    Expired,
    /// The first ones with a failure, the others after the time that was asked for.
    BrokenAtFirst,
}

type Frames = BoxStream<'static, io::Result<Frame<Bytes>>>;

impl Server {
    fn ending(end: End) -> Self {
        Self {
            end,
            ..Self::default()
        }
    }

    fn objects(&self) -> Collection<ConfigMap> {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let body = server.answer(request.uri().query().unwrap_or_default());
            async { Ok::<_, Infallible>(Response::new(StreamBody::new(body))) }
        });
        Collection::new(Client::new(service, "default"), "/api/v1/configmaps")
    }

    fn answer(&self, query: &str) -> Frames {
        let version = self.version.load(Ordering::Relaxed).to_string();
        let text = |text: String| stream::iter([Ok(Frame::data(Bytes::from(text)))]);
        if !query.contains("watch=") {
            let is_whole = query.contains(&format!("limit={PAGE}"));
            self.lists.fetch_add(is_whole.into(), Ordering::Relaxed);
            let list = json!({"metadata": {"resourceVersion": version}, "items": []});
            return text(list.to_string()).boxed();
        }
        let number = self.watches.fetch_add(1, Ordering::Relaxed) + 1;
        let broken = stream::iter([Err(io::Error::other("broken"))]);
        let bookmark = json!({"type": "BOOKMARK", "object": {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"resourceVersion": version}}});
        match self.end {
            End::Closed => stream::empty().boxed(),
            End::Silent => stream::pending().boxed(),
            End::Expired => {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
                    "reason": "Expired", "message": "too old"});
                text(format!("{}\n", json!({"type": "ERROR", "object": status}))).boxed()
            }
            End::Broken => broken.boxed(),
            End::BrokenAtFirst if number <= 5 => broken.boxed(),
            End::BrokenAtFirst => {
                let mut asked = query
                    .split('&')
                    .filter_map(|part| part.strip_prefix("timeoutSeconds="));
                let asked = asked.next().and_then(|seconds| seconds.parse().ok());
                let closed = sleep(Duration::from_secs(asked.expect("a time")));
                closed.into_stream().filter_map(|()| ready(None)).boxed()
            }
            End::Marked => text(format!("{bookmark}\n")).chain(broken).boxed(),
        }
    }

    /// How often everything was listed.
    fn lists(&self) -> u32 {
        self.lists.load(Ordering::Relaxed)
    }
}

/// A follower that counts how often it has everything.
#[derive(Clone, Default)]
struct Counting {
    resumes: bool,
    listed: Arc<AtomicU32>,
    caught_up: Arc<AtomicU32>,
    lost: Arc<AtomicU32>,
}

impl Follower for Counting {
    type Object = ConfigMap;
    fn list_begins(&mut self) {}
    fn listed(&mut self, _: ConfigMap) {}
    fn list_ends(&mut self) {
        self.listed.fetch_add(1, Ordering::Relaxed);
    }
    fn changed(&mut self, _: ConfigMap) {}
    fn gone(&mut self, _: &ConfigMap) {}
    fn lost(&mut self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
    fn resumes(&self) -> bool {
        self.resumes
    }
    fn caught_up(&mut self) {
        self.caught_up.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many watches are begun in a time, and the line of `/readyz` at its end.
async fn watched_for(end: End, time: Duration) -> (u32, String) {
    let (server, line) = (Server::ending(end), StatusLine::default());
    let watch = Watch::new("configmaps", "", line.clone(), &WatchMetrics::default());
    let watched = watch.run(server.objects(), Counting::default());
    let _ = timeout(time, watched.boxed()).await;
    (server.watches.load(Ordering::Relaxed), line.state().to_string())
}

/// How often a follower has listed and caught up after a minute of watches that end so.
async fn seen_of(server: &Server, resumes: bool) -> (u32, u32) {
    let follower = Counting {
        resumes,
        ..Counting::default()
    };
    let watch = Watch::new("configmaps", "", StatusLine::default(), &WatchMetrics::default());
    let watched = watch.run(server.objects(), follower.clone());
    let _ = timeout(Duration::from_mins(1), watched.boxed()).await;
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    (count(&follower.listed), count(&follower.caught_up))
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_continues_where_it_was_if_its_follower_can() {
    let server = Server::ending(End::Broken);
    let (listed, caught_up) = seen_of(&server, true).await;
    assert_eq!((server.lists(), listed), (1, 1));
    assert!(caught_up > 1, "{caught_up}");

    let server = Server::ending(End::Broken);
    let (_, caught_up) = seen_of(&server, false).await;
    assert!(server.lists() > 1 && caught_up == 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_has_caught_up_once_it_has_reached_the_newest_version() {
    let server = Server::ending(End::Marked);
    let goes_on = async {
        for _ in 0..10 {
            sleep(Duration::from_secs(5)).await;
            server.version.fetch_add(7, Ordering::Relaxed);
        }
    };
    let ((_, caught_up), ()) = tokio::join!(seen_of(&server, true), goes_on);
    assert_eq!(server.lists(), 1);
    assert!(caught_up > 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_caught_up_goes_on_without_a_pause() {
    let server = Server::ending(End::BrokenAtFirst);
    let counted = async {
        while server.watches.load(Ordering::Relaxed) < 6 {
            sleep(Duration::from_millis(10)).await;
        }
        sleep(Duration::from_secs(CATCH_UP_SECONDS.into()) + Duration::from_millis(100)).await;
        server.watches.load(Ordering::Relaxed)
    };
    let ((listed, _), begun) = tokio::join!(seen_of(&server, true), counted);
    assert_eq!((begun, listed), (7, 1));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_makes_what_was_seen_out_of_date() {
    let (server, follower) = (Server::ending(End::Expired), Counting::default());
    let watch = Watch::new("configmaps", "", StatusLine::default(), &WatchMetrics::default());
    let watched = watch.run(server.objects(), follower.clone());
    let _ = timeout(Duration::from_secs(10), watched.boxed()).await;
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    assert!(count(&follower.listed) > 1);
    assert!(count(&follower.lost) >= count(&follower.listed) - 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_restored_is_listed_anew() {
    for end in [End::Broken, End::Marked] {
        let server = Server::ending(end);
        server.version.store(9, Ordering::Relaxed);
        let restored = async {
            sleep(Duration::from_secs(20)).await;
            server.version.store(4, Ordering::Relaxed);
        };
        let ((listed, _), ()) = tokio::join!(seen_of(&server, true), restored);
        assert_eq!((server.lists(), listed), (2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_closed_early_is_begun_anew_ever_more_rarely_and_is_down_in_a_long_pause() {
    let (_, line) = watched_for(End::Closed, Duration::from_secs(3)).await;
    assert_eq!(line, "watching");
    let (watches, line) = watched_for(End::Closed, Duration::from_mins(1)).await;
    assert!((2..=8).contains(&watches), "{watches}");
    assert_eq!(
        line,
        "not watching: the API server keeps closing the watch within 25 s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_which_nothing_comes_is_down() {
    let (_, line) = watched_for(End::Silent, EARLY).await;
    assert_eq!(line, "watching");
    let (_, line) = watched_for(End::Silent, SILENCE + Duration::from_millis(100)).await;
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
