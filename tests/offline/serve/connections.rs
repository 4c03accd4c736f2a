//! What happens below a request: handshakes, silence, idling.

use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::client::{Connection, dial, good_review, head, is_end};
use super::server::Server;

#[test]
fn garbage_instead_of_tls_is_closed_and_counted() {
    let server = Server::start(&[]);
    let mut socket = dial(server.admission);
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
    server.assert_works();
    assert_eq!(
        server.metric(r#"poolgate_handshake_failures_total{reason="not_acceptable"}"#),
        1
    );
}

#[test]
fn a_connection_that_never_speaks_is_closed_by_the_handshake_limit() {
    let server = Server::start(&[]);
    let mut socket = dial(server.admission);
    let began = Instant::now();
    let mut answer = Vec::new();
    if let Err(error) = socket.read_to_end(&mut answer) {
        assert!(is_end(&error), "{error}");
    }
    assert_between(began.elapsed(), 5, 8);
    server.assert_works();
    assert_eq!(
        server.metric(r#"poolgate_handshake_failures_total{reason="timeout"}"#),
        1
    );
}

#[test]
fn a_client_that_leaves_during_the_handshake_is_no_more_than_a_number() {
    let server = Server::start(&[]);
    drop(dial(server.admission));
    server.assert_works();
    assert_eq!(
        server.metric(r#"poolgate_handshake_failures_total{reason="client_left"}"#),
        1
    );
    assert_eq!(server.log().lines().count(), 1, "{}", server.log());
}

#[test]
fn a_client_that_does_not_trust_us_is_told_apart() {
    let (server, other) = (Server::start(&[]), Server::start(&[]));
    assert!(Connection::negotiate(server.admission, other.ca(), &["http/1.1"]).is_err());
    server.assert_works();
    let refused = server.metric(r#"poolgate_handshake_failures_total{reason="client_refused"}"#);
    let left = server.metric(r#"poolgate_handshake_failures_total{reason="client_left"}"#);
    assert_eq!(refused + left, 1, "the alert may be lost on the way");
}

#[test]
fn only_http_1_is_spoken() {
    let server = Server::start(&[]);
    let both =
        Connection::negotiate(server.admission, server.ca(), &["h2", "http/1.1"]).expect("a handshake");
    assert_eq!(both.protocol(), Some(&b"http/1.1"[..]));
    let silent = Connection::negotiate(server.admission, server.ca(), &[]).expect("a handshake");
    assert_eq!(silent.protocol(), None);
    assert!(Connection::negotiate(server.admission, server.ca(), &["h2"]).is_err());
}

#[test]
fn a_head_that_dribbles_in_is_cut_off_though_bytes_keep_coming() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
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
    server.assert_works();
    assert_eq!(
        server.metric(r#"poolgate_connections_overdue_total{server="admission",waiting_for="head"}"#),
        1
    );
}

#[test]
fn an_idle_connection_is_kept_for_the_next_request() {
    let server = Server::start(&[]);
    let (mut connection, mut unused) = (server.connect(), server.connect());
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
    assert_eq!(server.metric(r#"poolgate_connections{server="admission"}"#), 2);
}

/// In the bounded tier a unit test with a clock of its own stands for this one.
#[test]
fn silence_after_the_handshake_is_ended() {
    if std::env::var_os("POOLGATE_TEST_FULL").is_none() {
        return;
    }
    let server = Server::start(&[]);
    let mut connection = server.connect();
    let began = Instant::now();
    connection.wait_for_end();
    assert_between(began.elapsed(), 30, 34);
}

#[test]
fn connections_that_have_ended_leave_nothing_behind() {
    let server = Server::start(&[]);
    let open = r#"poolgate_connections{server="admission"}"#;
    for _ in 0..50 {
        server.connect();
    }
    super::server::wait_for("the connections to end", Duration::from_secs(5), || {
        (server.metric(open) == 0).then_some(())
    });
    server.assert_works();
}

fn assert_between(took: Duration, low: u64, high: u64) {
    assert!(
        took >= Duration::from_secs(low) && took < Duration::from_secs(high),
        "{took:?}"
    );
}
