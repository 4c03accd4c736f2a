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

/// An API server whose list is empty, and whose watches end as one of these says.
#[derive(Clone, Default)]
struct Server {
    lists: Rc<Cell<u32>>,
    watches: Rc<Cell<u32>>,
    version: Rc<Cell<u64>>,
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
    /// The first ones with a failure, the others after the time that was asked for.
    BrokenAtFirst,
}

impl Source for Server {
    async fn list(&self, params: &ListParams) -> kube::Result<ObjectList<RawObject>> {
        if params.limit == Some(PAGE) {
            self.lists.set(self.lists.get() + 1);
        }
        let version = self.version.get().to_string();
        let list = serde_json::json!({"metadata": {"resourceVersion": version}, "items": []});
        Ok(serde_json::from_value(list).expect("a list"))
    }

    async fn watch(
        &self,
        params: &WatchParams,
        _: &str,
    ) -> kube::Result<impl Stream<Item = kube::Result<WatchEvent<RawObject>>> + use<>> {
        self.watches.set(self.watches.get() + 1);
        let broken = || stream::iter([Err(kube::Error::LinesCodecMaxLineLengthExceeded)]);
        let bookmark = || {
            let metadata = serde_json::json!({"resourceVersion": self.version.get().to_string()});
            let event = serde_json::json!({"type": "BOOKMARK", "object": {"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": metadata}});
            Ok(serde_json::from_value(event).expect("a bookmark"))
        };
        Ok(match self.end {
            End::Closed => stream::empty().boxed_local(),
            End::Silent => stream::pending().boxed_local(),
            End::Broken => broken().boxed_local(),
            End::BrokenAtFirst if self.watches.get() <= 5 => broken().boxed_local(),
            End::BrokenAtFirst => {
                let asked = Duration::from_secs(params.timeout.unwrap_or_default().into());
                let closed = async move {
                    sleep(asked).await;
                    None
                };
                stream::once(closed).filter_map(std::future::ready).boxed_local()
            }
            End::Marked => stream::iter([bookmark()]).chain(broken()).boxed_local(),
        })
    }
}

/// A follower that counts how often it has everything.
#[derive(Default)]
struct Counting {
    resumes: bool,
    listed: u32,
    caught_up: u32,
}

impl Follower for Counting {
    type Object = ConfigMap;
    fn list_begins(&mut self) {}
    fn listed(&mut self, _: ConfigMap) {}
    fn list_ends(&mut self) {
        self.listed += 1;
    }
    fn changed(&mut self, _: ConfigMap) {}
    fn gone(&mut self, _: &ConfigMap) {}
    fn resumes(&self) -> bool {
        self.resumes
    }
    fn caught_up(&mut self) {
        self.caught_up += 1;
    }
}

/// How many watches are begun in a time, and the line of `/readyz` at its end.
async fn watched_for(end: End, time: Duration) -> (u32, String) {
    let line = StatusLine::default();
    let watch = Watch::new("configmaps", "", line.clone(), &WatchMetrics::default());
    let server = Server {
        end,
        ..Server::default()
    };
    let _ = timeout(time, watch.run_raw(&server, &mut Counting::default())).await;
    (server.watches.get(), line.state().to_string())
}

/// What a follower has seen after a minute of watches that end so.
async fn seen_of(server: &Server, resumes: bool) -> Counting {
    let mut follower = Counting {
        resumes,
        ..Counting::default()
    };
    let watch = Watch::new("configmaps", "", StatusLine::default(), &WatchMetrics::default());
    let _ = timeout(Duration::from_mins(1), watch.run_raw(server, &mut follower)).await;
    follower
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_continues_where_it_was_if_its_follower_can() {
    let server = Server {
        end: End::Broken,
        ..Server::default()
    };
    let follower = seen_of(&server, true).await;
    assert_eq!((server.lists.get(), follower.listed), (1, 1));
    assert!(follower.caught_up > 1, "{}", follower.caught_up);

    let server = Server {
        end: End::Broken,
        ..Server::default()
    };
    let follower = seen_of(&server, false).await;
    assert!(server.lists.get() > 1 && follower.caught_up == 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_has_caught_up_once_it_has_reached_the_newest_version() {
    let server = Server {
        end: End::Marked,
        ..Server::default()
    };
    let newer = server.version.clone();
    let watch = seen_of(&server, true);
    let goes_on = async {
        for _ in 0..10 {
            sleep(Duration::from_secs(5)).await;
            newer.set(newer.get() + 7);
        }
    };
    let (follower, ()) = tokio::join!(watch, goes_on);
    assert_eq!(server.lists.get(), 1);
    assert!(follower.caught_up > 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_caught_up_goes_on_without_a_pause() {
    let server = Server {
        end: End::BrokenAtFirst,
        ..Server::default()
    };
    let watches = server.watches.clone();
    let watch = seen_of(&server, true);
    let counted = async {
        while watches.get() < 6 {
            sleep(Duration::from_millis(10)).await;
        }
        sleep(Duration::from_secs(CATCH_UP_SECONDS.into()) + Duration::from_millis(100)).await;
        watches.get()
    };
    let (follower, begun) = tokio::join!(watch, counted);
    assert_eq!((begun, follower.listed), (7, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_restored_is_listed_anew() {
    let server = Server {
        end: End::Broken,
        ..Server::default()
    };
    server.version.set(9);
    let older = server.version.clone();
    let watch = seen_of(&server, true);
    let restored = async {
        sleep(Duration::from_secs(20)).await;
        older.set(4);
    };
    let (follower, ()) = tokio::join!(watch, restored);
    assert_eq!((server.lists.get(), follower.listed), (2, 2));

    let server = Server {
        end: End::Marked,
        ..Server::default()
    };
    server.version.set(9);
    let older = server.version.clone();
    let watch = seen_of(&server, true);
    let restored = async {
        sleep(Duration::from_secs(20)).await;
        older.set(4);
    };
    let (follower, ()) = tokio::join!(watch, restored);
    assert_eq!((server.lists.get(), follower.listed), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_begun_anew_ever_more_rarely() {
    let (watches, line) = watched_for(End::Closed, Duration::from_mins(1)).await;
    assert!((2..=8).contains(&watches), "{watches}");
    assert_eq!(line, "watching");
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
        Failure::Client(kube::Error::Api(Box::new(status)))
    };
    assert!(Failure::Expired.is_fixed_by_a_list());
    assert!(api(410).is_fixed_by_a_list());
    assert!(!api(403).is_fixed_by_a_list());
    assert_eq!(api(403).to_string(), "too old");
}
