//! A leader whose connections die, and a Lease that says it counts for ever.

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::runtime::lifecycle::{StatusLine, spawn};

const DURATION: Duration = Duration::from_secs(15);

/// An API server that stores one Lease. The request of this number gets no answer.
fn silent_once(number: u32) -> Client {
    storing(None, number)
}

/// The same with this Lease at first.
fn storing(lease: Option<Value>, number: u32) -> Client {
    losing(lease, number, u32::MAX)
}

/// The same. Somebody deletes the Lease before the request of the last number.
fn losing(lease: Option<Value>, number: u32, lost: u32) -> Client {
    let (stored, requests) = (Arc::new(Mutex::new(lease)), Arc::new(AtomicU32::new(0)));
    let server = service_fn(move |request: Request<Body>| {
        let (stored, requests) = (Arc::clone(&stored), Arc::clone(&requests));
        async move {
            let request_number = requests.fetch_add(1, Ordering::Relaxed);
            if request_number == number {
                pending::<()>().await;
            }
            if request_number == lost {
                stored.lock().expect("a Lease").take();
            }
            let writes = request.method() != Method::GET;
            let body = request.into_body().collect_bytes().await.expect("a body");
            let mut stored = stored.lock().expect("a Lease");
            if writes {
                *stored = Some(serde_json::from_slice::<Value>(&body).expect("JSON"));
            }
            let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
            let (status, object) = match &*stored {
                Some(lease) => (StatusCode::OK, lease.clone()),
                None => (StatusCode::NOT_FOUND, missing),
            };
            let mut answer = Response::new(Body::from(object.to_string().into_bytes()));
            *answer.status_mut() = status;
            Ok::<_, Infallible>(answer)
        }
    });
    Client::new(server, "default")
}

#[tokio::test(start_paused = true)]
async fn one_silent_connection_does_not_cost_a_leader_its_term() {
    // The GET and the PUT of the first try are answered.
    for number in 2..6 {
        let line = StatusLine::default();
        let (candidate, mut leadership) = Candidate::new(
            silent_once(number),
            "poolgate-ledgers",
            "poolgate-reconciler",
            "a".into(),
            DURATION,
            Clock::start(),
            line,
        );
        let end = CancellationToken::new();
        let leads = async {
            leadership.changed().await;
            let first = leadership.term();
            assert!(first.is_some());
            sleep(4 * DURATION).await;
            assert_eq!(leadership.term(), first, "request {number}");
            end.cancel();
        };
        tokio::join!(candidate.run(end.clone()), leads);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_a_dead_holder_is_taken_after_a_minute_whatever_duration_it_carries() {
    let dead = json!({
        "metadata": {"name": "poolgate-reconciler"},
        "spec": {"holderIdentity": "dead", "leaseDurationSeconds": i32::MAX},
    });
    let (candidate, mut leadership) = Candidate::new(
        storing(Some(dead), u32::MAX),
        "poolgate-ledgers",
        "poolgate-reconciler",
        "a".into(),
        DURATION,
        Clock::start(),
        StatusLine::default(),
    );
    let begun = Instant::now();
    let end = CancellationToken::new();
    let leads = async {
        while !leadership.holds() {
            leadership.changed().await;
        }
        let took = begun.elapsed();
        assert!(took > LONGEST && took < LONGEST + DURATION, "{took:?}");
        end.cancel();
    };
    tokio::join!(candidate.run(end.clone()), leads);
}

/// A candidate of this name, whose work beats until it is stopped, and what stops it.
fn working(client: &Client, identity: &str, clock: Clock) -> (Candidate, Leadership, CancellationToken) {
    let (work, stopped) = (Heartbeat::default(), CancellationToken::new());
    let (beating, watched, stop) = (work.clone(), work.clone(), stopped.clone());
    spawn(async move { _ = stop.run_until_cancelled(beating.beat()).await });
    spawn(async move { watched.watch("work").await });
    let (candidate, leadership) = Candidate::new(
        client.clone(),
        "poolgate-ledgers",
        "poolgate-reconciler",
        identity.into(),
        DURATION,
        clock,
        StatusLine::default(),
    );
    (candidate.while_beats(work), leadership, stopped)
}

#[tokio::test(start_paused = true)]
async fn another_replica_leads_when_the_work_of_the_leader_stops() {
    let client = storing(None, u32::MAX);
    let (first, mut leads, stopped) = working(&client, "a", Clock::start());
    spawn(first.run(CancellationToken::new()));
    leads.changed().await;
    let (second, mut takes_over, _works) = working(&client, "b", Clock::start());
    spawn(second.run(CancellationToken::new()));
    sleep(10 * LONGEST).await;
    assert!(leads.holds() && !takes_over.holds(), "its work goes on");
    let begun = Instant::now();
    stopped.cancel();
    while !takes_over.holds() {
        takes_over.changed().await;
    }
    assert!(!leads.holds());
    let took = begun.elapsed();
    assert!(took >= LONGEST && took < LONGEST + 3 * DURATION, "{took:?}");
}

/// The marks are removed when the Lease was silent for a quarter of an hour.
#[tokio::test(start_paused = true)]
async fn the_lease_of_a_leader_whose_work_has_stopped_becomes_silent() {
    let (client, begun, epoch) = (storing(None, u32::MAX), Instant::now(), Timestamp::UNIX_EPOCH);
    let clock = || Clock::with_wall_time(move || epoch + begun.elapsed());
    let (candidate, mut leads, stopped) = working(&client, "a", clock());
    spawn(candidate.run(CancellationToken::new()));
    leads.changed().await;
    let silent = async || {
        let (longest, clock) = (Duration::from_mins(15), clock());
        let silent = is_silent(
            client.clone(),
            "poolgate-ledgers",
            "poolgate-reconciler",
            longest,
            &clock,
        );
        silent.await.expect("a Lease")
    };
    sleep(Duration::from_mins(20)).await;
    assert!(!silent().await, "its work goes on");
    stopped.cancel();
    sleep(Duration::from_mins(17)).await;
    assert!(silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_taken_by_its_holder_or_when_its_holder_may_no_longer_write() {
    let held = json!({
        "metadata": {"name": "poolgate-reconciler"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": DURATION.as_secs()},
    });
    // The holder reads and renews it before it is lost; the other one only reads it.
    for (identity, lost, earliest) in [("a", 2, Duration::ZERO), ("b", 1, DURATION)] {
        let (candidate, mut leadership) = Candidate::new(
            losing(Some(held.clone()), u32::MAX, lost),
            "poolgate-ledgers",
            "poolgate-reconciler",
            identity.into(),
            DURATION,
            Clock::start(),
            StatusLine::default(),
        );
        let begun = Instant::now();
        let end = CancellationToken::new();
        let leads = async {
            while !leadership.holds() {
                leadership.changed().await;
            }
            let took = begun.elapsed();
            assert!(
                took >= earliest && took < earliest + DURATION / 2,
                "{identity}: {took:?}"
            );
            let first = leadership.term();
            sleep(2 * DURATION).await;
            assert_eq!(leadership.term(), first, "{identity}");
            end.cancel();
        };
        tokio::join!(candidate.run(end.clone()), leads);
    }
}
