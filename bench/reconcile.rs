//! `cargo bench --bench reconcile`: what `poolgate reconcile` takes for a cluster far larger than Kubernetes is tested
//! for: 1,000 NodePools with a limit, 100,000 NodeClaims and their nodes, and the pods on them.
//!
//! A scripted API server on loopback lists and streams the objects; the release binary watches them with `--observe`,
//! which does everything but writing. `CLAIMS` and `PODS_PER_NODE` change the size.

// A benchmark prints, and counts are far below what a float holds exactly.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

/// How many pools there are.
const POOLS: usize = 1_000;

/// How many events of each kind are sent.
const EVENTS: usize = 20_000;

/// How long the binary may take to see everything.
const SYNC: Duration = Duration::from_mins(10);

/// How much of a quarter of a second an idle binary may use: what these questions cost.
const IDLE: Duration = Duration::from_millis(20);

/// The path of a collection, and what stands in it.
type Streams = Arc<Mutex<HashMap<String, UnboundedSender<Bytes>>>>;

#[derive(Clone)]
struct Script {
    claims: usize,
    pods: usize,
    streams: Streams,
}

fn main() -> Result<()> {
    let number = |name: &str, default| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let claims = number("CLAIMS", 100_000);
    let script = Script {
        claims,
        pods: claims * number("PODS_PER_NODE", 3),
        streams: Streams::default(),
    };
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(run(script))
}

async fn run(script: Script) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(answer).with_state(script.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, kubeconfig_for(address).to_string())?;
    let begun = Instant::now();
    let reconciler = Reconciler::start(&kubeconfig)?;
    reconciler.wait_until_settled(begun).await?;
    println!(
        "{POOLS} pools, {} claims and nodes, {} pods",
        script.claims, script.pods
    );
    println!(
        "seen and judged after {:.1} s ({:.1} s of CPU), resident {} MiB, at most {} MiB",
        begun.elapsed().as_secs_f64(),
        reconciler.cpu()?.as_secs_f64(),
        reconciler.memory("VmRSS")?,
        reconciler.memory("VmHWM")?
    );
    let kinds: [(&str, &str, fn(&Script, usize) -> String); 4] = [
        ("heartbeat of a node (nothing changes)", NODES, |script, i| {
            node(script, i % script.claims)
        }),
        ("a claim drifts or does not", CLAIMS, |script, i| {
            claim(script, i % script.claims, i / 64 % 2 == 0)
        }),
        ("a pod comes or goes", PODS, |script, i| {
            pod(script, script.pods + i % 512, i % script.claims)
        }),
        ("a pool's limit changes", POOLS_PATH, |_, i| {
            pool(i % POOLS, 100 + i % 7)
        }),
    ];
    for (name, path, object) in kinds {
        let (cpu, begun) = (reconciler.cpu()?, Instant::now());
        let looks = reconciler.looks().await?;
        for event in 0..EVENTS {
            let line = format!(
                "{{\"type\":\"MODIFIED\",\"object\":{}}}\n",
                object(&script, event)
            );
            script.send(path, line)?;
            if event % 500 == 499 {
                sleep(Duration::from_millis(20)).await;
            }
        }
        reconciler.wait_until_settled(begun).await?;
        let used = reconciler.cpu()? - cpu;
        println!(
            "{name}: {:.1} µs of CPU each ({EVENTS} in {:.1} s, {} looks at pools), resident {} MiB",
            used.as_secs_f64() * 1e6 / EVENTS as f64,
            begun.elapsed().as_secs_f64(),
            reconciler.looks().await? - looks,
            reconciler.memory("VmRSS")?
        );
    }
    Ok(())
}

const POOLS_PATH: &str = "/apis/karpenter.sh/v1/nodepools";
const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/pods";

