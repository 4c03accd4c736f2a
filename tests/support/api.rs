//! The API server over HTTP, for tests that ask it more often than kubectl can be started.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use super::assets::program;
use super::control_plane::ControlPlane;
use super::process::Process;
use super::wait::wait_for;

const START: Duration = Duration::from_mins(1);
const REQUEST: Duration = Duration::from_mins(1);

/// How many proxies this process has started.
static PROXIES: AtomicU32 = AtomicU32::new(0);

/// One connection to an API server with the rights of a cluster administrator, through a `kubectl proxy`.
pub(crate) struct Api {
    runtime: Runtime,
    connection: SendRequest<Full<Bytes>>,
    authority: String,
    _proxy: Process,
}

/// What the API server made of an object.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It took it; the object as it is, or would be, stored.
    Taken(Value),
    /// It did not; the `Status` that says why.
    Refused(Value),
}

impl Api {
    /// Connects to a control plane.
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        let mut command = Command::new(program("kubectl"));
        command
            .args(["proxy", "--port=0", "--kubeconfig"])
            .arg(plane.kubeconfig());
        // Each has a log of its own, because its address stands there.
        let name = format!("kubectl-proxy-{}", PROXIES.fetch_add(1, Ordering::Relaxed));
        let mut proxy = Process::start(&name, &command, plane.directory());
        let authority = wait_for("kubectl proxy to serve", START, || {
            assert_eq!(proxy.exited(), None, "kubectl proxy ended:\n{}", proxy.log());
            let log = proxy.log();
            let line = log
                .lines()
                .find_map(|line| line.strip_prefix("Starting to serve on "));
            line.map(str::to_owned)
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime can be built");
        let connection = runtime.block_on(connect(&authority));
        Self {
            runtime,
            connection,
            authority,
            _proxy: proxy,
        }
    }

    /// Creates a cluster-scoped object at `collection`, such as `/apis/karpenter.sh/v1/nodepools`.
    pub(crate) fn create(&mut self, collection: &str, object: &Value) -> Answer {
        self.send(&Method::POST, collection, object)
    }

    /// The same without storing it.
    pub(crate) fn try_create(&mut self, collection: &str, object: &Value) -> Answer {
        self.send(&Method::POST, &format!("{collection}?dryRun=All"), object)
    }

    /// Replaces a stored object by this one, without storing it.
    pub(crate) fn try_replace(&mut self, collection: &str, object: &Value) -> Answer {
        let name = object["metadata"]["name"].as_str().expect("an object has a name");
        self.send(&Method::PUT, &format!("{collection}/{name}?dryRun=All"), object)
    }

    /// Replaces a stored object, or a part of it such as `…/status`, by this one.
    pub(crate) fn replace(&mut self, path: &str, object: &Value) -> Answer {
        self.send(&Method::PUT, path, object)
    }

    /// Merges into a stored object.
    pub(crate) fn merge(&mut self, path: &str, change: &Value) -> Answer {
        self.send(&Method::PATCH, path, change)
    }

    /// Reads an object or a list.
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(&Method::GET, path, &Value::Null)
    }

    /// Deletes an object.
    pub(crate) fn delete(&mut self, path: &str) -> Answer {
        self.send(&Method::DELETE, path, &Value::Null)
    }

    fn send(&mut self, method: &Method, path: &str, object: &Value) -> Answer {
        let begun = Instant::now();
        loop {
            let (status, body) = self.exchange(method, path, object);
            // An API server that has just begun asks for a moment.
            if status == StatusCode::TOO_MANY_REQUESTS && begun.elapsed() < REQUEST {
                std::thread::sleep(Duration::from_millis(200));
                continue;
            }
            let body = serde_json::from_slice(&body)
                .unwrap_or_else(|_| json!({"message": String::from_utf8_lossy(&body)}));
            return if status.is_success() {
                Answer::Taken(body)
            } else {
                Answer::Refused(body)
            };
        }
    }

    fn exchange(&mut self, method: &Method, path: &str, object: &Value) -> (StatusCode, Bytes) {
        let content = if *method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        // An answer may be cut short where a body comes that nobody reads.
        let body = if object.is_null() {
            String::new()
        } else {
            object.to_string()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.authority)
            .header("content-type", content)
            .body(Full::new(body.into()))
            .expect("a request");
        let exchange = async {
            // The proxy may have ended a connection that nobody used.
            if self.connection.is_closed() || self.connection.ready().await.is_err() {
                self.connection = connect(&self.authority).await;
            }
            let answer = self.connection.send_request(request).await.expect("an answer");
            let status = answer.status();
            let body = answer.into_body().collect().await.expect("a whole answer");
            (status, body.to_bytes())
        };
        self.runtime
            .block_on(async { tokio::time::timeout(REQUEST, exchange).await })
            .unwrap_or_else(|_| panic!("{path}: no answer in {REQUEST:?}"))
    }
}

impl Answer {
    /// The object of an answer that has to be one.
    #[track_caller]
    pub(crate) fn taken(self) -> Value {
        match self {
            Self::Taken(object) => object,
            Self::Refused(status) => panic!("refused: {status}"),
        }
    }
}

async fn connect(authority: &str) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(authority).await.expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("a handshake");
    tokio::spawn(connection);
    sender
}
