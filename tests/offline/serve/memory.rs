//! How much memory the largest and most complex reviews take.

use std::fs;
use std::thread;

use poolgate_core::json::parsed_size;
use serde_json::Value;

use super::client::{Connection, assert_works, review_of};
use crate::support::full::full;
use crate::support::poolgate::Poolgate;

/// The memory of the pod, in KiB.
pub const POD: u64 = 256 * 1024;

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

/// The largest body, in bytes.
const LARGEST: usize = 7 << 20;

/// What the objects of a review may take once they are built.
const BUILT: usize = 24 << 20;

/// A list or a map of a NodePool: what is before its pieces, a piece for each number, and what is behind them.
struct Shape {
    what: &'static str,
    version: &'static str,
    before: &'static str,
    piece: fn(usize) -> String,
    behind: &'static str,
}

impl Shape {
    /// An object of at most this many bytes.
    fn object(&self, bytes: usize) -> String {
        let Self { version, before, .. } = self;
        let start = format!(r#"{{"apiVersion":"karpenter.sh/{version}","kind":"NodePool",{before}"#);
        let mut object = start.clone();
        for number in 0.. {
            let piece = (self.piece)(number);
            if object.len() + piece.len() + self.behind.len() + 2 > bytes {
                break;
            }
            if object.len() > start.len() {
                object.push(',');
            }
            object += &piece;
        }
        object + self.behind + "}"
    }

    /// Its creation, or an update that adds one piece, in a body of at most this many bytes.
    fn review(&self, bytes: usize, is_update: bool) -> Vec<u8> {
        // The version is written once more around the object.
        let room = bytes - review_of("large", "").len() - self.version.len();
        let body = if is_update {
            let (object, old) = (self.object(room / 2), self.object(room / 2 - 4096));
            let review = String::from_utf8(review_of("large", &object)).expect("text");
            review
                .replacen("\"oldObject\":null", &format!("\"oldObject\":{old}"), 1)
                .replacen("CREATE", "UPDATE", 1)
        } else {
            String::from_utf8(review_of("large", &self.object(room))).expect("text")
        };
        body.replacen(
            r#""version":"v1","kind""#,
            &format!(r#""version":"{}","kind""#, self.version),
            1,
        )
        .into_bytes()
    }
}

/// Each list and map of a NodePool, in each of its forms.
fn shapes() -> Vec<Shape> {
    macro_rules! shapes {
        ($($version:ident $what:literal $before:literal $piece:expr, $behind:literal;)*) => {
            vec![$(Shape {
                what: $what,
                version: stringify!($version),
                before: $before,
                piece: $piece,
                behind: $behind,
            }),*]
        };
    }
    shapes! {
        v1 "labels" r#""metadata":{"labels":{"# |at| format!(r#""k{at}":"""#), "}}";
        v1 "annotations" r#""metadata":{"annotations":{"# |at| format!(r#""k{at}":"""#), "}}";
        v1 "annotations of poolgate" r#""metadata":{"annotations":{"# |at| format!(r#""poolgate.dev/k{at}":"""#), "}}";
        v1 "finalizers" r#""metadata":{"finalizers":["# |at| format!(r#""k{at}""#), "]}";
        v1 "owners" r#""metadata":{"ownerReferences":["# |at| format!(r#"{{"uid":"{at}"}}"#), "]}";
        v1 "managed fields" r#""metadata":{"managedFields":["# |at| format!(r#"{{"manager":"{at}"}}"#), "]}";
        v1 "unknown fields" r#""spec":{"# |at| format!(r#""k{at}":1"#), "}";
        v1 "empty lists" r#""spec":{"k":["# |_| "[]".to_owned(), "]}";
        v1 "limits" r#""spec":{"limits":{"# |at| format!(r#""k{at}":"1e4096""#), "}}";
        v1 "long limits" r#""spec":{"limits":{"# |at| format!(r#""k{at}":"{}""#, "9".repeat(1000)), "}}";
        v1 "fractions" r#""spec":{"limits":{"# |at| format!(r#""k{at}":"0.{}1Ei""#, "0".repeat(1000)), "}}";
        v1 "broken limits" r#""spec":{"limits":{"# |at| format!(r#""k{at}":"x""#), "}}";
        v1 "limits of cpu" r#""spec":{"limits":{"# |_| r#""cpu":"1""#.to_owned(), "}}";
        v1 "used resources" r#""spec":{"limits":{"cpu":"1"}},"status":{"resources":{"# |at| format!(r#""k{at}":"1""#), "}}";
        v1 "conditions" r#""spec":{},"status":{"conditions":["# |at| format!(r#"{{"type":"{at}"}}"#), "]}";
        v1 "budgets" r#""spec":{"disruption":{"budgets":["# |_| r#"{"nodes":"1"}"#.to_owned(), "]}}";
        v1 "broken budgets" r#""spec":{"disruption":{"budgets":["# |at| format!(r#"{{"nodes":"{at}x"}}"#), "]}}";
        v1 "schedules" r#""spec":{"disruption":{"budgets":["# |at| format!(r#"{{"nodes":"{}","schedule":"{} {} * * *","duration":"1h"}}"#, at, at % 60, at / 60 % 24), "]}}";
        v1 "reasons" r#""spec":{"disruption":{"budgets":[{"nodes":"1","reasons":["# |_| r#""Drifted""#.to_owned(), "]}]}}";
        v1 "broken reasons" r#""spec":{"disruption":{"budgets":[{"nodes":"1","reasons":["# |at| format!(r#""k{at}""#), "]}]}}";
        v1 "labels of the template" r#""spec":{"template":{"metadata":{"labels":{"# |at| format!(r#""k{at}":"v""#), "}}}}";
        v1 "reserved labels" r#""spec":{"template":{"metadata":{"labels":{"# |at| format!(r#""karpenter.sh/k{at}":"v""#), "}}}}";
        v1 "annotations of the template" r#""spec":{"template":{"metadata":{"annotations":{"# |at| format!(r#""k{at}":"v""#), "}}}}";
        v1 "taints" r#""spec":{"template":{"spec":{"taints":["# |at| format!(r#"{{"key":"k{at}","effect":"NoSchedule"}}"#), "]}}}";
        v1 "equal taints" r#""spec":{"template":{"spec":{"taints":["# |_| r#"{"key":"k","effect":"NoSchedule"}"#.to_owned(), "]}}}";
        v1 "broken taints" r#""spec":{"template":{"spec":{"taints":["# |_| r#"{"key":""}"#.to_owned(), "]}}}";
        v1 "startup taints" r#""spec":{"template":{"spec":{"startupTaints":["# |at| format!(r#"{{"key":"k{at}","effect":"NoSchedule"}}"#), "]}}}";
        v1 "the node class" r#""spec":{"template":{"spec":{"nodeClassRef":{"# |at| format!(r#""k{at}":"v""#), "}}}}";
        v1 "broken requirements" r#""spec":{"template":{"spec":{"requirements":["# |_| r#"{"key":"a"}"#.to_owned(), "]}}}";
        v1 "requirements on a label each" r#""spec":{"template":{"spec":{"requirements":["# |at| format!(r#"{{"key":"k{at}","operator":"Exists"}}"#), "]}}}";
        v1 "NotIn" r#""spec":{"limits":{"cpu":"100"},"template":{"spec":{"requirements":["# |at| format!(r#"{{"key":"karpenter.k8s.aws/instance-cpu","operator":"NotIn","values":["{at}"]}}"#), "]}}}";
        v1 "In" r#""spec":{"limits":{"cpu":"100"},"template":{"spec":{"requirements":["# |at| format!(r#"{{"key":"karpenter.k8s.aws/instance-cpu","operator":"In","values":["1","{at}"]}}"#), "]}}}";
        v1 "Gt" r#""spec":{"limits":{"cpu":"100"},"template":{"spec":{"requirements":["# |at| format!(r#"{{"key":"karpenter.k8s.aws/instance-cpu","operator":"Gt","values":["{at}"]}}"#), "]}}}";
        v1 "Lt" r#""spec":{"limits":{"cpu":"100"},"template":{"spec":{"requirements":["# |at| format!(r#"{{"key":"karpenter.k8s.aws/instance-cpu","operator":"Lt","values":["1{at}"]}}"#), "]}}}";
        v1 "Exists" r#""spec":{"limits":{"cpu":"100"},"template":{"spec":{"requirements":["# |_| r#"{"key":"karpenter.k8s.aws/instance-cpu","operator":"Exists"}"#.to_owned(), "]}}}";
        v1 "DoesNotExist" r#""spec":{"limits":{"cpu":"100"},"template":{"spec":{"requirements":["# |_| r#"{"key":"k","operator":"DoesNotExist"}"#.to_owned(), "]}}}";
        v1 "listed values" r#""spec":{"template":{"spec":{"requirements":[{"key":"k","operator":"In","values":["# |at| format!(r#""{at}""#), "]}]}}}";
        v1 "excluded values" r#""spec":{"template":{"spec":{"requirements":[{"key":"k","operator":"NotIn","values":["# |at| format!(r#""{at}""#), "]}]}}}";
        v1 "equal values" r#""spec":{"template":{"spec":{"requirements":[{"key":"k","operator":"In","minValues":9,"values":["# |_| r#""""#.to_owned(), "]}]}}}";
        v1 "instance types" r#""spec":{"limits":{"cpu":"1"},"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"a"},"requirements":[{"key":"karpenter.k8s.aws/instance-family","operator":"In","values":["m5"]},{"key":"node.kubernetes.io/instance-type","operator":"In","values":["# |at| format!(r#""m5.{at}xlarge""#), "]}]}}}";
        v1 "instance families" r#""spec":{"limits":{"cpu":"1"},"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"a"},"requirements":[{"key":"karpenter.k8s.aws/instance-size","operator":"In","values":["24xlarge"]},{"key":"karpenter.k8s.aws/instance-family","operator":"In","values":["# |at| format!(r#""m{at}""#), "]}]}}}";
        v1 "zones" r#""spec":{"template":{"spec":{"requirements":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["# |at| format!(r#""eu-{at}a""#), "]}]}}}";
        v1beta1 "reserved resources" r#""spec":{"template":{"spec":{"kubelet":{"systemReserved":{"# |at| format!(r#""k{at}":"1e4096""#), "}}}}}";
        v1beta1 "evictions" r#""spec":{"template":{"spec":{"kubelet":{"evictionSoft":{"# |at| format!(r#""k{at}":"1%""#), "}}}}}";
        v1beta1 "grace periods" r#""spec":{"template":{"spec":{"kubelet":{"evictionSoftGracePeriod":{"# |at| format!(r#""k{at}":"1m""#), "}}}}}";
        v1beta1 "DNS servers" r#""spec":{"template":{"spec":{"kubelet":{"clusterDNS":["# |at| format!(r#""{at}""#), "]}}}}";
    }
}

/// CPU time that the server has used, in the kernel's ticks of 10 ms.
fn ticks(server: &Poolgate) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.process.id())).expect("a statistic");
    let (_, fields) = stat.rsplit_once(')').expect("the name");
    let times = fields.split_whitespace().skip(11).take(2);
    times.map(|time| time.parse::<u64>().expect("a number")).sum()
}