impl Script {
    fn send(&self, path: &str, line: String) -> Result<()> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = streams.get(path).context("nobody watches")?;
        stream.send(line.into()).context("nobody watches any more")
    }

    fn count(&self, path: &str) -> usize {
        match path {
            POOLS_PATH => POOLS,
            CLAIMS | NODES => self.claims,
            PODS => self.pods,
            _ => 0,
        }
    }

    fn object(&self, path: &str, number: usize) -> String {
        match path {
            POOLS_PATH => pool(number, self.claims / POOLS),
            CLAIMS => claim(self, number, number.is_multiple_of(3)),
            NODES => node(self, number),
            _ => pod(self, number, number % self.claims),
        }
    }
}

/// Answers as an API server would, for lists in pages and watches that never end.
async fn answer(State(script): State<Script>, uri: Uri) -> Response {
    let query: HashMap<&str, &str> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let path = uri.path();
    if query.contains_key("watch") {
        let (sender, receiver) = unbounded_channel();
        let mut streams = script.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(path.to_owned(), sender);
        return Body::from_stream(lines(receiver)).into_response();
    }
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<usize>().ok());
    let (begin, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(500));
    let count = script.count(path);
    let end = count.min(begin + limit);
    let more = if end < count {
        end.to_string()
    } else {
        String::new()
    };
    let mut list = format!(
        "{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"1\",\"continue\":\"{more}\"}},\"items\":["
    );
    for number in begin..end {
        if number > begin {
            list.push(',');
        }
        let _ = write!(list, "{}", script.object(path, number));
    }
    list.push_str("]}");
    list.into_response()
}

fn lines(receiver: UnboundedReceiver<Bytes>) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    futures_util::stream::unfold(receiver, |mut receiver| async move {
        let line = receiver.recv().await?;
        Some((Ok(line), receiver))
    })
    .boxed()
}

fn pool(number: usize, limit: usize) -> String {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": format!("pool-{number}"), "uid": format!("pool-uid-{number}"), "resourceVersion": "2"},
        "spec": {
            "limits": {"nodes": limit},
            "disruption": {"consolidateAfter": "30s", "budgets": [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"}]},
            "template": {"spec": {
                "expireAfter": "720h",
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
            }},
        },
    })
    .to_string()
}

fn claim(_: &Script, number: usize, drifted: bool) -> String {
    let status = |is: bool| if is { "True" } else { "False" };
    let condition = |name: &str, is: bool| json!({"type": name, "status": status(is), "reason": name, "message": "", "lastTransitionTime": "2026-11-01T00:00:00Z"});
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": format!("claim-{number}"),
            "uid": uid("c1a1", number),
            "resourceVersion": "2",
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "labels": labels(number),
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": {"expireAfter": "720h", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]},
        "status": {
            "providerID": format!("aws:///us-west-2a/i-{number:017x}"),
            "nodeName": format!("node-{number}"),
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "58"},
            "conditions": [condition("Launched", true), condition("Registered", true), condition("Initialized", true), condition("Consolidatable", true), condition("Drifted", drifted)],
        },
    })
    .to_string()
}

fn node(_: &Script, number: usize) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": format!("node-{number}"),
            "uid": uid("0de0", number),
            "resourceVersion": "2",
            "labels": labels(number),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"providerID": format!("aws:///us-west-2a/i-{number:017x}")},
        "status": {
            "allocatable": {"cpu": "7910m", "memory": "31482288Ki", "pods": "58", "ephemeral-storage": "18242267924", "hugepages-2Mi": "0"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
            "images": (0..20).map(|image| json!({"names": [format!("registry.example.com/image-{image}@sha256:0123456789")], "sizeBytes": 123_456_789})).collect::<Vec<_>>(),
        },
    })
    .to_string()
}

