//! What happens to a faulty request: it gets its answer, and the server continues.

use std::time::{Duration, Instant};

use super::client::{Connection, Response, assert_works, good_review, head, review_of};
use super::memory::memory_kib;
use crate::support::poolgate::Poolgate;

/// Sends a request unchanged.
fn ask(connection: &mut Connection, request: &str) -> Response {
    connection.send(request.as_bytes()).expect("sent");
    connection.response().expect("an answer")
}

#[test]
fn a_wrong_path_is_reported_the_right_ones() {
    let server = Poolgate::serve();
    let answer = Connection::to(&server).post("/validating", &good_review("u"));
    assert_eq!(answer.status, 404);
    assert!(
        answer.body.contains("/mutate") && answer.body.contains("/validate"),
        "{answer:?}"
    );
    assert_works(&server);
}

#[test]
fn a_wrong_method_is_reported_the_right_one() {
    let server = Poolgate::serve();
    let answer = ask(
        &mut Connection::to(&server),
        "GET /validate HTTP/1.1\r\nHost: poolgate\r\n\r\n",
    );
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_works(&server);
}

#[test]
fn a_wrong_content_type_is_reported_the_right_one() {
    let server = Poolgate::serve();
    for line in ["Content-Type: text/yaml\r\n", ""] {
        let request =
            format!("POST /validate HTTP/1.1\r\nHost: poolgate\r\n{line}Content-Length: 2\r\n\r\n{{}}");
        let answer = ask(&mut Connection::to(&server), &request);
        assert_eq!(answer.status, 415, "{answer:?}");
        assert!(answer.body.contains("application/json"), "{answer:?}");
    }
    assert_works(&server);
}

#[test]
fn anything_but_http_gets_an_answer() {
    let server = Poolgate::serve();
    let answer = ask(&mut Connection::to(&server), "what is this\r\n\r\n");
    assert_eq!(answer.status, 400);
    let long = format!("POST /{} HTTP/1.1\r\nHost: poolgate\r\n\r\n", "x".repeat(100_000));
    let answer = ask(&mut Connection::to(&server), &long);
    assert!(matches!(answer.status, 414 | 431), "{answer:?}");
    assert_works(&server);
}

#[test]
fn a_review_without_a_request_is_a_400_and_the_connection_stays_open() {
    let server = Poolgate::serve();
    let mut connection = Connection::to(&server);
    let review = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#;
    for body in [
        &review[..],
        b"null",
        b"[]",
        b"",
        b"{",
        b"\xff\xfe",
        b"{\"request\":7}",
    ] {
        let answer = connection.post("/validate", body);
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.len() > 10, "a sentence: {answer:?}");
    }
    assert_eq!(connection.post("/validate", &good_review("u")).status, 200);
    assert_eq!(server.metric("poolgate_webhook_malformed_total"), Some(7.0));
}

#[test]
fn a_review_of_null_gets_its_answer() {
    let server = Poolgate::serve();
    for path in ["/validate", "/mutate"] {
        let answer = Connection::to(&server).post(path, &review_of("of-null", "null"));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["response"]["uid"], "of-null");
    }
    assert_works(&server);
}

#[test]
fn json_nested_100_000_deep_gets_its_answer() {
    let server = Poolgate::serve();
    let deep = |open: &str, close: &str| open.repeat(100_000) + close.repeat(100_000).as_str();
    let mut connection = Connection::to(&server);
    assert_eq!(
        connection.post("/validate", deep("[", "]").as_bytes()).status,
        400
    );
    for object in [
        deep("[", "]"),
        deep("{\"spec\":", "}").replace(":}", ":1}"),
        "[".repeat(100_000),
    ] {
        let answer = connection.post("/validate", &review_of("deep", &object));
        assert!(matches!(answer.status, 200 | 400), "{answer:?}");
    }
    assert_works(&server);
}

#[test]
fn a_gigabyte_that_is_announced_is_rejected_before_it_comes() {
    let server = Poolgate::serve();
    let mut connection = Connection::to(&server);
    connection.send(&head("/validate", 1 << 30)).expect("sent");
    let answer = connection.response().expect("an answer");
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    connection.wait_for_end();
    assert_works(&server);
}

#[test]
fn a_gigabyte_that_is_streamed_is_rejected_in_bounded_memory() {
    let server = Poolgate::serve();
    assert_works(&server);
    let before = memory_kib(&server, "VmRSS");
    let piece = vec![b' '; 1 << 20];
    for announced in [true, false] {
        let mut connection = Connection::to(&server);
        let framing = if announced {
            "Content-Length: 1073741824"
        } else {
            "Transfer-Encoding: chunked"
        };
        let head = format!(
            "POST /validate HTTP/1.1\r\nHost: poolgate\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
        );
        connection.send(head.as_bytes()).expect("sent");
        let mut sent = 0;
        while sent < 1 << 10 {
            let framed = announced || connection.send(b"100000\r\n").is_ok();
            if !framed || connection.send(&piece).is_err() || !announced && connection.send(b"\r\n").is_err()
            {
                break;
            }
            sent += 1;
        }
        assert_eq!(
            connection.response().expect("an answer").status,
            413,
            "after {sent} MiB"
        );
    }
    let grown = memory_kib(&server, "VmRSS").saturating_sub(before);
    assert!(grown < 24 * 1024, "{grown} KiB more than before");
    assert_works(&server);
}

#[test]
fn a_body_that_does_not_come_is_waited_for_as_long_as_the_caller_says() {
    let server = Poolgate::serve();
    let began = Instant::now();
    let (mut patient, mut hasty) = (Connection::to(&server), Connection::to(&server));
    let review = good_review("patient");
    let (first, rest) = review.split_at(review.len() / 2);
    patient
        .send(&head("/validate?timeout=30s", review.len()))
        .expect("sent");
    patient.send(first).expect("sent");
    hasty.send(&head("/validate?timeout=1s", 100)).expect("sent");
    hasty.send(b"{").expect("sent");
    let answer = hasty.response().expect("an answer");
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    hasty.wait_for_end();
    // A client that came earlier and waits longer is still waited for.
    patient.send(rest).expect("sent");
    let answer = patient.response().expect("an answer");
    assert_eq!(answer.json()["response"]["uid"], "patient");
    assert_works(&server);
}

#[test]
fn a_body_in_chunks_is_as_good_as_any() {
    let server = Poolgate::serve();
    let mut connection = Connection::to(&server);
    let head = "POST /validate HTTP/1.1\r\nHost: poolgate\r\nContent-Type: application/json; charset=utf-8\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    connection.send(head.as_bytes()).expect("sent");
    for piece in good_review("in-chunks").chunks(7) {
        connection
            .send(format!("{:x}\r\n", piece.len()).as_bytes())
            .expect("sent");
        connection.send(piece).expect("sent");
        connection.send(b"\r\n").expect("sent");
    }
    let answer = ask(&mut connection, "0\r\n\r\n");
    assert_eq!(answer.json()["response"]["uid"], "in-chunks");
}
