//! A gate on an API server with very many NodeClaims.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::client::{Connection, head};
use super::memory::{POD, forget_peak, memory_kib};
use crate::support::poolgate::Poolgate;

/// How many claims each pool has.
const CLAIMS: usize = 12_000;

const POOLS: [&str; 2] = ["blue", "green"];

/// As long as the names of fields that Karpenter, its provider and poolgate have written.
const MANAGED: usize = 1500;

/// An API server that has two pools and their claims, and stores nothing. Counts the LISTs of chosen claims and their bytes.
#[derive(Debug, Clone, Default)]
struct Api {
    lists: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
}

impl Api {
    fn serve(&self, listener: &TcpListener) {
        for stream in listener.incoming().map_while(Result::ok) {
            let api = self.clone();
            thread::spawn(move || api.answer_all(&stream));
        }
    }

    fn answer_all(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut request, mut length) = (String::new(), 0);
            reader.read_line(&mut request).ok().filter(|length| *length > 0)?;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok()?;
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().ok()?;
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            let (code, answer) = self.answer(&request, &body)?;
            let head = format!(
                "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            (&*stream).write_all(head.as_bytes()).ok()?;
            (&*stream).write_all(answer.as_bytes()).ok()?;
        }
    }

    /// The answer; none to a watch, which ends.
    fn answer(&self, request: &str, body: &[u8]) -> Option<(u16, String)> {
        let mut words = request.split(' ');
        let (verb, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameter = |name: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        let pool = |name: &str| {
            json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name, "uid": name, "resourceVersion": "5"},
            "spec": {"limits": {"nodes": "20000"}}})
        };
        let missing = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"});
        if parameter("watch").is_some() {
            return None;
        }
        if verb != "GET" {
            let mut stored: Value = serde_json::from_slice(body).ok()?;
            stored["metadata"]["uid"] = "stored".into();
            stored["metadata"]["resourceVersion"] = "9".into();
            return Some((200, stored.to_string()));
        }
        let list =
            |items: Vec<Value>| json!({"metadata": {"resourceVersion": "9"}, "items": items}).to_string();
        let (collection, name) = path.rsplit_once('/')?;
        Some(match (collection.rsplit('/').next()?, name) {
            (_, "nodepools") => (200, list(POOLS.map(pool).to_vec())),
            ("nodepools", name) => (200, pool(name).to_string()),
            (_, "configmaps") => (200, list(Vec::new())),
            (_, "nodeclaims") => {
                let selector = parameter("labelSelector").unwrap_or_default();
                let limit = parameter("limit")
                    .and_then(|limit| limit.parse().ok())
                    .unwrap_or(usize::MAX);
                let from = parameter("continue")
                    .and_then(|from| from.parse().ok())
                    .unwrap_or(0);
                let text = claims(selector, from, limit);
                if !selector.is_empty() {
                    self.lists.fetch_add(1, Ordering::Relaxed);
                    self.bytes.fetch_add(text.len(), Ordering::Relaxed);
                }
                (200, text)
            }
            _ => (404, missing.to_string()),
        })
    }
}

/// A page of the claims of the pools that a selector names; of all pools if it names none.
fn claims(selector: &str, from: usize, limit: usize) -> String {
    let pools = POOLS
        .iter()
        .filter(|pool| !POOLS.iter().any(|pool| selector.contains(pool)) || selector.contains(*pool));
    let all = pools.flat_map(|pool| (0..CLAIMS).map(move |number| (pool, number)));
    let managed = "f".repeat(MANAGED);
    let items: Vec<_> = all
        .clone()
        .skip(from)
        .take(limit)
        .map(|(pool, number)| {
            format!(
                r#"{{"metadata":{{"name":"{pool}-{number}","uid":"{pool}-{number}","resourceVersion":"7",
                "labels":{{"karpenter.sh/nodepool":"{pool}"}},"managedFields":[{{"manager":"{managed}"}}]}}}}"#
            )
        })
        .collect();
    let next = from + items.len();
    let more = if next < all.count() {
        next.to_string()
    } else {
        String::new()
    };
    format!(
        r#"{{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"9","continue":"{more}"}},"items":[{}]}}"#,
        items.join(",")
    )
}

#[test]
fn two_pools_of_12_000_claims_that_are_listed_at_once_fit_into_the_pod() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let (api, file) = (Api::default(), tempfile::NamedTempFile::new().expect("a file"));
    let serving = api.clone();
    thread::spawn(move || serving.serve(&listener));
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "large",
        "clusters": [{"name": "large", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "large", "context": {"cluster": "large", "user": "me"}}],
    });
    fs::write(file.path(), text.to_string()).expect("written");
    let path = file.path().to_str().expect("a path");
    let gate = Poolgate::start_gate(&["--self-signed", "--kubeconfig", path]);
    let idle = memory_kib(&gate, "VmRSS");
    forget_peak(&gate);
    thread::scope(|scope| {
        for pool in POOLS {
            let gate = &gate;
            scope.spawn(move || {
                let review = json!({
                    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "request": {
                        "uid": pool, "operation": "CREATE", "name": "new",
                        "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodeClaim"},
                        "object": {"metadata": {"name": "new", "uid": format!("new-{pool}"), "labels": {"karpenter.sh/nodepool": pool}}},
                    },
                });
                let body = review.to_string();
                let mut connection = Connection::to(gate);
                connection.send(&head("/gate/strict?timeout=30s", body.len())).expect("the head is sent");
                connection.send(body.as_bytes()).expect("the body is sent");
                let answer = connection.response().expect("an answer");
                println!("{pool}: {}", answer.body);
            });
        }
    });
    let (lists, bytes) = (
        api.lists.load(Ordering::Relaxed),
        api.bytes.load(Ordering::Relaxed),
    );
    let peak = memory_kib(&gate, "VmHWM");
    println!(
        "{lists} pages of {} KiB in all; {peak} KiB, {idle} when idle",
        bytes / 1024
    );
    assert!(bytes >= 2 * CLAIMS * MANAGED, "both were listed: {bytes} B");
    assert!(peak < POD, "{peak} KiB");
}
