//! Many connections of one client: whatever they do, other clients are answered.

use std::net::Ipv4Addr;

use serde_json::json;

use super::client::{Connection, dial_from, good_review, head, review};
use crate::support::poolgate::Poolgate;
use crate::support::wait::wait_for;

const CLIENT: Ipv4Addr = Ipv4Addr::LOCALHOST;
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[test]
fn more_idle_connections_than_there_are_places_leave_room_for_others() {
    let server = Poolgate::serve();
    let ca = server.ca();
    let mut early = Connection::to(&server);
    assert_eq!(early.post("/validate", &good_review("early")).status, 200);
    let mut idle: Vec<_> = (0..520)
        .map(|_| Connection::from(STRANGER, &server, &ca).expect("a handshake"))
        .collect();

    assert_eq!(early.post("/validate", &good_review("kept")).status, 200);
    let mut late = Connection::to(&server);
    assert_eq!(late.post("/validate", &good_review("late")).status, 200);
    // The stranger has its share, and its longest idle connections were closed for its later ones.
    idle[0].wait_for_end();
    let newest = idle.last_mut().expect("a connection");
    assert_eq!(newest.post("/validate", &good_review("newest")).status, 200);
    let metric = |name: &str| {
        server.metric(&format!(
            r#"poolgate_connections_{name}_total{{server="admission"}}"#
        ))
    };
    assert_eq!(
        (metric("displaced"), metric("rejected")),
        (Some(520.0 - 384.0), None)
    );
    let reported = server.logged(
        "too many connections: the longest idle one is closed for a new one",
        1,
    );
    assert_eq!(reported[0]["fields"]["peer"], "127.0.0.2", "{}", server.log());
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
        let displaced = server.metric(r#"poolgate_connections_displaced_total{server="probe"}"#);
        assert!(displaced >= Some(22.0), "{displaced:?}");
        let overdue = r#"poolgate_connection_timeouts_total{server="probe",waiting_for="first_request"}"#;
        assert_eq!(server.metric(overdue), None);
        drop(idle);
    }
}

#[test]
fn half_sent_bodies_leave_room_for_others() {
    let server = Poolgate::serve();
    let ca = server.ca();
    let size = 6 << 20;
    let half_sent: Vec<_> = (0..10)
        .map(|_| {
            let mut connection = Connection::from(STRANGER, &server, &ca).expect("a handshake");
            // A request beyond the stranger's share is rejected before all of it is sent.
            let _ = connection.send(&head("/validate?timeout=30s", size + 1));
            let _ = connection.send(&vec![b' '; size]);
            connection
        })
        .collect();
    wait_for("the stranger's share to be taken", || {
        let rejected = server.metric(r#"poolgate_webhook_requests_total{webhook="validate",code="503"}"#);
        (rejected == Some(8.0)).then_some(())
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
