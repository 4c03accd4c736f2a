//! Starts `poolgate reconcile` from its flags, and stops it after a signal.

use std::hash::{BuildHasher, Hasher};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use kube::Client;

use super::apply::{Writer, restore_limits, unhold_all};
use super::args::ReconcileArgs;
use super::metrics::ReconcileMetrics;
use super::parts::{LEASE, Lines, Reconciler};
use crate::cluster::clock::Clock;
use crate::cluster::{
    Leadership, WatchMetrics, client, lasting_client, lease_holder, lease_is_silent, required_cluster,
};
use crate::runtime::lifecycle::{self, FEW_THREADS, Readiness};
use crate::runtime::policy_watch::IfUnusable;
use crate::runtime::telemetry::{LogOnce, Registry};
use crate::serving::http::EVERYWHERE;
use crate::serving::process::Process;

/// How long work in progress may take after the first signal. Shorter than the Deployment's grace period.
const DRAIN: Duration = Duration::from_secs(20);

/// Reconciles until a signal. Returns the exit code: 0 after a clean stop.
pub fn reconcile(args: ReconcileArgs) -> anyhow::Result<ExitCode> {
    let _log = args.log.install()?;
    lifecycle::run(FEW_THREADS, async {
        if args.unhold_all {
            unhold(&args).await
        } else {
            run(args).await
        }
    })
}

/// Removes every mark, unless a reconciler still runs, and exits.
async fn unhold(args: &ReconcileArgs) -> anyhow::Result<ExitCode> {
    let cluster = required_cluster(&args.cluster).await?;
    let client = client(cluster).await;
    let client = client.map_err(|error| anyhow!("could not create a client for the cluster: {error}"))?;
    let longest = args.if_lease_older_than;
    unhold_with(client, &args.ledgers.ledger_namespace, longest, Clock::start()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Removes every mark with this client; with `longest` only if no reconciler has renewed its Lease for that long.
pub async fn unhold_with(
    client: Client,
    namespace: &str,
    longest: Option<Duration>,
    clock: Clock,
) -> anyhow::Result<()> {
    if let Some(longest) = longest {
        let is_silent = lease_is_silent(client.clone(), namespace, LEASE, longest, &clock).await;
        if !is_silent.map_err(|error| anyhow!("could not read the Lease: {error}"))? {
            tracing::info!("a reconciler is renewing the Lease, so no mark is removed");
            return Ok(());
        }
    } else if let Some(holder) = lease_holder(client.clone(), namespace, LEASE).await {
        tracing::warn!(
            holder,
            "the Lease names a reconciler, which sets its marks again if it is still running"
        );
    }
    let writer = Writer {
        client,
        leadership: Leadership::always(),
        clock,
        metrics: ReconcileMetrics::register(&mut Registry::default()),
        observe: false,
        unheld: LogOnce::default(),
    };
    let failed = |error| anyhow!("could not remove every mark: {error}");
    // A node that keeps its mark does not keep the limits low.
    let (nodes, limits) = (unhold_all(&writer).await, restore_limits(&writer).await);
    let (nodes, limits) = (nodes.map_err(failed)?, limits.map_err(failed)?);
    tracing::info!(nodes, limits, "removed all marks and restored all lowered limits");
    Ok(())
}

async fn run(args: ReconcileArgs) -> anyhow::Result<ExitCode> {
    let mut process = Process::start()?;
    let readiness = Arc::new(Readiness::default());
    let policy = args
        .policy
        .start(
            IfUnusable::StandIn,
            &mut process.registry,
            &mut process.tasks,
            &process.board,
        )
        .await?;
    let lines = Lines::of(&process.board, args.observe);
    let metrics = ReconcileMetrics::register(&mut process.registry);
    metrics.observing(args.observe);
    let cluster = required_cluster(&args.cluster).await?;
    let work = Reconciler {
        args,
        identity: identity(),
        clock: Clock::start(),
        policy,
        metrics,
        watches: WatchMetrics::register(&mut process.registry),
        lines,
        readiness: Arc::clone(&readiness),
        heartbeat: process.heartbeat.clone(),
        end: process.drain.clone(),
    };
    let heartbeat = process.heartbeat.clone();
    let mut process = process
        .answer_probes(&work.args.probes, EVERYWHERE, readiness)
        .await?;
    process.tasks.spawn(RECONCILER, async move {
        let namespace = work.args.ledgers.ledger_namespace.clone();
        work.run(lasting_client(cluster), &namespace).await;
    });
    process
        .tasks
        .spawn("heartbeat", async move { heartbeat.watch(RECONCILER).await });
    tracing::info!(probe = process.probe_address, "listening");
    Ok(process.until_signalled(Duration::ZERO, RECONCILER, DRAIN).await?)
}

/// The part that is waited for at the end.
const RECONCILER: &str = "reconciler";

/// A unique name: two containers may have the same host name.
#[expect(clippy::disallowed_types, reason = "a simulation brings its own names")]
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let mut random = std::hash::RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    let host = host.as_deref().map_or("poolgate", str::trim);
    format!("{host}_{:016x}", random.finish())
}
