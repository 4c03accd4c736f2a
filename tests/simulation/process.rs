//! Processes of poolgate: their real code, on a client, a router and clocks. Dropping one is its crash, not polling it is
//! a pause.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use clap::Parser;
use http_body_util::BodyExt as _;
use poolgate_core::policy::Policy;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::cluster::{Cluster, NAMESPACE};
use super::server::Connection;
use crate::admission::{About, ClusterView};
use crate::cluster::clock::Clock;
use crate::cluster::{ClusterMetrics, WatchMetrics};
use crate::cluster_thread;
use crate::gate::{ClaimWebhook, Clients, GateMetrics, GateRunner, PATHS};
use crate::lifecycle::{Readiness, StatusBoard};
use crate::reconciler::{Lines, ReconcileArgs, ReconcileMetrics, Reconciler, unhold_with};
use crate::telemetry::Registry;
use crate::webhook::Intake;

/// A process that runs, stands still or has ended.
#[derive(Clone)]
pub(super) struct Process(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    is_paused: bool,
    is_killed: bool,
    waker: Option<Waker>,
}

impl Process {
    /// Starts it.
    fn start(main: impl Future<Output = ()> + 'static) -> Self {
        let state = Rc::new(RefCell::new(State::default()));
        let process = Self(Rc::clone(&state));
        let tasks = LocalSet::new();
        tasks.spawn_local(main);
        let mut tasks = Some(Box::pin(tasks) as Pin<Box<dyn Future<Output = ()>>>);
        spawn_local(poll_fn(move |context| {
            {
                let mut state = state.borrow_mut();
                state.waker = Some(context.waker().clone());
                if state.is_paused && !state.is_killed {
                    return Poll::Pending;
                }
            }
            if state.borrow().is_killed {
                tasks = None;
            }
            match &mut tasks {
                Some(running) => running.as_mut().poll(context),
                None => Poll::Ready(()),
            }
        }));
        process
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.0.borrow_mut();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
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
        let clients = Clients {
            usual: Connection::client(cluster, name, true),
            fresh: Connection::client(cluster, name, false),
        };
        let clock = clock(cluster, name);
        let main = async move {
            let view = Arc::new(ClusterView::default());
            let board = StatusBoard::default();
            let (metrics, claims) = (GateMetrics::default(), ClusterMetrics::default());
            let (gate, runner) = GateRunner::open(false, lifetime, Arc::clone(&view), &board, metrics, clock);
            let watches = cluster_thread::Cluster::new(Arc::clone(&view), None, &board, claims.clone());
            let about = About {
                policy: None,
                view,
                certificate: Arc::default(),
            };
            let intake = Intake::new(PATHS, &mut Registry::default());
            let router = ClaimWebhook::new(gate, about, intake).router();
            let answering = async {
                while let Some((path, review, answer)) = asked.recv().await {
                    let router = router.clone();
                    spawn_local(async move {
                        let mut answer = answer;
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
            tokio::join!(
                watches.follow(clients.usual.clone()),
                runner.run_with(clients, NAMESPACE, claims),
                answering,
            );
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
    let client = Connection::client(cluster, name, true);
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
        end: CancellationToken::new(),
    };
    Process::start(async move { Box::pin(part.run(client, NAMESPACE)).await })
}

/// Starts what the `CronJob` runs: it removes all marks if no reconciler has renewed its Lease for long.
pub(super) fn unhold(cluster: &Arc<Cluster>, name: &str) {
    let client = Connection::client(cluster, name, false);
    let clock = clock(cluster, name);
    let longest = Some(Duration::from_mins(15));
    Process::start(async move {
        // A failed run is repeated by the next one.
        let _ = unhold_with(client, NAMESPACE, longest, clock).await;
    });
}

/// The clocks of a process. Its wall clock is some minutes off.
fn clock(cluster: &Arc<Cluster>, name: &str) -> Clock {
    let ahead = i64::from(name.bytes().last().unwrap_or_default() % 5) * 60 - 120;
    let cluster = Arc::clone(cluster);
    Clock::with_wall_time(move || cluster.wall(ahead))
}
