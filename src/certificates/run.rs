//! Starts `poolgate certificates` from its flags, and stops it after a signal.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::args::{CertificatesArgs, LeafOutlivesAuthority};
use super::keeper::Keeper;
use super::metrics::CertificatesMetrics;
use super::objects::{BadName, Names};
use super::store::Store;
use crate::cluster::{ConnectError, Connector, WatchMetrics, authority, client_for_watches};
use crate::http::{BindError, Interface};
use crate::lifecycle::{self, PartError, Readiness, StatusLine};
use crate::probes::Process;
use crate::telemetry::LoggingError;

/// How long a step that has begun may take after the first signal. It can be cut off: the next process continues
/// from what is stored.
const DRAIN: Duration = Duration::from_secs(1);

/// The part that is waited for at the end.
const CERTIFICATES: &str = "certificates";

/// Why the process did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificatesError {
    /// Two flags that exclude each other.
    #[error(transparent)]
    Life(#[from] LeafOutlivesAuthority),
    /// The value of `--name` cannot be used.
    #[error("--name: {0}")]
    Name(BadName),
    /// Logging does not start.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// No cluster was found to connect to.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Threads or signal handlers cannot be set up.
    #[error("threads or signal handlers cannot be set up")]
    System(#[from] io::Error),
    /// A part of the process has stopped that must run as long as the process does.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// Renews certificates until a signal. Returns the exit code: 0 after a clean stop.
pub(crate) fn certificates(args: &CertificatesArgs) -> Result<ExitCode, CertificatesError> {
    args.settings()?;
    args.log.install()?;
    lifecycle::run(1, run(args))
}

async fn run(args: &CertificatesArgs) -> Result<ExitCode, CertificatesError> {
    let mut process = Process::start()?;
    let metrics = CertificatesMetrics::register(&mut process.registry);
    let watches = WatchMetrics::register(&mut process.registry);
    let readiness = Arc::new(Readiness::default());
    let line = Arc::new(ArcSwap::from_pointee("starting".into()));
    let connector = Connector::find(&args.cluster).await?;
    process.details.push(StatusLine::new(CERTIFICATES, &line));
    let end = process.drain.clone();
    let mut process = process
        .answer_probes(&args.probes, Interface::All, Arc::clone(&readiness))
        .await?;

    let names = Names::of(connector.namespace(), &args.name).map_err(CertificatesError::Name)?;
    let (settings, interval) = (args.settings()?, args.look_interval);
    let (config, authorities) = (connector.config().clone(), watches.authorities());
    let namespace = connector.namespace().to_owned();
    let keep = async move {
        let client = client_for_watches(&config, std::slice::from_ref(&line), MEANWHILE, || {
            metrics.failed();
        })
        .await;
        let keeper = Keeper {
            store: Store::new(client, &namespace),
            names,
            settings,
            interval,
            metrics,
            line,
            readiness,
        };
        tokio::join!(keeper.run(), authority::watch(&config, authorities));
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

/// What is logged while there is no client for the cluster.
const MEANWHILE: &str = "the certificates that are stored stay";
