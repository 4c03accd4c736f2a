//! The gate's part of the cluster's thread: its watches, and the work on its requests.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use poolgate_core::api::LEDGER_LABEL;
use tokio::sync::mpsc;

use super::context::{Clients, GateContext, Shared};
use super::dispatch::Dispatcher;
use super::handle::Gate;
use super::metrics::GateMetrics;
use super::waiter::Message;
use crate::admission::ClusterView;
use crate::cluster::claims::ClaimWatch;
use crate::cluster::clock::Clock;
use crate::cluster::ledgers::{self, LedgerFollower};
use crate::cluster::{ClusterMetrics, Collection, Watch, client_for_watches, without_kept_connections};
use crate::lifecycle::{StatusBoard, StatusLine};

/// What poolgate does while one of the watches is down.
const MEANWHILE: &str = "the gate reads what it needs for each decision";

/// The gate before the thread starts.
#[derive(Debug)]
pub struct GateRunner {
    questions: mpsc::Receiver<Message>,
    shared: Shared,
    claims: ClaimWatch,
    ledgers_line: StatusLine,
}

impl GateRunner {
    /// The gate, and the part that works for it.
    pub fn open(
        observe: bool,
        reservation_lifetime: Duration,
        view: Arc<ClusterView>,
        board: &StatusBoard,
        metrics: GateMetrics,
        clock: Clock,
    ) -> (Gate, Self) {
        let (gate, questions) = Gate::new(observe, metrics.clone(), clock.clone());
        let side = Self {
            questions,
            shared: Shared {
                view,
                clock,
                metrics,
                reservation_lifetime,
            },
            claims: ClaimWatch::new(MEANWHILE, board),
            ledgers_line: board.line("node limit ledgers"),
        };
        (gate, side)
    }

    /// Watches and decides until the process stops.
    pub async fn run(self, usual: Client, cluster: Config, metrics: ClusterMetrics) {
        let lines = [self.claims.line(), self.ledgers_line.clone()];
        let fresh = client_for_watches(&without_kept_connections(&cluster), &lines, MEANWHILE, || {
            metrics.watches.errors.inc(ClaimWatch::NAME);
        })
        .await;
        self.run_with(Clients { usual, fresh }, &cluster.default_namespace, metrics)
            .await;
    }

    /// The same with these clients, and ledgers in `namespace`. Within a [`LocalSet`](tokio::task::LocalSet).
    pub async fn run_with(self, clients: Clients, namespace: &str, metrics: ClusterMetrics) {
        let watch_ledgers = Watch {
            labels: Some(LEDGER_LABEL),
            ..Watch::new("ledgers", MEANWHILE, self.ledgers_line, &metrics.watches)
        };
        let watched = clients.usual.clone();
        let config_maps = Collection::new(watched.clone(), &ledgers::path(namespace));
        let context = GateContext::new(clients, namespace, self.shared);
        let claims = Rc::clone(&context.claims);
        let follow_ledgers = LedgerFollower::new(Rc::clone(&context.ledgers), context.shared.clock.clone());
        tokio::join!(
            self.claims.run(watched, claims, metrics.watches),
            watch_ledgers.run(config_maps, follow_ledgers),
            Dispatcher::new(self.questions).run(Rc::new(context)),
        );
    }
}
