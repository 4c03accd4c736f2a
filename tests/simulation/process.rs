//! Processes of poolgate: their real code, on a client, a router and clocks. Dropping one is its crash, not polling it is
//! a pause.

use std::collections::BTreeMap;
use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use clap::Parser;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use poolgate_core::policy::Policy;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::cluster::Cluster;
use super::server::Connection;
use crate::cluster::clock::Clock;
use crate::cluster::view::ClusterView;
use crate::cluster::{ClusterMetrics, WatchMetrics, reconnecting};
use crate::gate::{self, ClaimWebhook, GateContext, GateMetrics, PATHS, Shared};
use crate::reconcile::{Lines, ReconcileArgs, ReconcileMetrics, Reconciler, unhold_with};
use crate::runtime::lifecycle::simulated::{OfProcess, PROCESS};
use crate::runtime::lifecycle::{Heartbeat, Readiness, StatusBoard, spawn};
use crate::runtime::telemetry::Registry;
use crate::serving::admission::About;
use crate::serving::cluster_watch::ClusterWatch;
use crate::serving::webhook::Intake;

/// A process that runs, stands still or has ended.
#[derive(Clone)]
pub(super) struct Process(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_paused: bool,
    is_killed: bool,
    /// Of its tasks, by their numbers.
    wakers: BTreeMap<u64, Waker>,
    tasks: u64,
}

impl Process {
    /// Starts it.
    fn start(main: impl Future<Output = ()> + 'static) -> Self {
        let process = Self(Arc::default());
        spawn_local(process.task(main));
        process
    }

    /// A task of it. What that starts are tasks of it, too.
    fn task<F: Future<Output = ()>>(&self, task: F) -> impl Future<Output = ()> + use<F> {
        let process = self.clone();
        let of_process: OfProcess = Arc::new(move |task| process.boxed_task(task));
        let mut task = Some(Box::pin(PROCESS.scope(of_process, task)));
        let state = Arc::clone(&self.0);
        let number = {
            let mut state = state.lock();
            state.tasks += 1;
            state.tasks
        };
        poll_fn(move |context| {
            let is_killed = {
                let mut state = state.lock();
                if state.is_paused && !state.is_killed {
                    state.wakers.insert(number, context.waker().clone());
                    return Poll::Pending;
                }
                state.is_killed
            };
            let ended = match &mut task {
                Some(running) if !is_killed => running.poll_unpin(context),
                _ => Poll::Ready(()),
            };
            let mut state = state.lock();
            if ended.is_ready() {
                state.wakers.remove(&number);
                drop(state);
                task = None;
            } else {
                state.wakers.insert(number, context.waker().clone());
            }
            ended
        })
    }

    fn boxed_task(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        self.task(task).boxed()
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        let wakers = {
            let mut state = self.0.lock();
            change(&mut state);
            std::mem::take(&mut state.wakers)
        };
        for waker in wakers.into_values() {
            waker.wake();
        }
    }

    /// Ends it without a word.
    pub(super) fn kill(&self) {
        self.set(|state| state.is_killed = true);
    }

    /// Lets it stand still, or go on.
    pub(super) fn pause(&self, is_paused: bool) {
        self.set(|state| state.is_paused = is_paused);
    }
}

/// A request to a gate, and where its answer is expected.
pub(super) type Asked = (String, Value, oneshot::Sender<Option<Value>>);

/// A gate that runs.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) process: Process,
    requests: mpsc::UnboundedSender<Asked>,
}

