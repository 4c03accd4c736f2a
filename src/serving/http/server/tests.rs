use std::future::{pending, ready};
use std::net::Ipv4Addr;

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::*;
use crate::runtime::telemetry::Registry;
use crate::serving::http::writing::LIMIT;

const IDLE: Duration = Duration::from_mins(3);
const LIFETIME: Duration = Duration::from_mins(15);
const AGE: Duration = Duration::from_mins(10);

/// A server of these answers, and a connection to it, with the task that serves it.
fn connected(router: Router) -> (Arc<Serving>, DuplexStream, JoinHandle<Duration>) {
    let serving = Arc::new(Serving::new(Server {
        name: "test",
        tls: None,
        router: router.clone(),
        threads: Threads::of_this_runtime(),
        max_connections: 1,
        lifetime: LIFETIME,
        idle: IDLE,
        grace: Duration::ZERO,
        readiness: Arc::default(),
        metrics: HttpMetrics::register(&mut Registry::default()),
    }));
    let (client, stream) = duplex(1024);
    let (server, began) = (Arc::clone(&serving), Instant::now());
    let ended = tokio::spawn(async move {
        server
            .answer_all(
                stream,
                Peer(Arc::new(Seat::new(Ipv4Addr::LOCALHOST.into()))),
                router,
            )
            .await;
        began.elapsed()
    });
    (serving, client, ended)
}

fn greeting() -> Router {
    Router::new().route("/", get(async || "hello"))
}

/// Asks on this connection and returns the answer.
async fn ask(client: &mut DuplexStream) -> String {
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
        .await
        .expect("the connection is open");
    answer(client).await
}

async fn answer(client: &mut DuplexStream) -> String {
    let mut answer = String::new();
    while !answer.ends_with("hello") {
        answer.push(client.read_u8().await.expect("an answer").into());
    }
    answer
}

fn about(took: Duration, limit: Duration) -> bool {
    took >= limit && took < limit + Duration::from_millis(50)
}

#[tokio::test]
async fn a_flood_of_connections_does_not_postpone_the_stop() {
    assert_eq!(unless(ready(()), ready("a connection")).await, None);
    assert_eq!(
        unless(pending(), ready("a connection")).await,
        Some("a connection")
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_idles_longer_than_the_api_server_keeps_it() {
    let (_serving, mut client, ended) = connected(greeting());
    for _ in 0..3 {
        sleep(Duration::from_mins(2)).await;
        assert!(!ask(&mut client).await.contains("connection: close"));
    }
    assert_eq!(client.read(&mut [0]).await.expect("an end"), 0);
    client.shutdown().await.expect("a shutdown");
    assert!(about(
        ended.await.expect("no panic"),
        3 * Duration::from_mins(2) + IDLE
    ));
}

#[tokio::test(start_paused = true)]
async fn a_connection_does_not_idle_while_a_request_is_answered() {
    let work = IDLE + Duration::from_mins(1);
    let slow = async move || {
        sleep(work).await;
        "hello"
    };
    let (_serving, mut client, ended) = connected(Router::new().route("/", get(slow)));
    ask(&mut client).await;
    assert_eq!(client.read(&mut [0]).await.expect("an end"), 0);
    drop(client);
    assert!(about(ended.await.expect("no panic"), work + IDLE));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_dribbles_in_has_the_time_of_an_idle_connection() {
    let (_serving, mut client, _ended) = connected(greeting());
    let began = Instant::now();
    while client.write_all(b"x").await.is_ok() {
        sleep(Duration::from_secs(1)).await;
    }
    let (ended, step) = (began.elapsed(), Duration::from_secs(1));
    assert!(
        about(ended, IDLE) || about(ended, IDLE + LINGER) || about(ended, IDLE + LINGER + step),
        "{ended:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_answer_on_an_old_connection_ends_it() {
    let (_serving, mut client, ended) = connected(greeting());
    for _ in 0..5 {
        assert!(!ask(&mut client).await.contains("connection: close"));
        sleep(AGE / 5).await;
    }
    assert!(ask(&mut client).await.contains("connection: close"));
    drop(client);
    assert!(about(ended.await.expect("no panic"), AGE));
}

#[tokio::test(start_paused = true)]
async fn a_closing_server_ends_idle_connections_and_answers_requests_in_work() {
    let (serving, client, ended) = connected(greeting());
    sleep(Duration::from_secs(1)).await;
    serving.closing.cancel();
    drop(client);
    assert!(about(ended.await.expect("no panic"), Duration::from_secs(1)));

    let slow = async || {
        sleep(Duration::from_secs(20)).await;
        "hello"
    };
    let (serving, mut client, ended) = connected(Router::new().route("/", get(slow)));
    let asked = tokio::spawn(async move { ask(&mut client).await });
    sleep(Duration::from_secs(1)).await;
    serving.closing.cancel();
    assert!(asked.await.expect("an answer").contains("connection: close"));
    assert!(about(ended.await.expect("no panic"), Duration::from_secs(20)));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_still_sends_has_a_moment_to_read_our_last_answer() {
    let unread = async || ([(header::CONNECTION, "close")], "hello");
    let (_serving, mut client, ended) = connected(Router::new().route("/", post(unread)));
    let head = b"POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 1000000\r\n\r\n";
    client.write_all(head).await.expect("a write");
    while client.write_all(&[0; 50]).await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(answer(&mut client).await.starts_with("HTTP/1.1 200"));
    assert!(about(ended.await.expect("no panic"), LINGER));
}

#[tokio::test(start_paused = true)]
async fn a_client_has_half_a_minute_to_read_an_answer_however_little_it_reads() {
    let long = async || "x".repeat(1_000_000);
    for pause in [None, Some(Duration::from_millis(100))] {
        let (_serving, mut client, ended) = connected(Router::new().route("/", get(long)));
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
            .await
            .expect("a write");
        if let Some(pause) = pause {
            tokio::spawn(async move {
                while client.read_u8().await.is_ok() {
                    sleep(pause).await;
                }
            });
            let took = ended.await.expect("no panic");
            assert!(took >= LIMIT && took <= LIMIT + 2 * LINGER, "{took:?}");
        } else {
            assert!(about(ended.await.expect("no panic"), LIMIT + LINGER));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_read_in_time_keep_the_connection() {
    let long = async || "x".repeat(100_000) + "hello";
    let (_serving, mut client, _ended) = connected(Router::new().route("/", get(long)));
    for _ in 0..5 {
        sleep(LIMIT / 2).await;
        assert!(ask(&mut client).await.contains("200 OK"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_whatever_it_does() {
    let endless = async || pending::<&str>().await;
    let (_serving, mut client, ended) = connected(Router::new().route("/", get(endless)));
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
        .await
        .expect("a write");
    assert!(about(ended.await.expect("no panic"), LIFETIME + LINGER));
}
