//! Starts `poolgate serve` from its flags.

use std::process::ExitCode;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::args::ServeArgs;
use super::claims::ClaimLister;
use super::routes::{PATHS, PoolWebhook};
use crate::cluster::{ClusterMetrics, lasting_client};
use crate::review::Reviewer;
use crate::runtime::lifecycle;
use crate::runtime::policy_watch::PolicyInForce;
use crate::serving::cluster_watch::ClusterWatch;
use crate::serving::registration::Serves;
use crate::serving::webhook::{CertificateChoice, WebhookServer};

/// Serves until a signal. Returns the exit code: 0 after a clean stop.
pub fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let certificate = args.webhook.certificate()?;
    let _log = args.webhook.log.install()?;
    lifecycle::run(run(args, certificate))
}

async fn run(args: ServeArgs, certificate: CertificateChoice) -> anyhow::Result<ExitCode> {
    let mut server = WebhookServer::prepare(&args.webhook, certificate).await?;
    let process = &mut server.process;
    let policy = args.policy.start(
        args.if_unusable(),
        &mut process.registry,
        &mut process.tasks,
        &process.board,
    );
    let policy = policy.await?;
    let (definition_read, claims) = start_cluster(&mut server, policy.clone(), args.no_cluster).await?;
    let reviewer = Reviewer::new(policy.clone(), Arc::clone(&server.view), args.mutate_verdict)
        .answering_inquiries(server.about(Some(policy)))
        .listing_claims(claims);
    let webhook = PoolWebhook::new(reviewer, server.intake(PATHS));
    server.run(webhook.router(), definition_read).await
}

/// Starts to watch the cluster, if there is one. The token is cancelled when everything has been read that the server
/// needs before it is ready. The other part lists NodeClaims for reviews.
async fn start_cluster(
    server: &mut WebhookServer<'_>,
    policy: PolicyInForce,
    watches_none: bool,
) -> anyhow::Result<(CancellationToken, Option<ClaimLister>)> {
    let board = server.process.board.clone();
    let metrics = ClusterMetrics::register(&mut server.process.registry);
    let registration = server.registration(Serves::Reviews);
    let view = Arc::clone(&server.view);
    let doubts = metrics.drift_doubts.clone();
    let found = if watches_none {
        None
    } else {
        ClusterWatch::find(&server.args.cluster, view, policy, &board, metrics).await?
    };
    let Some((watch, config)) = found else {
        let nothing_to_read = CancellationToken::new();
        nothing_to_read.cancel();
        return Ok((nothing_to_read, None));
    };
    let watch = watch.with(registration.map(|registration| registration.shown_on(&board)));
    let definition_read = watch.definition_read();
    let client = lasting_client(config);
    server
        .process
        .tasks
        .spawn("cluster watch", watch.run(client.clone()));
    Ok((definition_read, Some(ClaimLister::new(client, doubts))))
}
