//! What an operator sees of the server.

use super::client::{Connection, bad_review, good_review, head};
use crate::support::poolgate::Poolgate;

#[test]
fn probes_and_metrics_answer() {
    let server = Poolgate::serve();
    assert_eq!(server.probe("/livez"), (200, "ok\n".into()));
    assert_eq!(server.probe("/readyz"), (200, "ok\n".into()));
    assert_eq!(server.probe("/healthz").0, 404);
    let mut connection = Connection::to(&server);
    connection.post("/mutate", &good_review("a"));
    connection.post("/validate", &bad_review("b"));
    let (status, text) = server.probe("/metrics");
    assert_eq!(status, 200);
    for line in [
        "poolgate_webhook_requests_total{webhook=\"mutate\",code=\"200\"} 1",
        "poolgate_webhook_requests_in_flight{webhook=\"validate\"} 0",
        "poolgate_webhook_latency_seconds_count{webhook=\"validate\"} 1",
        "poolgate_connections{server=\"admission\"} 1",
        "poolgate_panics_total 0",
        "poolgate_certificate_load_failing 0",
        "poolgate_build_info{version=",
        "# EOF",
    ] {
        assert!(
            text.lines().any(|found| found.starts_with(line)),
            "{line} is not in\n{text}"
        );
    }
    let ends = server.metric("poolgate_certificate_not_after_timestamp_seconds{certificate=\"leaf\"}");
    assert!(ends > Some(1_700_000_000.0), "{ends:?}");
}

#[test]
fn a_denial_is_one_line_and_an_admission_none() {
    let server = Poolgate::serve();
    let mut connection = Connection::to(&server);
    let admitted = connection.post("/validate", &good_review("admitted"));
    assert_eq!(admitted.json()["response"]["allowed"], true, "{admitted:?}");
    let denied = connection.post("/validate", &bad_review("rejected"));
    assert_eq!(denied.json()["response"]["allowed"], false, "{denied:?}");
    let lines = server.logged("denied", 1);
    assert_eq!(lines.len(), 1, "{}", server.log());
    assert_eq!(lines[0]["fields"]["uid"], "rejected");
    assert_eq!(lines[0]["level"], "INFO");
    assert_eq!(
        server.log().lines().count(),
        2,
        "`listening` and one denial: {}",
        server.log()
    );
}

#[test]
fn a_denial_names_its_place_in_the_api_servers_trace() {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let server = Poolgate::serve();
    let review = bad_review("traced");
    let head = String::from_utf8(head("/validate", review.len())).expect("text");
    let head = head.replacen("\r\n", &format!("\r\ntraceparent: {TRACE}\r\n"), 1);
    let mut connection = Connection::to(&server);
    connection.send(head.as_bytes()).expect("sent");
    connection.send(&review).expect("sent");
    assert_eq!(connection.response().expect("an answer").status, 200);
    let lines = server.logged("denied", 1);
    assert_eq!(lines[0]["span"]["traceparent"], TRACE, "{}", server.log());
}

#[test]
fn requests_that_are_no_reviews_are_logged_by_kind_and_not_each() {
    let server = Poolgate::serve();
    let mut connection = Connection::to(&server);
    for _ in 0..50 {
        assert_eq!(connection.post("/validate", b"{").status, 400);
    }
    assert_eq!(Connection::to(&server).post("/nowhere", b"").status, 404);
    let lines = server.logged("rejected a request", 2);
    let paths: Vec<_> = lines
        .iter()
        .filter(|line| line["fields"]["webhook"].is_null())
        .collect();
    assert_eq!(paths.len(), 1, "{}", server.log());
    assert_eq!(paths[0]["fields"]["peer"], "127.0.0.1");
    let malformed: Vec<_> = lines
        .iter()
        .filter(|line| line["fields"]["webhook"] == "validate")
        .collect();
    // A busy machine may take longer for the fifty than the time after which the kind is logged again.
    let reported: u64 = malformed
        .iter()
        .map(|line| 1 + line["fields"]["left_out"].as_u64().expect("a number"))
        .sum();
    assert!(malformed.len() < 25 && reported <= 50, "{}", server.log());
    assert_eq!(server.metric("poolgate_webhook_malformed_total"), Some(50.0));
}

#[test]
fn every_admission_is_a_line_for_who_looks_closer() {
    let server = Poolgate::serve_with(&["--log-level", "debug"]);
    Connection::to(&server).post("/validate", &good_review("admitted"));
    assert_eq!(server.logged("allowed", 1).len(), 1, "{}", server.log());
}
