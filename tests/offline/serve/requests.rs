//! What happens to a request that is not as it should be: it gets its answer, and the server goes on.

use std::time::{Duration, Instant};

use super::client::{Connection, Response, good_review, head, review_of};
use super::server::Server;

/// Sends a request as it stands.
fn ask(connection: &mut Connection, request: &str) -> Response {
    connection.send(request.as_bytes()).expect("sent");
    connection.response().expect("an answer")
}

#[test]
fn a_wrong_path_is_told_the_right_ones() {
    let server = Server::start(&[]);
    let answer = server.connect().post("/validating", &good_review("u"));
    assert_eq!(answer.status, 404);
    assert!(
        answer.body.contains("/mutate") && answer.body.contains("/validate"),
        "{answer:?}"
    );
    server.assert_works();
}

#[test]
fn a_wrong_method_is_told_the_right_one() {
    let server = Server::start(&[]);
    let answer = ask(
        &mut server.connect(),
        "GET /validate HTTP/1.1\r\nHost: poolgate\r\n\r\n",
    );
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    server.assert_works();
}

#[test]
fn a_wrong_content_type_is_told_the_right_one() {
    let server = Server::start(&[]);
    for line in ["Content-Type: text/yaml\r\n", ""] {
        let request =
            format!("POST /validate HTTP/1.1\r\nHost: poolgate\r\n{line}Content-Length: 2\r\n\r\n{{}}");
        let answer = ask(&mut server.connect(), &request);
        assert_eq!(answer.status, 415, "{answer:?}");
        assert!(answer.body.contains("application/json"), "{answer:?}");
    }
    server.assert_works();
}

#[test]
fn what_is_no_http_gets_its_answer() {
    let server = Server::start(&[]);
    let answer = ask(&mut server.connect(), "what is this\r\n\r\n");
    assert_eq!(answer.status, 400);
    let long = format!("POST /{} HTTP/1.1\r\nHost: poolgate\r\n\r\n", "x".repeat(100_000));
    let answer = ask(&mut server.connect(), &long);
    assert!(matches!(answer.status, 414 | 431), "{answer:?}");
    server.assert_works();
}

#[test]
fn a_review_without_a_request_is_a_400_and_the_connection_goes_on() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
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
    assert_eq!(server.metric("poolgate_webhook_malformed_total"), 7);
}

#[test]
fn a_review_of_null_gets_its_answer() {
    let server = Server::start(&[]);
    for path in ["/validate", "/mutate"] {
        let answer = server.connect().post(path, &review_of("of-null", "null"));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["response"]["uid"], "of-null");
    }
    server.assert_works();
}

#[test]
fn json_nested_100_000_deep_gets_its_answer() {
    let server = Server::start(&[]);
    let deep = |open: &str, close: &str| open.repeat(100_000) + close.repeat(100_000).as_str();
    let mut connection = server.connect();
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
    server.assert_works();
}

#[test]
fn a_gigabyte_that_is_announced_is_refused_before_it_comes() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
    let began = Instant::now();
    connection.send(&head("/validate", 1 << 30)).expect("sent");
    let answer = connection.response().expect("an answer");
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    connection.wait_for_end();
    server.assert_works();
}

#[test]
fn a_gigabyte_that_is_streamed_is_refused_in_bounded_memory() {
    let server = Server::start(&[]);
    server.assert_works();
    let before = server.resident_kib();
    let piece = vec![b' '; 1 << 20];
    for announced in [true, false] {
        let mut connection = server.connect();
        let began = Instant::now();
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
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
    let grown = server.resident_kib().saturating_sub(before);
    assert!(grown < 24 * 1024, "{grown} KiB more than before");
    server.assert_works();
}

#[test]
fn a_body_that_does_not_come_is_waited_for_as_long_as_the_caller_says() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
    let began = Instant::now();
    connection.send(&head("/validate?timeout=1s", 100)).expect("sent");
    connection.send(b"{").expect("sent");
    let answer = connection.response().expect("an answer");
    let took = began.elapsed();
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    assert!(
        took >= Duration::from_secs(1) && took < Duration::from_secs(3),
        "{took:?}"
    );
    connection.wait_for_end();
    server.assert_works();
}

#[test]
fn a_body_in_chunks_is_as_good_as_any() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
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
