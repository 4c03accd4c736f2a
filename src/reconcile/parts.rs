//! The concurrent parts of a reconciler: watches, leader election, controller.

use std::future::pending;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::apply::Writer;
use super::args::ReconcileArgs;
use super::controller::Controller;
use super::followers::{IndexFollower, Indexed};
use super::index::{BOUNDS, Index};
use super::metrics::ReconcileMetrics;
use super::watched_state::{WATCHES, WatchedState};
use crate::cluster::clock::Clock;
use crate::cluster::objects::{
    ClaimObject, DEFINITIONS, Definition, NODE_CLAIMS, NODE_POOLS, NODES, NodeObject, PODS, PodObject,
    PoolObject,
};
use crate::cluster::{Candidate, Collection, Leadership, LedgerStore, Watch, WatchMetrics, ledgers_path};
use crate::runtime::lifecycle::{Heartbeat, Readiness, StatusBoard, StatusLine, spawn};
use crate::runtime::policy_watch::PolicyInForce;
use crate::runtime::telemetry::LogOnce;

/// The Lease of the leader: only its holder writes.
pub const LEASE: &str = "poolgate-reconciler";

/// Reported while a watch is down.
const MEANWHILE: &str = "poolgate uses the last known state and terminates nothing";

/// Everything that it needs besides a client.
pub struct Reconciler {
    pub args: ReconcileArgs,
    /// The unique name by which it holds the Lease.
    pub identity: String,
    pub clock: Clock,
    pub policy: PolicyInForce,
    pub metrics: ReconcileMetrics,
    pub watches: WatchMetrics,
    pub lines: Lines,
    pub readiness: Arc<Readiness>,
    /// Beats within the task that works.
    pub heartbeat: Heartbeat,
    pub end: CancellationToken,
}

/// The lines of `/readyz`.
#[derive(Debug)]
pub struct Lines {
    leader: StatusLine,
    watches: [StatusLine; WATCHES.len()],
}

impl Lines {
    /// Takes them from the board: nothing is known yet.
    pub fn of(board: &StatusBoard, observe: bool) -> Self {
        let leader = board.line("leader");
        leader.set(if observe {
            "no election, because --observe writes nothing"
        } else {
            "not yet known"
        });
        let watches = WATCHES.map(|watch| {
            let line = board.line(watch);
            line.set("starting");
            line
        });
        Self { leader, watches }
    }

    fn watch(&self, name: &str) -> StatusLine {
        let mut lines = WATCHES.iter().zip(&self.watches);
        let line = lines.find(|(watch, _)| **watch == name);
        line.map(|(_, line)| line.clone()).unwrap_or_default()
    }
}

impl Reconciler {
    /// Watches and writes with this client until the end. Ledgers and Lease are in `namespace`.
    pub async fn run(self, client: Client, namespace: &str) {
        let index = Index::new(Arc::clone(&self.policy.load().policy), BOUNDS);
        let seen = WatchedState::new(index, self.clock.clone());
        let elected = CancellationToken::new();
        let (candidate, leadership) = self.candidate(&client, namespace);
        // A task of its own: a plan, or a page of pods, may take seconds.
        let election = candidate.map(|candidate| {
            let candidate = candidate.while_beats(self.heartbeat.clone());
            AbortOnDropHandle::new(spawn(candidate.run(elected.clone())))
        });
        let writer = Writer {
            client: client.clone(),
            leadership,
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            observe: self.args.observe,
            unheld: LogOnce::default(),
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
            // It gives the Lease back.
            pending::<()>().await;
        };
        let election_is_over = async {
            match election {
                Some(election) => drop(election.await),
                None => elected.cancelled().await,
            }
        };
        tokio::select! {
            () = election_is_over => {}
            () = work => {}
            () = self.watch(&client, namespace, &seen) => {}
            () = self.heartbeat.beat() => {}
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
            self.follow::<Definition>(client, seen, DEFINITIONS),
            self.follow::<PoolObject>(client, seen, NODE_POOLS),
            self.follow::<ClaimObject>(client, seen, NODE_CLAIMS),
            async {
                // Pods decide which node labels are kept. Without them every node would be listed twice at the
                // start, and in between the index would know only some of its labels.
                seen.completed(PodObject::WATCH).await;
                self.follow::<NodeObject>(client, seen, NODES).await;
            },
            self.follow::<PodObject>(client, seen, PODS),
            self.follow::<ConfigMap>(client, seen, &ledgers),
        );
    }

    async fn follow<O: Indexed>(&self, client: &Client, seen: &WatchedState, path: &str) {
        let line = self.lines.watch(O::WATCH);
        let watch = Watch {
            fields: O::FIELDS,
            labels: O::LABELS,
            ..Watch::new(O::WATCH, MEANWHILE, line, &self.watches)
        };
        let objects = Collection::new(client.clone(), path);
        watch.run(objects, IndexFollower::<O>::new(seen)).await;
    }
}

#[cfg(test)]
mod tests;
