//! Starts `poolgate gate` from its flags.

use std::process::ExitCode;
use std::sync::Arc;

use super::args::GateArgs;
use super::metrics::GateMetrics;
use super::routes::{ClaimWebhook, PATHS};
use super::runner::GateRunner;
use crate::cluster::clock::Clock;
use crate::cluster::{ClusterMetrics, required_cluster};
use crate::cluster_thread::Cluster;
use crate::lifecycle::{self, FEW_THREADS};
use crate::registration::Serves;
use crate::webhook::{CertificateChoice, WebhookServer};

/// Serves until a signal. Returns the exit code: 0 after a clean stop.
pub fn gate(args: GateArgs) -> anyhow::Result<ExitCode> {
    let certificate = args.webhook.certificate()?;
    let _log = args.webhook.log.install()?;
    lifecycle::run(FEW_THREADS, run(args, certificate))
}

async fn run(args: GateArgs, certificate: CertificateChoice) -> anyhow::Result<ExitCode> {
    let config = required_cluster(&args.webhook.cluster).await?;
    let mut server = WebhookServer::prepare(&args.webhook, certificate).await?;
    let view = Arc::clone(&server.view);
    let board = server.process.board.clone();
    let metrics = GateMetrics::register(&mut server.process.registry);
    let lifetime = args.reservation_lifetime;
    let (gate, runner) = GateRunner::open(
        args.observe,
        lifetime,
        Arc::clone(&view),
        &board,
        metrics,
        Clock::start(),
    );

    let metrics = ClusterMetrics::register(&mut server.process.registry);
    let registration = server.registration(Serves::Gate);
    let registration = registration.map(|registration| registration.shown_on(&board));
    let cluster = Cluster::new(view, None, &board, metrics).with(registration);
    let definition_read = cluster.definition_read();
    let heartbeat = server.process.heartbeat.clone();
    let watch = cluster.watch(config, heartbeat, |client, config, metrics| {
        runner.run(client, config, metrics)
    })?;
    server.process.tasks.spawn("cluster watch", watch);

    let webhook = ClaimWebhook::new(gate, server.about(None), server.intake(PATHS));
    server.run(webhook.router(), definition_read).await
}
