//! From flags to a process that keeps certificates, and from a signal to its end.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use super::args::{CertificatesArgs, LeafOutlivesAuthority};
use super::keeper::Keeper;
use super::metrics::CertificatesMetrics;
use super::objects::{BadName, Names};
use super::store::Store;
use crate::cluster::{ConnectError, Connector, WatchMetrics, authority, client_for_watches};
use crate::http::{self, BindError, HttpMetrics, Interface};
use crate::lifecycle::{self, Ending, PartError, Readiness, Signals, StatusLine, Tasks};
use crate::probes::{self, Probes};
use crate::telemetry::{LoggingError, Metrics, count_panics};

/// How long a step that has begun may take after the first signal: whoever begins anew goes on from wherever it ends.
const DRAIN: Duration = Duration::from_secs(1);

/// The part whose end is awaited.
const CERTIFICATES: &str = "certificates";

/// Why the process did not start, or did not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificatesError {
    /// Two flags that do not go together.
    #[error(transparent)]
    Life(#[from] LeafOutlivesAuthority),
    /// `--name` names nothing.
    #[error("--name: {0}")]
    Name(BadName),
    /// Logging does not start.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// There is no cluster.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
    /// A socket cannot be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system gives no threads or no signals.
    #[error("the system gives no threads or no signals")]
    System(#[from] io::Error),
    /// A part that must run for ever has ended.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// Keeps certificates until a signal. Returns the exit code: 0 after an orderly end.
pub(crate) fn certificates(args: &CertificatesArgs) -> Result<ExitCode, CertificatesError> {
    args.settings()?;
    args.log.install()?;
    lifecycle::run(1, run(args))
}

async fn run(args: &CertificatesArgs) -> Result<ExitCode, CertificatesError> {
    let mut signals = Signals::listen()?;
    let mut registry = Metrics::registry();
    count_panics(&mut registry);
    let http_metrics = HttpMetrics::register(&mut registry);
    let metrics = CertificatesMetrics::register(&mut registry);
    let watches = WatchMetrics::register(&mut registry);
    let readiness = Arc::new(Readiness::default());
    let line = Arc::new(ArcSwap::from_pointee("starting".into()));
    let connector = Connector::find(&args.cluster).await?;
    let probes = Probes {
        readiness: Arc::clone(&readiness),
        details: vec![Arc::new(StatusLine::new(CERTIFICATES, &line))],
        metrics: Metrics::new(registry),
    };
    let probe = probes::server(&args.probes, Interface::All, probes, http_metrics).await?;
    let address = http::local_addr(&probe.listener);

    let names = Names::of(connector.namespace(), &args.name).map_err(CertificatesError::Name)?;
    let (settings, interval) = (args.settings()?, args.look_interval);
    let (drain, config) = (CancellationToken::new(), connector.config().clone());
    let (end, ready, authorities) = (drain.clone(), Arc::clone(&readiness), watches.authorities());
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
            readiness: ready,
        };
        tokio::join!(keeper.run(), authority::watch(&config, authorities));
    };
    let mut tasks = Tasks::default();
    // Probes are answered to the very end.
    tasks.spawn("probes", probe.run(CancellationToken::new()));
    tasks.spawn(CERTIFICATES, async move {
        tokio::select! {
            () = keep => {}
            () = end.cancelled() => {}
        }
    });
    tracing::info!(probe = address, "listening");
    let ending = Ending {
        delay: Duration::ZERO,
        drain: &drain,
        last: CERTIFICATES,
        limit: DRAIN,
    };
    Ok(tasks.until_signalled(&mut signals, &readiness, ending).await?)
}

/// What holds while there is no client for the cluster.
const MEANWHILE: &str = "the certificates that are stored stay";
