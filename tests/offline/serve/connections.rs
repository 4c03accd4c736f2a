//! What happens below a request: handshakes, silence, idling.

use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::client::{Connection, assert_works, good_review, head, is_end};
use crate::support::poolgate::Poolgate;
use crate::support::running::dial;
use crate::support::wait::{PATIENCE, wait_for};

#[test]
fn garbage_instead_of_tls_is_closed_and_counted() {
    let server = Poolgate::serve();
    let mut socket = dial(server.admission()).expect("a connection");
    socket
        .write_all(b"POST /validate HTTP/1.1\r\nHost: poolgate\r\n\r\n")
        .expect("sent");
    let began = Instant::now();
    let mut answer = Vec::new();
    if let Err(error) = socket.read_to_end(&mut answer) {
        assert!(is_end(&error), "{error}");
    }
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert!(answer.len() < 64, "no more than an alert: {answer:?}");
    assert_works(&server);
    assert_eq!(
        server.metric(r#"poolgate_handshake_failures_total{reason="not_acceptable"}"#),
        Some(1.0)
    );
}

#[test]
fn a_connection_that_never_speaks_is_closed_by_the_handshake_limit() {
    let server = Poolgate::serve();
    let mut socket = dial(server.admission()).expect("a connection");
    let began = Instant::now();
    let mut answer = Vec::new();
    if let Err(error) = socket.read_to_end(&mut answer) {
        assert!(is_end(&error), "{error}");
    }
    assert_between(began.elapsed(), 5, 8);
    assert_works(&server);
    assert_eq!(
        server.metric(r#"poolgate_handshake_failures_total{reason="timeout"}"#),
        Some(1.0)
    );
}

#[test]
fn a_client_that_leaves_during_the_handshake_is_no_more_than_a_number() {
    let server = Poolgate::serve();
    drop(dial(server.admission()).expect("a connection"));
    assert_works(&server);
    assert_eq!(
        server.metric(r#"poolgate_handshake_failures_total{reason="client_left"}"#),
        Some(1.0)
    );
    assert_eq!(server.log().lines().count(), 1, "{}", server.log());
}

#[test]
fn a_client_that_does_not_trust_us_is_told_apart() {
    let (server, other) = (Poolgate::serve(), Poolgate::serve());
    assert!(Connection::negotiate(server.admission(), &other.ca(), &["http/1.1"]).is_err());
    assert_works(&server);
    let refused = server.metric(r#"poolgate_handshake_failures_total{reason="client_refused"}"#);
    let left = server.metric(r#"poolgate_handshake_failures_total{reason="client_left"}"#);
    // The alert may be lost on the way.
    assert!(
        matches!((refused, left), (Some(1.0), None) | (None, Some(1.0))),
        "{refused:?} {left:?}"
    );
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

#[test]
fn a_head_that_dribbles_in_is_cut_off_though_bytes_keep_coming() {
    let server = Poolgate::serve();
    let mut connection = Connection::to(&server);
    let began = Instant::now();
    let head = head("/validate", 10);
    let mut bytes = head.chunks(1);
    while began.elapsed() < Duration::from_secs(20) {
        if connection.send(bytes.next().expect("more of the head")).is_err() {
            break;
        }
        sleep(Duration::from_millis(500));
    }
    assert_between(began.elapsed(), 5, 9);
    assert_works(&server);
    assert_eq!(
        server.metric(r#"poolgate_connections_overdue_total{server="admission",waiting_for="head"}"#),
        Some(1.0)
    );
}

#[test]
fn an_idle_connection_is_kept_for_the_next_request() {
    let server = Poolgate::serve();
    let (mut connection, mut unused) = (Connection::to(&server), Connection::to(&server));
    // Longer than every limit that must not count while a connection idles; all of them with the full tier.
    let pauses: &[u64] = if std::env::var_os("POOLGATE_TEST_FULL").is_some() {
        &[12, 35, 100]
    } else {
        &[12]
    };
    assert_eq!(connection.post("/validate", &good_review("before")).status, 200);
    for pause in pauses {
        sleep(Duration::from_secs(*pause));
        let answer = connection.post("/validate", &good_review("after"));
        assert_eq!(answer.json()["response"]["uid"], "after", "after {pause} s");
        assert_eq!(answer.header("connection"), None);
        if *pause == 12 {
            // Go's transport opens connections in reserve.
            assert_eq!(unused.post("/validate", &good_review("first")).status, 200);
        }
    }
    assert_eq!(
        server.metric(r#"poolgate_connections{server="admission"}"#),
        Some(2.0)
    );
}

/// In the bounded tier a unit test with a clock of its own stands for this one.
#[test]
fn silence_after_the_handshake_is_ended() {
    if std::env::var_os("POOLGATE_TEST_FULL").is_none() {
        return;
    }
    let server = Poolgate::serve();
    let mut connection = Connection::to(&server);
    let began = Instant::now();
    connection.wait_for_end();
    assert_between(began.elapsed(), 30, 34);
}

#[test]
fn connections_that_have_ended_leave_nothing_behind() {
    let server = Poolgate::serve();
    let open = r#"poolgate_connections{server="admission"}"#;
    for _ in 0..50 {
        Connection::to(&server);
    }
    wait_for("the connections to end", PATIENCE, || {
        (server.metric(open) == Some(0.0)).then_some(())
    });
    assert_works(&server);
}

fn assert_between(took: Duration, low: u64, high: u64) {
    assert!(
        took >= Duration::from_secs(low) && took < Duration::from_secs(high),
        "{took:?}"
    );
}
