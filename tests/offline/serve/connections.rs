//! Everything below requests: handshakes, silence, idling.

use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::client::{Connection, assert_works, good_review, is_end};
use crate::support::poolgate::Poolgate;
use crate::support::running::dial;
use crate::support::wait::wait_for;

#[test]
fn garbage_instead_of_tls_is_closed_and_counted() {
    let server = Poolgate::serve();
    let mut socket = dial(server.admission()).expect("a connection");
    socket
        .write_all(b"POST /validate HTTP/1.1\r\nHost: poolgate\r\n\r\n")
        .expect("sent");
    let mut answer = Vec::new();
    if let Err(error) = socket.read_to_end(&mut answer) {
        assert!(is_end(&error), "{error}");
    }
    assert!(answer.len() < 64, "no more than an alert: {answer:?}");
    assert_works(&server);
    server.wait_for_metric(
        r#"poolgate_handshake_failures_total{reason="not_acceptable"}"#,
        1.0,
    );
}

#[test]
fn a_connection_that_never_speaks_is_closed_by_the_handshake_limit() {
    let server = Poolgate::serve();
    let began = Instant::now();
    let mut socket = dial(server.admission()).expect("a connection");
    let mut answer = Vec::new();
    if let Err(error) = socket.read_to_end(&mut answer) {
        assert!(is_end(&error), "{error}");
    }
    assert_waited(began, 5);
    assert_works(&server);
    server.wait_for_metric(r#"poolgate_handshake_failures_total{reason="timeout"}"#, 1.0);
}

#[test]
fn a_client_that_leaves_during_the_handshake_is_only_counted() {
    let server = Poolgate::serve();
    drop(dial(server.admission()).expect("a connection"));
    assert_works(&server);
    server.wait_for_metric(r#"poolgate_handshake_failures_total{reason="client_left"}"#, 1.0);
    assert_eq!(server.log().lines().count(), 1, "{}", server.log());
}

#[test]
fn a_client_that_does_not_trust_us_is_reported_apart() {
    let (server, other) = (Poolgate::serve(), Poolgate::serve());
    assert!(Connection::negotiate(server.admission(), &other.ca(), &["http/1.1"]).is_err());
    assert_works(&server);
    let failures = |reason: &str| {
        server.metric(&format!(
            r#"poolgate_handshake_failures_total{{reason="{reason}"}}"#
        ))
    };
    // The alert may be lost on its way.
    wait_for("the failure to be counted", || {
        let counted = (failures("client_refused"), failures("client_left"));
        matches!(counted, (Some(1.0), None) | (None, Some(1.0))).then_some(())
    });
}

#[test]
fn only_http_1_is_spoken() {
    let server = Poolgate::serve();
    let both =
        Connection::negotiate(server.admission(), &server.ca(), &["h2", "http/1.1"]).expect("a handshake");
    assert_eq!(both.protocol(), Some(&b"http/1.1"[..]));
    let silent = Connection::negotiate(server.admission(), &server.ca(), &[]).expect("a handshake");
    assert_eq!(silent.protocol(), None);
    assert!(Connection::negotiate(server.admission(), &server.ca(), &["h2"]).is_err());
}

/// Uses two connections again after each pause of this many seconds, one of them for the first time after the first
/// pause.
fn assert_kept(pauses: &[u64]) {
    let server = Poolgate::serve();
    let (mut connection, mut unused) = (Connection::to(&server), Connection::to(&server));
    assert_eq!(connection.post("/validate", &good_review("before")).status, 200);
    for pause in pauses {
        sleep(Duration::from_secs(*pause));
        let answer = connection.post("/validate", &good_review("after"));
        assert_eq!(answer.json()["response"]["uid"], "after", "after {pause} s");
        assert_eq!(answer.header("connection"), None);
        if pause == &pauses[0] {
            // Go's transport opens connections in reserve.
            assert_eq!(unused.post("/validate", &good_review("first")).status, 200);
        }
    }
    assert_eq!(
        server.metric(r#"poolgate_connections{server="admission"}"#),
        Some(2.0)
    );
}

#[test]
fn an_idle_connection_is_kept_for_the_next_request() {
    // Longer than the limits of a handshake, a head and a request.
    assert_kept(&[12]);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn an_idle_connection_is_kept_for_as_long_as_the_api_server_keeps_it() {
    // Longer than every limit that must not count while a connection idles.
    assert_kept(&[12, 35, 100]);
}

/// In the usual run, unit tests with their own clock replace this one.
#[test]
#[ignore = "long: .ci/nightly"]
fn silence_after_the_handshake_is_ended() {
    let server = Poolgate::serve();
    let began = Instant::now();
    let mut connection = Connection::to(&server);
    connection.wait_for_end();
    assert_waited(began, 180);
    server.wait_for_metric(r#"poolgate_connection_timeouts_total{server="admission"}"#, 1.0);
}

#[test]
fn connections_that_have_ended_leave_nothing_behind() {
    let server = Poolgate::serve();
    for _ in 0..50 {
        Connection::to(&server);
    }
    server.wait_for_metric(r#"poolgate_connections{server="admission"}"#, 0.0);
    assert_works(&server);
}

/// A limit of the server was not cut short. The metrics say which limit ended the wait.
#[track_caller]
fn assert_waited(began: Instant, seconds: u64) {
    let waited = began.elapsed();
    assert!(waited >= Duration::from_secs(seconds), "{waited:?}");
}
