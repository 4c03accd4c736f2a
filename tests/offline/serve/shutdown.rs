//! How the server stops: no request that it has begun, or that is still sent to it, is lost.

use std::os::unix::process::ExitStatusExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::client::{Connection, assert_works, good_review, head};
use crate::support::poolgate::Poolgate;
use crate::support::running::dial;
use crate::support::wait::wait_for;

#[test]
fn sigterm_answers_what_comes_and_ends_when_all_is_answered() {
    let mut server = Poolgate::serve_with(&["--shutdown-delay", "8s"]);
    let review = good_review("slow");
    let (first, second) = review.split_at(review.len() / 2);
    let mut slow = Connection::to(&server);
    slow.send(&head("/validate?timeout=30s", review.len()))
        .expect("sent");
    slow.send(first).expect("sent");
    let mut idle = Connection::to(&server);
    assert_eq!(
        idle.post("/validate", &good_review("before"))
            .header("connection"),
        None
    );
    let mut unused = Connection::to(&server);

    server.signal("TERM");
    wait_for("not ready", || (server.probe("/readyz").0 == 503).then_some(()));
    assert_eq!(server.probe("/livez").0, 200);
    let answer = Connection::to(&server).post("/validate", &good_review("new"));
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    let answer = Connection::to(&server).post("/nowhere", b"");
    assert_eq!((answer.status, answer.header("connection")), (404, Some("close")));

    // The delay is over: idle connections are closed, requests that have begun are not.
    idle.wait_for_end();
    unused.wait_for_end();
    sleep(Duration::from_secs(1));
    slow.send(second).expect("sent");
    let answer = slow.response().expect("an answer");
    assert_eq!(answer.json()["response"]["uid"], "slow");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(server.wait_for_exit().code(), Some(0));
    assert_eq!(server.logged("stopped", 1).len(), 1, "{}", server.log());
}

/// The server is paused while its shutdown delay ends and clients connect, so that at the end of the delay it has
/// connections of every kind on which no request has arrived.
#[test]
fn who_was_connected_before_the_end_is_still_answered() {
    let mut server = Poolgate::serve_with(&["--shutdown-delay", "5s"]);
    let ca = server.ca();
    let mut used: Vec<_> = (0..4).map(|_| Connection::to(&server)).collect();
    for connection in &mut used {
        assert_eq!(connection.post("/validate", &good_review("before")).status, 200);
    }
    let unused = (0..4).map(|_| Connection::to(&server)).collect::<Vec<_>>();

    server.signal("TERM");
    server.logged("shutting down", 1);
    server.signal("STOP");
    sleep(Duration::from_secs(6));
    let queued: Vec<_> = (0..8)
        .map(|_| dial(server.admission()).expect("a connection"))
        .collect();
    server.signal("CONT");
    let queued = queued
        .into_iter()
        .map(|socket| Connection::shake_hands(socket, &ca, &["http/1.1"]).expect("a handshake"));
    for mut connection in used.into_iter().chain(unused).chain(queued) {
        let answer = connection.post("/validate", &good_review("late"));
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        connection.wait_for_end();
    }
    assert_eq!(server.wait_for_exit().code(), Some(0));
}

#[test]
fn a_request_that_never_ends_does_not_hold_the_server() {
    let mut server = Poolgate::serve();
    let mut slow = Connection::to(&server);
    slow.send(&head("/validate?timeout=30s", 100)).expect("sent");
    slow.send(b"{").expect("sent");
    // The head has certainly arrived when a later connection has been answered.
    assert_works(&server);
    let began = Instant::now();
    assert_eq!(server.terminate().code(), Some(0));
    assert!(
        began.elapsed() >= Duration::from_secs(19),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        server.logged("stopped with work unfinished", 1).len(),
        1,
        "{}",
        server.log()
    );
}

#[test]
fn a_second_signal_ends_it_at_once() {
    // No test waits that long.
    let mut server = Poolgate::serve_with(&["--shutdown-delay", "10m"]);
    server.signal("TERM");
    server.logged("shutting down", 1);
    server.signal("TERM");
    let status = server.wait_for_exit();
    assert_eq!((status.code(), status.signal()), (Some(143), None));
}

#[test]
fn an_interrupt_is_obeyed_though_a_connection_idles() {
    let mut server = Poolgate::serve();
    let _idle = Connection::to(&server);
    server.signal("INT");
    assert_eq!(server.wait_for_exit().code(), Some(0));
}
