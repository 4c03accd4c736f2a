//! Many connections of one client: whatever they do, other clients are answered.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Connection, dial_from, good_review, head, review};
use crate::support::poolgate::Poolgate;
use crate::support::wait::wait_for;

const CLIENT: Ipv4Addr = Ipv4Addr::LOCALHOST;
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// So many connections that complete a handshake and send nothing.
fn idle(server: &Poolgate, ca: &str, sources: impl Iterator<Item = Ipv4Addr>) -> Vec<Connection> {
    sources
        .filter_map(|source| Connection::from(source, server, ca).ok())
        .collect()
}

/// Crowds from one address, from two, and from many.
fn crowds() -> [Vec<Ipv4Addr>; 3] {
    let number = |at: u16| Ipv4Addr::new(127, 1, at.to_be_bytes()[0], at.to_be_bytes()[1]);
    [
        vec![STRANGER; 600],
        [[STRANGER; 300], [Ipv4Addr::new(127, 0, 0, 3); 300]].concat(),
        (1..=600).map(number).collect(),
    ]
}

#[test]
fn more_idle_connections_than_there_are_places_leave_room_for_others() {
    for crowd in crowds() {
        let server = Poolgate::serve();
        let ca = server.ca();
        let mut kept = [Connection::to(&server), Connection::to(&server)];
        for connection in &mut kept {
            assert_eq!(connection.post("/validate", &good_review("early")).status, 200);
        }
        let idle = idle(&server, &ca, crowd.iter().copied());
        assert_eq!(idle.len(), crowd.len(), "the new ones have displaced older ones");
        for connection in &mut kept {
            assert_eq!(connection.post("/validate", &good_review("kept")).status, 200);
        }
        let mut late = Connection::to(&server);
        assert_eq!(late.post("/validate", &good_review("late")).status, 200);
        assert_eq!(
            server.metric(r#"poolgate_connections_refused_total{server="admission"}"#),
            None
        );
        let displaced = server.metric(r#"poolgate_connections_displaced_total{server="admission"}"#);
        assert!(displaced >= Some(600.0 + 3.0 - 512.0), "{displaced:?}");
        let reported = server.logged("too many connections, closed an idle one for a new one", 1);
        assert!(
            reported[0]["fields"]["peer"].as_str().is_some(),
            "{}",
            server.log()
        );
        drop(idle);
    }
}

#[test]
fn more_connections_to_the_probe_port_than_it_has_places_leave_room_for_probes() {
    for crowd in crowds() {
        let server = Poolgate::serve();
        let probe = server.address("probe");
        let silent: Vec<_> = crowd.iter().map(|source| dial_from(*source, probe)).collect();
        for path in ["/livez", "/readyz"] {
            assert_eq!(server.probe(path).0, 200, "{path}");
        }
        drop(silent);
    }
}

#[test]
fn a_review_beside_crowds_is_answered_within_100_ms() {
    let server = Poolgate::serve();
    let ca = server.ca();
    let idle: Vec<_> = (0..520)
        .filter_map(|_| Connection::from(STRANGER, &server, &ca).ok())
        .collect();
    let probing: Vec<_> = (0..70)
        .map(|_| dial_from(STRANGER, server.address("probe")).expect("a connection"))
        .collect();
    let half_sent = half_sent(&server, &ca, Ipv4Addr::new(127, 0, 0, 3), 12);
    let fastest = (0..5).map(|_| {
        let mut connection = Connection::to(&server);
        let began = Instant::now();
        assert_eq!(connection.post("/validate", &good_review("beside")).status, 200);
        began.elapsed()
    });
    let fastest = fastest.min().expect("five reviews");
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
    drop((idle, probing, half_sent));
}

#[test]
fn connections_that_never_speak_leave_room_for_others() {
    let server = Poolgate::serve();
    let silent: Vec<_> = (0..450)
        .map(|_| dial_from(STRANGER, server.admission()).expect("a connection"))
        .collect();
    let answer = Connection::to(&server).post("/validate", &good_review("beside"));
    assert_eq!(answer.status, 200);
    drop(silent);
}

#[test]
fn idle_connections_to_the_probe_port_leave_room_for_probes() {
    let server = Poolgate::serve();
    // From an address other than the kubelet's, and from the same.
    for source in [STRANGER, CLIENT] {
        let idle: Vec<_> = (0..70)
            .map(|_| dial_from(source, server.address("probe")).expect("a connection"))
            .collect();
        assert_eq!(server.probe("/livez").0, 200);
        assert_eq!(server.probe("/readyz").0, 200);
        // The kubelet did not have to wait until the first of them had been silent for too long.
        let overdue = r#"poolgate_connection_timeouts_total{server="probe"}"#;
        assert_eq!(server.metric(overdue), None);
        drop(idle);
    }
}

/// Connections from this address, each with a body of 6 MiB without its last byte.
fn half_sent(server: &Poolgate, ca: &str, source: Ipv4Addr, count: usize) -> Vec<Connection> {
    let size = 6 << 20;
    let connections = (0..count).map(|_| {
        let mut connection = Connection::from(source, server, ca).expect("a handshake");
        // A body for which there is no memory is rejected before all of it is sent.
        let _ = connection.send(&head("/validate?timeout=30s", size + 1));
        let _ = connection.send(&vec![b' '; size]);
        connection
    });
    connections.collect()
}

#[test]
fn half_sent_bodies_leave_room_for_others() {
    let server = Poolgate::serve();
    let ca = server.ca();
    let half_sent = half_sent(&server, &ca, STRANGER, 10);
    wait_for("the memory for bodies to be taken", || {
        let rejected = server.metric(r#"poolgate_webhook_requests_total{webhook="validate",code="503"}"#);
        (rejected == Some(5.0)).then_some(())
    });

    let long = json!({"template": {"metadata": {"annotations": {"note": "x".repeat(1 << 20)}}}});
    for review in [good_review("usual"), review("large", &long)] {
        let answer = Connection::to(&server).post("/validate", &review);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let mut usual = Connection::from(STRANGER, &server, &ca).expect("a handshake");
    assert_eq!(usual.post("/validate", &good_review("usual")).status, 200);
    drop(half_sent);
}
