//! Clients that send as much as they can, and neither read nor leave.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpSocket;
use tokio::runtime::Builder;

use super::super::no_cluster::{kubeconfig, port, silent};
use super::client::{Connection, assert_works, head, review, review_of};
use super::memory::{forget_peak, memory_kib};
use crate::support::full::full;
use crate::support::poolgate::Poolgate;
use crate::support::running::patient;
use crate::support::wait::wait_for;

/// The memory that all of them together may take, in KiB.
const STRANGERS: u64 = 64 * 1024;

/// How many there are of each kind.
const CROWD: u32 = 40;

/// The name of a metric that counts answered reviews.
const ANSWERED: &str = r#"poolgate_webhook_requests_total{webhook="validate",code="200"}"#;

/// The largest body, in bytes.
const LARGEST: usize = 7 << 20;

/// The largest answer, in bytes.
const LONGEST_ANSWER: usize = 256 * 1024;

/// Puts so many letters into the place of a control character that the text becomes a body of the largest size.
fn filled(text: &str) -> Vec<u8> {
    let filling = "x".repeat(LARGEST - text.len());
    text.replacen('\u{1a}', &filling, 1).into_bytes()
}

/// A review of a NodePool with this long name, whose object is nested too deeply to be read.
fn unreadable() -> Vec<u8> {
    let object = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let review = String::from_utf8(review_of("unreadable", &object)).expect("text");
    filled(&review.replacen(r#""name":"general""#, "\"name\":\"\u{1a}\"", 1))
}

/// A review with 100,000 mistakes.
fn mistaken() -> Vec<u8> {
    let labels = |length: usize| -> String {
        let label = |at: usize| format!(r#""karpenter.sh/{at:0length$}":"v""#);
        (0..100_000).map(label).collect::<Vec<_>>().join(",")
    };
    let object = format!(
        r#"{{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{{"name":"general"}},
        "spec":{{"template":{{"metadata":{{"labels":{{{}}}}}}}}}}}"#,
        labels(53)
    );
    review_of("mistaken", &object)
}

/// A review with one mistaken label of several megabytes.
fn long_label() -> Vec<u8> {
    let object = r#"{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"general"},
        "spec":{"template":{"metadata":{"labels":{"X":"v"}}}}}"#;
    filled(&String::from_utf8(review_of("long", &object.replace('X', "\u{1a}"))).expect("text"))
}

/// A review with so many long mistakes that an answer has no room for all of them.
fn long_labels() -> Vec<u8> {
    let label = |at: u32| format!(r#""{at}{}":"v""#, "\\n".repeat(17 << 10));
    let labels = (0..200).map(label).collect::<Vec<_>>().join(",");
    let object = format!(
        r#"{{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{{"name":"general"}},
        "spec":{{"template":{{"metadata":{{"labels":{{{labels}}}}}}}}}}}"#
    );
    review_of("labels", &object)
}

/// A review of the creation of a NodeClaim, with long texts where `field` is.
fn creation(number: u32, field: &str) -> Vec<u8> {
    let text = |name: &'static str| if name == field { "\u{1a}" } else { name };
    filled(&format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"{}",
        "kind":{{"group":"karpenter.sh","version":"v1","kind":"NodeClaim"}},
        "resource":{{"group":"karpenter.sh","version":"v1","resource":"{}"}},
        "name":"{}","operation":"CREATE","object":{{"metadata":{{"name":"{}","uid":"u-{number}",
        "labels":{{"karpenter.sh/nodepool":"general"}},"annotations":{{"note":"{}"}}}}}}}}}}"#,
        text("uid"),
        text("resource"),
        text("name"),
        text("claim"),
        text("note"),
    ))
}

/// A connection that takes almost nothing before it reads.
fn narrow(server: &Poolgate) -> TcpStream {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(2048).expect("a size");
        let stream = socket.connect(server.admission()).await.expect("a connection");
        stream.into_std().expect("a stream")
    });
    stream.set_nonblocking(false).expect("it blocks");
    patient(stream).expect("a deadline")
}

/// How long each of a hundred honest reviews of 64 KiB takes, sorted.
fn honest(server: &Poolgate) -> Vec<Duration> {
    let note = serde_json::json!({"template": {"metadata": {"annotations": {"note": "x".repeat(60 << 10)}}}});
    let body = review("honest", &note);
    assert!(body.len() <= 64 << 10, "{}", body.len());
    let mut connection = Connection::to(server);
    let mut times: Vec<_> = (0..100)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(connection.post("/validate", &body).status, 200);
            began.elapsed()
        })
        .collect();
    times.sort();
    times
}