impl Gate {
    /// Starts a gate.
    pub(super) fn start(cluster: &Arc<Cluster>, name: &str, lifetime: Duration) -> Self {
        let (requests, mut asked) = mpsc::unbounded_channel::<Asked>();
        let client = client(cluster, name);
        let clock = clock(cluster, name);
        let namespace = cluster.lock().namespace.clone();
        let main = async move {
            let view = Arc::new(ClusterView::default());
            let board = StatusBoard::default();
            let metrics = ClusterMetrics::default();
            let shared = Shared {
                view: Arc::clone(&view),
                clock,
                metrics: GateMetrics::default(),
                reservation_lifetime: lifetime,
            };
            let client = client();
            let context = GateContext::new(&client, &namespace, shared);
            let gate = gate::Gate::new(false, Arc::clone(&context));
            let followed = gate::follow(
                context,
                client.clone(),
                &namespace,
                &board,
                metrics.watches.clone(),
            );
            let watch = ClusterWatch::new(Arc::clone(&view), None, &board, metrics);
            let about = About {
                policy: None,
                view,
                certificate: Arc::default(),
            };
            let intake = Intake::new(PATHS, &mut Registry::default());
            let router = ClaimWebhook::new(Arc::clone(&gate), about, intake).router();
            spawn(watch.run(client));
            spawn(followed);
            spawn(gate.sweep());
            while let Some((path, review, mut answer)) = asked.recv().await {
                let router = router.clone();
                spawn(async move {
                    // As hyper does, what nobody waits for any more is dropped.
                    let answered = tokio::select! {
                        biased;
                        () = answer.closed() => return,
                        answered = ask(router, &path, &review) => answered,
                    };
                    let _ = answer.send(answered);
                });
            }
        };
        Self {
            process: Process::start(main),
            requests,
        }
    }

    /// Calls the gate. The answer never comes if it is killed.
    pub(super) async fn call(&self, path: &str, review: Value) -> Option<Value> {
        let (sender, answer) = oneshot::channel();
        self.requests.send((path.into(), review, sender)).ok()?;
        answer.await.ok().flatten()
    }
}

async fn ask(router: Router, path: &str, review: &Value) -> Option<Value> {
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(review.to_string()))
        .expect("a request");
    let answer = router.oneshot(request).await.ok()?;
    let body = answer.into_body().collect().await.ok()?.to_bytes();
    serde_json::from_slice(&body).ok()
}

#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    args: ReconcileArgs,
}

/// Starts a reconciler.
pub(super) fn reconciler(cluster: &Arc<Cluster>, name: &str) -> Process {
    let client = client(cluster, name);
    let namespace = cluster.lock().namespace.clone();
    let args = Flags::parse_from(["reconcile", "--settle=1m", "--over-limit=terminate"]).args;
    let board = StatusBoard::default();
    let mut registry = Registry::default();
    let part = Reconciler {
        lines: Lines::of(&board, false),
        args,
        identity: name.to_owned(),
        clock: clock(cluster, name),
        policy: Policy::default().into(),
        metrics: ReconcileMetrics::register(&mut registry),
        watches: WatchMetrics::default(),
        readiness: Arc::new(Readiness::default()),
        heartbeat: Heartbeat::default(),
        end: CancellationToken::new(),
    };
    Process::start(async move { Box::pin(part.run(client(), &namespace)).await })
}

/// Starts what the `CronJob` runs: it removes all marks if no reconciler has renewed its Lease for long.
pub(super) fn unhold(cluster: &Arc<Cluster>, name: &str) {
    let client = Connection::client(cluster, name, false);
    let clock = clock(cluster, name);
    let namespace = cluster.lock().namespace.clone();
    let longest = Some(Duration::from_mins(15));
    Process::start(async move {
        // A failed run is repeated by the next one.
        let _ = unhold_with(client, (None, &namespace), longest, clock).await;
    });
}

/// Makes the client of a process, which makes new connections by itself.
fn client(cluster: &Arc<Cluster>, name: &str) -> impl Fn() -> kube::Client + Send + 'static {
    let (cluster, name) = (Arc::clone(cluster), name.to_owned());
    move || {
        let (cluster, name) = (Arc::clone(&cluster), name.clone());
        reconnecting("default", move || {
            ready(Ok(Connection::client(&cluster, &name, true)))
        })
    }
}

/// How many seconds the wall clock of a process is ahead: some are minutes off.
pub(super) fn ahead(name: &str) -> i64 {
    let last = name.bytes().last().unwrap_or_default();
    [-120, -20, 0, 20, 120][usize::from(last % 5)]
}

/// The clocks of a process.
fn clock(cluster: &Arc<Cluster>, name: &str) -> Clock {
    let ahead = ahead(name);
    let cluster = Arc::clone(cluster);
    Clock::with_wall_time(move || cluster.wall(ahead))
}
