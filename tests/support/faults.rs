//! An API server with faults: a proxy before a real one that is slow, rejects, or stays silent when a test asks for it.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::accounts::Account;
use super::client::Client;
use super::control_plane::ControlPlane;
use super::wait::PATIENCE;

/// What is wrong with the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Every answer comes so much later.
    Slow(Duration),
    /// LISTs of NodeClaims come so much later.
    SlowLists(Duration),
    /// Every request is answered with this status.
    Rejects(u16),
    /// Connections that are open get no further byte; new ones do. As when a firewall has forgotten them.
    Silent,
    /// Nothing is answered.
    BlackHole,
}

/// The proxy. Ends with the process.
pub(crate) struct FaultyApiServer {
    fault: watch::Sender<Fault>,
    /// How often it fell silent.
    silences: Arc<AtomicU64>,
    kubeconfig: PathBuf,
    _client: Client,
    _directory: TempDir,
}

impl FaultyApiServer {
    /// A proxy before the first API server of this control plane. Whoever asks it has the rights of the gate.
    pub(crate) fn before(plane: &ControlPlane) -> Self {
        let gate = plane.kubeconfig_by(Account::Gate);
        let client = Client::by(&gate);
        let (runtime, upstream) = client.parts();
        let (fault, faults) = watch::channel(Fault::None);
        let silences = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&silences);
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a loopback port is free");
        let address = listener.local_addr().expect("a listener has an address");
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (upstream, faults, counted) = (upstream.clone(), faults.clone(), Arc::clone(&counted));
                let opened = counted.load(Ordering::Relaxed);
                let service = service_fn(move |request| {
                    let is_old = opened < counted.load(Ordering::Relaxed);
                    answer(request, is_old, upstream.clone(), faults.clone())
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        let directory = tempfile::tempdir().expect("a directory");
        let kubeconfig = directory.path().join("kubeconfig");
        let gate = fs::read_to_string(gate).expect("a kubeconfig");
        let mut config: Value = serde_json::from_str(&gate).expect("JSON");
        config["clusters"][0]["cluster"] = json!({"server": format!("http://{address}")});
        config["users"][0]["user"] = json!({});
        fs::write(&kubeconfig, config.to_string()).expect("a kubeconfig can be written");
        Self {
            fault,
            silences,
            kubeconfig,
            _client: client,
            _directory: directory,
        }
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// From now on this is wrong with it.
    pub(crate) fn set(&self, fault: Fault) {
        if fault == Fault::Silent {
            self.silences.fetch_add(1, Ordering::Relaxed);
        }
        self.fault.send_replace(fault);
    }
}

type Answer = Response<http_body_util::combinators::UnsyncBoxBody<Bytes, kube::Error>>;

async fn answer(
    request: Request<Incoming>,
    is_old: bool,
    upstream: kube::Client,
    mut faults: watch::Receiver<Fault>,
) -> Result<Answer, Infallible> {
    let is_list = request.uri().path().ends_with("/nodeclaims")
        && !request.uri().query().unwrap_or_default().contains("watch=");
    let fault = *faults.borrow_and_update();
    match fault {
        Fault::Slow(time) => sleep(time).await,
        Fault::SlowLists(time) if is_list => sleep(time).await,
        Fault::Rejects(code) => return Ok(rejection(code)),
        Fault::BlackHole => silence(&mut faults).await,
        Fault::Silent if is_old => sleep(PATIENCE).await,
        _ => {}
    }
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes);
    let forwarded = Request::from_parts(parts, Body::from(body.unwrap_or_default()));
    let sent = timeout(PATIENCE, upstream.send(forwarded)).await;
    let Ok(Ok(response)) = sent else {
        return Ok(rejection(502));
    };
    let (parts, body) = response.into_parts();
    let frames = futures_util::stream::unfold((body, faults), async |(mut body, mut faults)| {
        loop {
            tokio::select! {
                biased;
                changed = faults.changed() => {
                    changed.ok()?;
                    // What began before the silence stays silent.
                    if matches!(*faults.borrow(), Fault::Silent | Fault::BlackHole) {
                        sleep(PATIENCE).await;
                        return None;
                    }
                }
                frame = body.frame() => {
                    let frame: Result<Frame<Bytes>, kube::Error> = frame?;
                    return Some((frame, (body, faults)));
                }
            }
        }
    });
    Ok(Response::from_parts(
        parts,
        StreamBody::new(frames).boxed_unsync(),
    ))
}

/// Waits until the fault has gone.
async fn silence(faults: &mut watch::Receiver<Fault>) {
    let gone = faults.wait_for(|fault| *fault != Fault::BlackHole);
    let _ = timeout(PATIENCE, gone).await;
}

fn rejection(code: u16) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": "InternalError", "message": "a fault of the test",
    });
    let body = Full::from(status.to_string()).map_err(|never: Infallible| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).expect("a status");
    response
        .headers_mut()
        .insert("content-type", "application/json".parse().expect("a header"));
    response
}
