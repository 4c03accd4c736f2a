//! How much memory the largest and most complex reviews take.

use std::fs;
use std::thread;

use super::client::{Connection, assert_works, review_of};
use crate::support::poolgate::Poolgate;

/// The memory of the pod, in KiB.
const POD: u64 = 256 * 1024;

/// What one review may add to it.
const REVIEW: u64 = 64 * 1024;

/// A line of the kernel's statistics of the server's memory, in KiB: `VmRSS`, or `VmHWM` for its peak.
pub fn memory_kib(server: &Poolgate, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.id())).expect("a status");
    let rest = status
        .lines()
        .find_map(|text| text.strip_prefix(line))
        .expect("a size");
    let number = rest.trim_start_matches(':').trim().trim_end_matches(" kB");
    number.parse().expect("a number")
}

/// The review of a NodePool with `spec`.
fn review(spec: &str) -> Vec<u8> {
    let object = format!(
        r#"{{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{{"name":"general"}},"spec":{spec}}}"#
    );
    review_of("large", &object)
}

/// Specs of this many KiB that take as much memory as possible, in several fields.
fn specs(kib: usize) -> Vec<(&'static str, String)> {
    let list = |piece: &str| {
        format!(
            "[{}{piece}]",
            format!("{piece},").repeat((kib << 10) / (piece.len() + 1))
        )
    };
    let template = |field: &str, list: &str| format!(r#"{{"template":{{"spec":{{"{field}":{list}}}}}}}"#);
    let labels: Vec<_> = (0..(kib << 10) / 14)
        .map(|at| format!(r#""k{at:07}":"""#))
        .collect();
    vec![
        (
            "small objects",
            format!(r#"{{"unknown":{}}}"#, list(r#"{"a":1}"#)),
        ),
        ("requirements", template("requirements", &list(r#"{"key":"a"}"#))),
        ("taints", template("taints", &list(r#"{"key":""}"#))),
        (
            "budgets",
            format!(r#"{{"disruption":{{"budgets":{}}}}}"#, list(r#"{"nodes":"1"}"#)),
        ),
        (
            "labels",
            format!(
                r#"{{"template":{{"metadata":{{"labels":{{{}}}}}}}}}"#,
                labels.join(",")
            ),
        ),
        (
            "values",
            template(
                "requirements",
                &format!(r#"[{{"key":"a","operator":"In","values":{}}}]"#, list("\"\"")),
            ),
        ),
        ("empty objects", format!(r#"{{"unknown":{}}}"#, list("{}"))),
    ]
}

#[test]
fn a_review_takes_a_bounded_amount_of_memory_however_large_its_objects_become() {
    for kib in [64, 128, 256, 512, 1024, 3072, 6144] {
        for (what, spec) in specs(kib) {
            // Of a server that has reviewed before, some memory of another thread may not be given back yet.
            let server = Poolgate::serve();
            assert_works(&server);
            let idle = memory_kib(&server, "VmRSS");
            forget_peak(&server);
            let answer = Connection::to(&server).post("/validate", &review(&spec));
            assert_eq!(answer.status, 200, "{answer:?}");
            let code = &answer.json()["response"]["status"]["code"];
            let peak = memory_kib(&server, "VmHWM").saturating_sub(idle);
            println!("{kib} KiB of {what}: {peak} KiB above {idle}; {code}");
            assert!(peak <= REVIEW, "{kib} KiB of {what}: {peak} KiB above {idle}");
            assert_works(&server);
        }
    }
}

#[test]
fn what_would_take_too_much_memory_is_denied_with_the_reason() {
    let server = Poolgate::serve();
    let (_, spec) = specs(3072).swap_remove(0);
    let answer = Connection::to(&server).post("/validate", &review(&spec)).json();
    let status = &answer["response"]["status"];
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&413.into(), &"RequestEntityTooLarge".into())
    );
    let message = status["message"].as_str().expect("a message");
    assert!(message.contains("more than 24 MiB of memory"), "{message}");
}

#[test]
fn several_of_the_largest_reviews_at_once_fit_into_the_pod() {
    let server = Poolgate::serve();
    let (server_ref, specs) = (&server, specs(6144));
    thread::scope(|scope| {
        for (_, spec) in &specs {
            scope.spawn(move || {
                for path in ["/validate", "/mutate"] {
                    let answer = Connection::to(server_ref).post(path, &review(spec));
                    assert!(matches!(answer.status, 200 | 503), "{answer:?}");
                }
            });
        }
    });
    let peak = memory_kib(&server, "VmHWM");
    println!("{peak} KiB");
    assert!(peak < POD, "{peak} KiB");
    assert_works(&server);
}

/// Resets `VmHWM` to the current use.
fn forget_peak(server: &Poolgate) {
    fs::write(format!("/proc/{}/clear_refs", server.process.id()), "5").expect("the peak can be reset");
}
