use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::cluster::objects::NODE_CLAIMS;
use crate::runtime::telemetry::Invariants;

/// How long the API server takes for a LIST.
const TAKES: Duration = Duration::from_millis(60);

/// What the API server was asked for.
#[derive(Debug, Clone, Default)]
struct Asked {
    lists: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
}

impl Asked {
    fn take(&self) -> (usize, usize) {
        (
            self.lists.swap(0, Ordering::Relaxed),
            self.bytes.swap(0, Ordering::Relaxed),
        )
    }
}

/// Lists of an API server in which each of these pools has ten claims.
fn lists(pools: usize) -> (Arc<ClaimLists>, Asked) {
    let asked = Asked::default();
    let counted = asked.clone();
    let server = service_fn(move |request: Request<Body>| {
        let counted = counted.clone();
        async move {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let selector = query
                .split('&')
                .find_map(|pair| pair.strip_prefix("labelSelector="))
                .expect("a selector");
            let selector = ["%2F=/", "%2C=,", "%3D==", "%28=(", "%29=)"]
                .iter()
                .filter_map(|escape| escape.split_once('='))
                .fold(selector.to_owned(), |text, (escaped, plain)| {
                    text.replace(escaped, plain)
                });
            let is_named = |name: &str| selector.split(['=', '(', ',', ')']).any(|named| named == name);
            let items: Vec<_> = (0..pools)
                .map(|pool| format!("pool-{pool}"))
                .filter(|name| selector == NODEPOOL_LABEL || is_named(name))
                .flat_map(|name| {
                    (0..10).map(move |claim| {
                        json!({"metadata": {
                            "name": format!("{name}-{claim}"), "uid": format!("{name}-{claim}"), "resourceVersion": "7",
                            "labels": {NODEPOOL_LABEL: name},
                        }})
                    })
                })
                .collect();
            let list = json!({"metadata": {"resourceVersion": "9"}, "items": items}).to_string();
            counted.lists.fetch_add(1, Ordering::Relaxed);
            counted.bytes.fetch_add(list.len(), Ordering::Relaxed);
            sleep(TAKES).await;
            Ok::<_, Infallible>(Response::new(Body::from(list.into_bytes())))
        }
    });
    let client = Client::new(server, "default");
    let views = Arc::new(Mutex::new(ClaimViews::new(Invariants::default())));
    let all = Collection::new(client, NODE_CLAIMS);
    let lists = ClaimLists::new(all, views, Clock::start(), GateMetrics::default());
    (Arc::new(lists), asked)
}

/// Asks for the claims of a pool, and says how long that took.
async fn ask(lists: &Arc<ClaimLists>, pool: &str) -> Duration {
    let begun = Instant::now();
    let now = lists.clock.now();
    lists.as_of(pool, now, true).await.expect("a list");
    let views = lists.views.lock();
    assert!(views.listed(pool).is_some_and(|listed| listed.span.begun >= now));
    drop(views);
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn pools_that_are_full_at_the_same_time_are_listed_together() {
    for (pools, most) in [(1, 11), (10, 12), (100, 12), (150, 12)] {
        let (lists, asked) = lists(pools);
        let end = Instant::now() + Duration::from_secs(10);
        let busy = (0..pools).map(|pool| {
            let lists = Arc::clone(&lists);
            async move {
                let name = format!("pool-{pool}");
                while Instant::now() < end {
                    ask(&lists, &name).await;
                }
                let mut views = lists.views.lock();
                let (view, _) = views.current(&name).expect("a view");
                assert_eq!(view.counts().existing, 10, "{name}");
            }
        });
        join_all(busy).await;
        let (count, bytes) = asked.take();
        println!("{pools} full pools, 10 s: {count} LISTs, {} KiB", bytes / 1024);
        assert!(count <= most, "{pools} pools: {count} LISTs");
    }
}

#[tokio::test(start_paused = true)]
async fn no_pool_waits_for_the_pause_of_another() {
    let (lists, asked) = lists(3);
    let at_once = TAKES + 2 * GATHER;
    assert!(ask(&lists, "pool-0").await < at_once);
    // It has to wait, and the other one comes meanwhile.
    let (first, second) = tokio::join!(ask(&lists, "pool-0"), async {
        sleep(Duration::from_millis(100)).await;
        ask(&lists, "pool-1").await
    });
    assert!(second < at_once, "{second:?}");
    // What is listed for the other one is listed for it, too.
    assert!(first < Duration::from_millis(100) + at_once, "{first:?}");
    assert_eq!(asked.take().0, 2);
}