fn pod(_: &Script, number: usize, node: usize) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("app-{number}"),
            "namespace": "default",
            "uid": uid("90d0", number),
            "resourceVersion": "2",
            "labels": {"app": format!("app-{}", number % 500)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": if number.is_multiple_of(5) { "DaemonSet" } else { "ReplicaSet" }, "name": "app", "uid": "owner"}],
        },
        "spec": {
            "nodeName": format!("node-{node}"),
            "nodeSelector": {"topology.kubernetes.io/zone": "us-west-2a"},
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
            "containers": [{"name": "main", "image": "registry.example.com/app", "resources": {"requests": {"cpu": format!("{}m", 100 + number % 500), "memory": "2Gi"}}}],
        },
        "status": {"phase": "Running", "startTime": "2026-11-01T00:00:00Z"},
    })
    .to_string()
}

fn labels(number: usize) -> Value {
    json!({
        "karpenter.sh/nodepool": format!("pool-{}", number % POOLS),
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/initialized": "true",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": format!("node-{number}"),
        "node.kubernetes.io/instance-type": "m5.2xlarge",
        "topology.kubernetes.io/zone": "us-west-2a",
        "topology.kubernetes.io/region": "us-west-2",
        "karpenter.k8s.aws/instance-family": "m5",
        "karpenter.k8s.aws/instance-size": "2xlarge",
    })
}

fn uid(kind: &str, number: usize) -> String {
    format!("{number:08x}-{kind}-4000-8000-000000000000")
}

fn kubeconfig_for(address: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    })
}

/// The release binary. Killed when dropped.
struct Reconciler {
    child: Child,
    probe: SocketAddr,
}

impl Drop for Reconciler {
    fn drop(&mut self) {
        // Nothing to do where it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reconciler {
    fn start(kubeconfig: &std::path::Path) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_poolgate"))
            .args([
                "reconcile",
                "--observe",
                "--log-format=json",
                "--probe-listen=127.0.0.1:0",
            ])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stderr(Stdio::piped())
            .spawn()?;
        let log = child.stderr.take().context("a pipe")?;
        let mut lines = BufReader::new(log).lines();
        let probe = loop {
            let line: Value = serde_json::from_str(&lines.next().context("it has ended")??)?;
            let fields = line.get("fields");
            if let Some(probe) = fields
                .and_then(|fields| fields.get("probe"))
                .and_then(Value::as_str)
            {
                break probe.parse()?;
            }
        };
        // What it would write is told, line by line; nobody reads it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, probe })
    }

    /// Waits until everything was seen and no pool waits.
    async fn wait_until_settled(&self, begun: Instant) -> Result<()> {
        let mut quiet = 0;
        while quiet < 4 {
            if begun.elapsed() > SYNC {
                bail!("not settled after {SYNC:?}");
            }
            sleep(Duration::from_millis(250)).await;
            let looks = self.looks().await.unwrap_or(-1.0);
            let cpu = self.cpu()?;
            sleep(Duration::from_millis(250)).await;
            let is_idle = self.cpu()? - cpu <= IDLE;
            let is_quiet = looks > 0.0 && self.looks().await.is_ok_and(|later| later <= looks) && is_idle;
            quiet = if is_quiet { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    /// How many looks at pools there were.
    async fn looks(&self) -> Result<f64> {
        let mut stream = tokio::net::TcpStream::connect(self.probe).await?;
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.probe
        );
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await?;
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await?;
        let mut counts = text.lines().filter_map(|line| {
            let value = line
                .strip_prefix("poolgate_reconcile_total{")?
                .split(' ')
                .nth(1)?;
            value.parse::<f64>().ok()
        });
        counts.next().context("no look yet")
    }

    fn memory(&self, field: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let kib: u64 = line.context("a field")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024)
    }

    /// The processor time that it has used.
    fn cpu(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, rest) = stat.rsplit_once(") ").context("a stat line")?;
        let ticks: u64 = rest
            .split(' ')
            .skip(11)
            .take(2)
            .filter_map(|ticks| ticks.parse::<u64>().ok())
            .sum();
        Ok(Duration::from_millis(ticks * 10))
    }
}
