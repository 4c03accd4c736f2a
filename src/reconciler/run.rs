//! From flags to a running reconciler, and from a signal to its end.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use tokio_util::sync::CancellationToken;

use super::apply::{WriteError, Writer, restore_limits, unhold_all};
use super::args::ReconcileArgs;
use super::controller::Options;
use super::metrics::ReconcileMetrics;
use super::work::{LEASE, Lines, Work};
use crate::cluster::{
    ConnectError, Connector, Leadership, LeaseError, WatchMetrics, lease_holder, lease_is_silent,
};
use crate::http::{self, BindError, HttpMetrics, Interface};
use crate::lifecycle::{self, Ending, PartError, Readiness, Signals, Tasks};
use crate::policy_file::{IfUnusable, LoadError};
use crate::probes::{self, Probes};
use crate::telemetry::{LoggingError, Metrics, Registry, count_panics};

/// How long what has begun may take after the first signal. Below the grace period that the Deployment gives.
const DRAIN: Duration = Duration::from_secs(20);

/// Why the reconciler did not start, or did not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// Logging does not start.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// The policy file cannot be used.
    #[error(transparent)]
    Policy(#[from] LoadError),
    /// There is no cluster.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
    /// No client can be made for it.
    #[error("no client for the cluster: {0}")]
    Client(String),
    /// It is not known whether a reconciler still runs.
    #[error("the Lease is not read: {0}")]
    Lease(#[from] LeaseError),
    /// Not every mark could be removed.
    #[error("not every mark is removed: {0}")]
    Unhold(#[from] WriteError),
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

/// Reconciles until a signal. Returns the exit code: 0 after an orderly end.
pub(crate) fn reconcile(args: ReconcileArgs) -> Result<ExitCode, ReconcileError> {
    args.log.install()?;
    lifecycle::run(1, async {
        if args.unhold_all {
            unhold(&args).await
        } else {
            run(args).await
        }
    })
}

/// Removes every mark, where that is wanted now, and ends.
async fn unhold(args: &ReconcileArgs) -> Result<ExitCode, ReconcileError> {
    let connector = Connector::find(&args.cluster).await?;
    let client = connector.client().await.map_err(ReconcileError::Client)?;
    let namespace = connector.namespace();
    if let Some(longest) = args.if_lease_older_than {
        if !lease_is_silent(client.clone(), namespace, LEASE, longest).await? {
            tracing::info!("a reconciler renews the Lease: no mark is removed");
            return Ok(ExitCode::SUCCESS);
        }
    } else if let Some(holder) = lease_holder(client.clone(), namespace, LEASE).await {
        tracing::warn!(
            holder,
            "the Lease names a reconciler: if it still runs, it sets its marks again"
        );
    }
    let metrics = ReconcileMetrics::register(&mut Registry::default());
    let writer = Writer::new(client.clone(), Leadership::always(), metrics, false);
    let nodes = unhold_all(&writer, &Api::all(client.clone())).await?;
    let limits = restore_limits(&writer, &client).await?;
    tracing::info!(nodes, limits, "every mark is removed, and every limit is whole");
    Ok(ExitCode::SUCCESS)
}

async fn run(args: ReconcileArgs) -> Result<ExitCode, ReconcileError> {
    let mut signals = Signals::listen()?;
    let mut registry = Metrics::registry();
    count_panics(&mut registry);
    let http_metrics = HttpMetrics::register(&mut registry);
    let readiness = Arc::new(Readiness::default());
    let mut tasks = Tasks::default();
    let mut details = Vec::new();
    let policy = args
        .policy
        .start(IfUnusable::Fail, &mut registry, &mut tasks, &mut details)
        .await?;
    let lines = Lines::new(args.observe);
    details.extend(lines.details());
    let drain = CancellationToken::new();
    let work = Work {
        connector: Connector::find(&args.cluster).await?,
        policy,
        options: options(&args),
        observe: args.observe,
        lease: args.lease_duration,
        identity: identity(),
        metrics: ReconcileMetrics::register(&mut registry),
        watches: WatchMetrics::register(&mut registry),
        lines,
        readiness: Arc::clone(&readiness),
        end: drain.clone(),
    };
    let probes = Probes {
        readiness: Arc::clone(&readiness),
        details,
        metrics: Metrics::new(registry),
    };
    let probe = probes::server(&args.probes, Interface::All, probes, http_metrics).await?;
    let address = http::local_addr(&probe.listener);
    // Probes are answered to the very end.
    tasks.spawn("probes", probe.run(CancellationToken::new()));
    tasks.spawn(RECONCILER, work.start()?);
    tracing::info!(probe = address, "listening");
    let ending = Ending {
        delay: Duration::ZERO,
        drain: &drain,
        last: RECONCILER,
        limit: DRAIN,
    };
    Ok(tasks.until_signalled(&mut signals, &readiness, ending).await?)
}

/// The part whose end is awaited.
const RECONCILER: &str = "reconciler";

fn options(args: &ReconcileArgs) -> Options {
    Options {
        over_limit: args.over_limit(),
        settle: args.settle,
        terminations: args.max_terminations_per_minute,
    }
}

/// What tells this process from every other: two containers may have one host name.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let mut random = RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    let host = host.as_deref().map_or("poolgate", str::trim);
    format!("{host}_{:016x}", random.finish())
}
