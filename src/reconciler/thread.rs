//! The thread that watches the cluster and writes to it: watches, leader election and controller run concurrently.

use std::io;
use std::sync::Arc;

use futures_util::future::OptionFuture;
use kube::{Client, Config};
use poolgate_core::api::LEDGER_LABEL;
use poolgate_core::karpenter::NODEPOOL_LABEL;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::apply::Writer;
use super::args::ReconcileArgs;
use super::controller::Controller;
use super::followers::{self, Kind, KindFollower};
use super::index::{BOUNDS, Index};
use super::metrics::ReconcileMetrics;
use super::watched_state::{Watched, WatchedState};
use crate::cluster::clock::Clock;
use crate::cluster::objects::{DEFINITIONS, NODE_CLAIMS, NODE_POOLS, NODES, PODS};
use crate::cluster::{
    Candidate, Collection, DEFINITION_FIELDS, Leadership, LedgerStore, Versioned, Watch, WatchMetrics,
    lasting_client, ledgers_path,
};
use crate::lifecycle::{Heartbeat, Readiness, StatusBoard, StatusLine, on_own_thread};
use crate::policy_watch::PolicyInForce;

/// The Lease of the leader: only its holder writes.
pub const LEASE: &str = "poolgate-reconciler";

/// What is reported while a watch is down.
const MEANWHILE: &str = "the last known state is used, and nothing is terminated";

/// A reconciler, and the thread that it gets.
pub struct ReconcilerThread {
    pub part: Reconciler,
    pub cluster: Config,
    pub heartbeat: Heartbeat,
}

/// Everything that it needs beside a client.
pub struct Reconciler {
    pub args: ReconcileArgs,
    /// The name by which it holds the Lease, which no other process has.
    pub identity: String,
    pub clock: Clock,
    pub policy: PolicyInForce,
    pub metrics: ReconcileMetrics,
    pub watches: WatchMetrics,
    pub lines: Lines,
    pub readiness: Arc<Readiness>,
    pub end: CancellationToken,
}

/// The lines of `/readyz`.
#[derive(Debug)]
pub struct Lines {
    leader: StatusLine,
    watches: [StatusLine; Watched::ALL.len()],
}

impl Lines {
    /// Takes them from the board: nothing is known yet.
    pub fn of(board: &StatusBoard, observe: bool) -> Self {
        let leader = board.line("leader");
        leader.set(if observe {
            "no election: --observe writes nothing"
        } else {
            "not yet known"
        });
        let watches = Watched::ALL.map(|watch| {
            let line = board.line(watch.name());
            line.set("starting");
            line
        });
        Self { leader, watches }
    }

    fn watch(&self, watched: Watched) -> StatusLine {
        let mut lines = Watched::ALL.iter().zip(&self.watches);
        let line = lines.find(|(watch, _)| **watch == watched);
        line.map(|(_, line)| line.clone()).unwrap_or_default()
    }
}

impl ReconcilerThread {
    /// Starts the thread. The returned future ends when the thread does.
    pub fn start(self) -> io::Result<impl Future<Output = ()> + Send + 'static> {
        on_own_thread("reconciler", self.heartbeat.clone(), || self.run())
    }

    async fn run(self) {
        let Self { part, cluster, .. } = self;
        let namespace = cluster.default_namespace.clone();
        Box::pin(part.run(lasting_client(cluster), &namespace)).await;
    }
}

impl Reconciler {
    /// Watches and writes with this client until the end. Ledgers and Lease are in `namespace`.
    pub async fn run(self, client: Client, namespace: &str) {
        let index = Index::new(Arc::clone(&self.policy.load().policy), BOUNDS);
        let seen = WatchedState::new(index, self.clock.clone());
        let elected = CancellationToken::new();
        let (candidate, leadership) = self.candidate(&client, namespace);
        let election = candidate.map(|candidate| candidate.run(elected.clone()));
        let writer = Writer {
            client: client.clone(),
            leadership,
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            observe: self.args.observe,
        };
        let controller = Controller::new(
            seen.clone(),
            writer,
            LedgerStore::new(client.clone(), namespace, self.clock.clone()),
            self.policy.clone(),
            &self.args,
        );
        let readiness = Arc::clone(&self.readiness);
        let work = async {
            controller.run(self.end.clone(), move || readiness.ready()).await;
            elected.cancel();
        };
        tokio::select! {
            ((), _) = async { tokio::join!(work, OptionFuture::from(election)) } => {}
            () = self.watch(&client, namespace, &seen) => {}
        }
    }

    /// Who may write: a candidate for the election and its leadership; with `--observe` no candidate is needed.
    fn candidate(&self, client: &Client, namespace: &str) -> (Option<Candidate>, Leadership) {
        if self.args.observe {
            return (None, Leadership::always());
        }
        let (candidate, leadership) = Candidate::new(
            client.clone(),
            namespace,
            LEASE,
            self.identity.clone(),
            self.args.lease_duration,
            self.clock.clone(),
            self.lines.leader.clone(),
        );
        (Some(candidate), leadership)
    }

    /// Runs all watches for ever.
    async fn watch(&self, client: &Client, namespace: &str, seen: &WatchedState) {
        let ledgers = ledgers_path(namespace);
        tokio::join!(
            self.follow(followers::DEFINITION, client, seen, DEFINITIONS),
            self.follow(followers::POOLS, client, seen, NODE_POOLS),
            self.follow(followers::CLAIMS, client, seen, NODE_CLAIMS),
            async {
                // Pods decide which node labels are kept. Without them every node would be listed twice at the
                // start, and in between the index would know only some of its labels.
                seen.completed(Watched::Pods).await;
                self.follow(followers::NODES, client, seen, NODES).await;
            },
            self.follow(followers::PODS, client, seen, PODS),
            self.follow(followers::LEDGERS, client, seen, &ledgers),
        );
    }

    async fn follow<O: Versioned + DeserializeOwned + Clone + Send + 'static, K: Ord>(
        &self,
        kind: Kind<O, K>,
        client: &Client,
        seen: &WatchedState,
        path: &str,
    ) {
        let objects = Collection::new(client.clone(), path);
        let watch = self.one(kind.watched);
        watch.run(objects, KindFollower::new(kind, seen)).await;
    }

    fn one(&self, watched: Watched) -> Watch {
        Watch {
            fields: (watched == Watched::Definition).then_some(DEFINITION_FIELDS),
            labels: match watched {
                Watched::Nodes => Some(NODEPOOL_LABEL),
                Watched::Ledgers => Some(LEDGER_LABEL),
                _ => None,
            },
            ..Watch::new(
                watched.name(),
                MEANWHILE,
                self.lines.watch(watched),
                &self.watches,
            )
        }
    }
}