/// The memory that a review takes beside the idle server, in KiB, its CPU time, and the code of a denial.
fn cost(shape: &Shape, bytes: usize, is_update: bool) -> (u64, u64, Value) {
    // Of a server that has reviewed before, some memory of another thread may not be given back yet.
    let server = Poolgate::serve();
    assert_works(&server);
    let (body, idle) = (shape.review(bytes, is_update), memory_kib(&server, "VmRSS"));
    forget_peak(&server);
    let begun = ticks(&server);
    let answer = Connection::to(&server).post("/validate", &body);
    let taken = ticks(&server) - begun;
    assert_eq!(answer.status, 200, "{}: {answer:?}", shape.what);
    let code = answer.json()["response"]["status"]["code"].clone();
    let peak = memory_kib(&server, "VmHWM").saturating_sub(idle);
    println!(
        "{} B of {}, {is_update}: {peak} KiB, {taken}0 ms, {code}",
        body.len(),
        shape.what
    );
    assert!(
        peak <= REVIEW,
        "{} B of {}: {peak} KiB above {idle}",
        body.len(),
        shape.what
    );
    assert_works(&server);
    (peak, taken, code)
}

#[test]
fn a_review_of_each_list_and_map_costs_no_more_than_its_size() {
    /// How many times smaller the review is that the largest is compared with.
    const SMALLER: usize = 16;
    /// Ticks that a review takes in a release build.
    const MOST: u64 = 100;
    let (largest, kinds) = if full() {
        (LARGEST, &[false, true][..])
    } else {
        (512 << 10, &[false][..])
    };
    for shape in &shapes() {
        for is_update in kinds {
            if full() {
                cost(shape, largest, *is_update);
            }
            // Larger ones are denied because of the memory that they would take.
            let built = parsed_size(&shape.review(1 << 20, *is_update));
            let bytes = largest.min((BUILT << 20) / built * 97 / 100);
            let (_, taken, code) = cost(shape, bytes, *is_update);
            assert_ne!(code, 413, "{}", shape.what);
            let (_, of_smaller, _) = cost(shape, bytes / SMALLER, *is_update);
            // Four times more for each element than a small one takes. The square would be sixteen times.
            let bound = 4 * SMALLER as u64 * of_smaller.max(5);
            let bound = if cfg!(debug_assertions) {
                bound
            } else {
                bound.min(MOST)
            };
            assert!(
                taken <= bound,
                "{}: {taken} ticks, {of_smaller} for a part",
                shape.what
            );
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
pub fn forget_peak(server: &Poolgate) {
    fs::write(format!("/proc/{}/clear_refs", server.process.id()), "5").expect("the peak can be reset");
}