#[test]
fn clients_that_do_not_read_their_answers_take_a_bounded_amount_of_memory_and_delay_nobody() {
    let server = Poolgate::serve();
    assert_works(&server);
    let idle = memory_kib(&server, "VmRSS");
    forget_peak(&server);
    let bodies = [unreadable(), mistaken(), long_label()];
    // A debug build takes a second for each.
    let crowd = if full() { CROWD } else { CROWD / 4 };
    let slow: Vec<_> = (0..crowd)
        .zip(bodies.iter().cycle())
        .map(|(number, body)| {
            let mut connection =
                Connection::shake_hands(narrow(&server), &server.ca(), &["http/1.1"]).expect("a handshake");
            connection
                .send(&head("/validate?timeout=30s", body.len()))
                .expect("the head is sent");
            connection.send(body).expect("the body is sent");
            // Several large ones at the same moment get a 503.
            server.wait_for_metric(ANSWERED, 2.0 + f64::from(number));
            connection
        })
        .collect();
    let times = honest(&server);
    let peak = memory_kib(&server, "VmHWM").saturating_sub(idle);
    println!(
        "{peak} KiB above {idle}; median {:?}, fastest {:?}",
        times[50], times[0]
    );
    assert!(peak <= STRANGERS, "{peak} KiB above {idle}");
    // On a machine that does nothing else the median is below this too.
    assert!(times[10] < Duration::from_millis(100), "{times:?}");
    drop(slow);
}

#[test]
fn an_answer_is_bounded_whatever_is_wrong() {
    let server = Poolgate::serve();
    for (what, body) in [
        ("a long name", unreadable()),
        ("100,000 mistakes", mistaken()),
        ("a long label", long_label()),
        ("200 long labels", long_labels()),
    ] {
        assert!(
            body.len() <= LARGEST && body.len() > LARGEST / 10 * 9,
            "{what}: {}",
            body.len()
        );
        let answer = Connection::to(&server).post("/validate", &body);
        println!("{what}: {} B", answer.body.len());
        assert_eq!(answer.status, 200, "{what}");
        assert!(
            answer.body.len() <= LONGEST_ANSWER,
            "{what}: {}",
            answer.body.len()
        );
        let response = &answer.json()["response"];
        assert_eq!(response["allowed"], false, "{what}");
        assert_ne!(response["status"]["message"], Value::Null, "{what}");
    }
    for line in server.log().lines() {
        assert!(line.len() < 4096, "{line}");
    }
    let mut uid = String::from_utf8(review_of("u", "{}")).expect("text");
    uid = uid.replacen(r#""uid":"u""#, &format!(r#""uid":"{}""#, "u".repeat(65)), 1);
    assert_eq!(
        Connection::to(&server).post("/validate", uid.as_bytes()).status,
        400
    );
}

#[test]
fn creations_that_wait_take_a_bounded_amount_of_memory() {
    let listener = silent();
    let file = kubeconfig(port(&listener));
    let path = file.path().to_str().expect("a path");
    let server = Poolgate::start_gate(&["--self-signed", "--kubeconfig", path]);
    let ca = server.ca();
    let ask = |connection: &mut Connection, body: &[u8]| {
        connection
            .send(&head("/gate?timeout=30s", body.len()))
            .expect("the head is sent");
        connection.send(body).expect("the body is sent");
    };
    let connect = || Connection::negotiate(server.admission(), &ca, &["http/1.1"]).expect("a handshake");
    drop(connect());
    let idle = memory_kib(&server, "VmRSS");
    forget_peak(&server);
    let mut waiting = Vec::new();
    let began = Instant::now();
    for (number, field) in (0..CROWD).zip(["name", "resource", "claim", "note"].iter().cycle()) {
        let mut connection = connect();
        ask(&mut connection, &creation(number, field));
        waiting.push(connection);
    }
    // As long as nothing is answered, all of them wait.
    let all = wait_for("all of them to wait", || {
        let waits = server.metric(r#"poolgate_webhook_requests_in_flight{webhook="gate"}"#);
        (waits >= Some(f64::from(CROWD)) || began.elapsed() > Duration::from_secs(24)).then_some(waits)
    });
    let peak = memory_kib(&server, "VmHWM").saturating_sub(idle);
    println!("{all:?} wait: {peak} KiB above {idle}");
    assert!(peak <= STRANGERS, "{peak} KiB above {idle}");
    let mut connection = connect();
    ask(&mut connection, &creation(0, "uid"));
    assert_eq!(connection.response().expect("an answer").status, 400);
    drop(waiting);
}
