//! What an operator sees of the server.

use super::client::{Connection, bad_review, good_review};
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
    let denied = connection.post("/validate", &bad_review("refused"));
    assert_eq!(denied.json()["response"]["allowed"], false, "{denied:?}");
    let lines = server.logged("denied");
    assert_eq!(lines.len(), 1, "{}", server.log());
    assert_eq!(lines[0]["fields"]["uid"], "refused");
    assert_eq!(lines[0]["level"], "INFO");
    assert_eq!(
        server.log().lines().count(),
        2,
        "`listening` and one denial: {}",
        server.log()
    );
}

#[test]
fn every_admission_is_a_line_for_who_looks_closer() {
    let server = Poolgate::serve_with(&["--log-level", "debug"]);
    Connection::to(&server).post("/validate", &good_review("admitted"));
    assert_eq!(server.logged("allowed").len(), 1, "{}", server.log());
}
