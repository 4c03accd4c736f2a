//! Starts `poolgate gate` from its flags.

use std::process::ExitCode;
use std::sync::Arc;

use kube::Client;
use poolgate_core::api::LEDGER_LABEL;

use super::args::GateArgs;
use super::claims::ClaimWatch;
use super::context::{GateContext, Shared};
use super::metrics::GateMetrics;
use super::pools::Gate;
use super::routes::{ClaimWebhook, PATHS};
use crate::cluster::clock::Clock;
use crate::cluster::ledgers::{self, LedgerFollower};
use crate::cluster::{ClusterMetrics, Collection, Watch, WatchMetrics, lasting_client, required_cluster};
use crate::runtime::lifecycle::{self, StatusBoard};
use crate::serving::cluster_watch::ClusterWatch;
use crate::serving::registration::Serves;
use crate::serving::webhook::{CertificateChoice, WebhookServer};

/// The gate's behaviour while one of the watches is down.
const MEANWHILE: &str = "the gate reads from the API server for each decision";

/// Serves until a signal. Returns the exit code: 0 after a clean stop.
pub fn gate(args: GateArgs) -> anyhow::Result<ExitCode> {
    let certificate = args.webhook.certificate()?;
    let _log = args.webhook.log.install()?;
    lifecycle::run(run(args, certificate))
}

async fn run(args: GateArgs, certificate: CertificateChoice) -> anyhow::Result<ExitCode> {
    let config = required_cluster(&args.webhook.cluster).await?;
    let mut server = WebhookServer::prepare(&args.webhook, certificate).await?;
    let client = lasting_client(config);
    let namespace = args.ledgers.ledger_namespace;
    let view = Arc::clone(&server.view);
    let board = server.process.board.clone();
    let shared = Shared {
        view: Arc::clone(&view),
        clock: Clock::start(),
        metrics: GateMetrics::register(&mut server.process.registry),
        reservation_lifetime: args.reservation_lifetime,
    };
    let context = GateContext::new(&client, &namespace, shared);
    let gate = Gate::new(args.observe, Arc::clone(&context));

    let metrics = ClusterMetrics::register(&mut server.process.registry);
    let followed = follow(
        context,
        client.clone(),
        &namespace,
        &board,
        metrics.watches.clone(),
    );
    let registration = server.registration(Serves::Gate);
    let registration = registration.map(|registration| registration.shown_on(&board));
    let watch = ClusterWatch::new(view, None, &board, metrics).with(registration);
    let definition_read = watch.definition_read();
    let tasks = &mut server.process.tasks;
    tasks.spawn("cluster watch", watch.run(client));
    tasks.spawn("gate watch", followed);
    tasks.spawn("sweep", Arc::clone(&gate).sweep());

    let webhook = ClaimWebhook::new(gate, server.about(None), server.intake(PATHS));
    server.run(webhook.router(), definition_read).await
}

/// Watches claims and ledgers for the gate, until the process stops.
pub fn follow(
    context: Arc<GateContext>,
    client: Client,
    namespace: &str,
    board: &StatusBoard,
    metrics: WatchMetrics,
) -> impl Future<Output = ()> + Send + use<> {
    let claims = ClaimWatch::new(MEANWHILE, board);
    let watch_ledgers = Watch {
        labels: Some(LEDGER_LABEL),
        ..Watch::new("ledgers", MEANWHILE, board.line("node limit ledgers"), &metrics)
    };
    let config_maps = Collection::new(client.clone(), &ledgers::path(namespace));
    async move {
        tokio::join!(
            claims.run(client, Arc::clone(&context.claims), metrics),
            watch_ledgers.run(config_maps, LedgerFollower::new(Arc::clone(&context.ledgers))),
        );
    }
}
