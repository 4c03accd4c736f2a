//! Starts `poolgate certificates` from its flags, and stops it after a signal.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;

use super::args::CertificatesArgs;
use super::keeper::Keeper;
use super::metrics::CertificatesMetrics;
use super::objects::Names;
use super::store::Store;
use crate::cluster::{lasting_client, required_cluster};
use crate::runtime::lifecycle::{self, Readiness};
use crate::serving::http::EVERYWHERE;
use crate::serving::process::Process;

/// How long a step that has begun may take after the first signal. It can be cut off: the next process continues
/// from what is stored.
const DRAIN: Duration = Duration::from_secs(1);

/// The part that is waited for at the end.
const CERTIFICATES: &str = "certificates";

/// Renews certificates until a signal. Returns the exit code: 0 after a clean stop.
pub fn certificates(args: &CertificatesArgs) -> anyhow::Result<ExitCode> {
    args.settings()?;
    let _log = args.log.install()?;
    lifecycle::run(run(args))
}

async fn run(args: &CertificatesArgs) -> anyhow::Result<ExitCode> {
    let mut process = Process::start()?;
    let metrics = CertificatesMetrics::register(&mut process.registry);
    let readiness = Arc::new(Readiness::default());
    let line = process.board.line(CERTIFICATES);
    line.set("starting");
    let config = required_cluster(&args.cluster).await?;
    let end = process.drain.clone();
    let mut process = process
        .answer_probes(&args.probes, EVERYWHERE, Arc::clone(&readiness))
        .await?;

    let namespace = args.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
    let names = Names::new(&namespace, &args.name).map_err(|error| anyhow!("--name: {error}"))?;
    let (settings, interval) = (args.settings()?, args.look_interval);
    let keep = async move {
        let keeper = Keeper {
            store: Store::new(lasting_client(config), &namespace),
            names,
            settings,
            interval,
            metrics,
            line,
            readiness,
        };
        keeper.run().await;
    };
    process.tasks.spawn(CERTIFICATES, async move {
        tokio::select! {
            () = keep => {}
            () = end.cancelled() => {}
        }
    });
    tracing::info!(probe = process.probe_address, "listening");
    Ok(process
        .until_signalled(Duration::ZERO, CERTIFICATES, DRAIN)
        .await?)
}
