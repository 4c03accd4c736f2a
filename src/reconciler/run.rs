//! Starts `poolgate reconcile` from its flags, and stops it after a signal.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kube::Api;

use super::apply::{WriteError, Writer, restore_limits, unhold_all};
use super::args::ReconcileArgs;
use super::controller::Options;
use super::metrics::ReconcileMetrics;
use super::work::{LEASE, Lines, Work};
use crate::cluster::{
    ConnectError, Connector, Leadership, LeaseError, WatchMetrics, lease_holder, lease_is_silent,
};
use crate::http::{BindError, Interface};
use crate::lifecycle::{self, PartError, Readiness, SystemError};
use crate::policy_file::{IfUnusable, LoadError};
use crate::probes::Process;
use crate::telemetry::{LoggingError, Registry};

/// How long work in progress may take after the first signal. Shorter than the Deployment's grace period.
const DRAIN: Duration = Duration::from_secs(20);

/// Why the reconciler did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// Logging does not start.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// The policy file cannot be used.
    #[error(transparent)]
    Policy(#[from] LoadError),
    /// No cluster was found to connect to.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
    /// No client can be made for the cluster.
    #[error("no client for the cluster: {0}")]
    Client(String),
    /// It is not known whether a reconciler still runs.
    #[error("the Lease cannot be read: {0}")]
    Lease(#[from] LeaseError),
    /// Not every mark could be removed.
    #[error("not every mark could be removed: {0}")]
    Unhold(#[from] WriteError),
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Threads or signal handlers cannot be set up.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A part of the process has stopped that must run as long as the process does.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// Reconciles until a signal. Returns the exit code: 0 after a clean stop.
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

/// Removes every mark, unless a reconciler still runs, and exits.
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
    tracing::info!(
        nodes,
        limits,
        "every mark is removed, and every lowered limit is restored"
    );
    Ok(ExitCode::SUCCESS)
}

async fn run(args: ReconcileArgs) -> Result<ExitCode, ReconcileError> {
    let mut process = Process::start()?;
    let readiness = Arc::new(Readiness::default());
    let policy = args
        .policy
        .start(
            IfUnusable::Fail,
            &mut process.registry,
            &mut process.tasks,
            &mut process.details,
        )
        .await?;
    let lines = Lines::new(args.observe);
    process.details.extend(lines.details());
    let work = Work {
        connector: Connector::find(&args.cluster).await?,
        policy,
        options: options(&args),
        observe: args.observe,
        lease: args.lease_duration,
        identity: identity(),
        metrics: ReconcileMetrics::register(&mut process.registry),
        watches: WatchMetrics::register(&mut process.registry),
        lines,
        readiness: Arc::clone(&readiness),
        end: process.drain.clone(),
    };
    let mut process = process
        .answer_probes(&args.probes, Interface::All, readiness)
        .await?;
    process
        .tasks
        .spawn(RECONCILER, work.start().map_err(SystemError::from)?);
    tracing::info!(probe = process.probe_address, "listening");
    Ok(process.until_signalled(Duration::ZERO, RECONCILER, DRAIN).await?)
}

/// The part that is waited for at the end.
const RECONCILER: &str = "reconciler";

fn options(args: &ReconcileArgs) -> Options {
    Options {
        over_limit: args.over_limit(),
        settle: args.settle,
        terminations: args.max_terminations_per_minute,
    }
}

/// A name that no other process has: two containers may have the same host name.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let mut random = RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    let host = host.as_deref().map_or("poolgate", str::trim);
    format!("{host}_{:016x}", random.finish())
}
