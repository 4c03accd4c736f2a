//! Starts `poolgate reconcile` from its flags, and stops it after a signal.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use kube::Client;

use super::apply::{Writer, end_freezes, frozen_pools, restore_limits, unhold_all};
use super::args::ReconcileArgs;
use super::metrics::ReconcileMetrics;
use super::parts::{LEASE, Lines, Reconciler};
use super::writers::Writers;
use crate::cluster::clock::Clock;
use crate::cluster::{Leadership, WatchMetrics, client, lasting_client, lease_is_silent, required_cluster};
use crate::runtime::lifecycle::{self, Readiness};
use crate::runtime::policy_watch::IfUnusable;
use crate::runtime::telemetry::{LogOnce, Registry};
use crate::serving::http::EVERYWHERE;
use crate::serving::process::Process;

/// How long work in progress may take after the first signal. Shorter than the Deployment's grace period.
const DRAIN: Duration = Duration::from_secs(20);

/// Reconciles until a signal. Returns the exit code: 0 after a clean stop.
pub fn reconcile(args: ReconcileArgs) -> anyhow::Result<ExitCode> {
    let _log = args.log.install()?;
    lifecycle::run(async {
        if args.unhold_all {
            unhold(&args).await
        } else {
            run(args).await
        }
    })
}

/// Removes every mark when no reconciler writes any more, and exits.
async fn unhold(args: &ReconcileArgs) -> anyhow::Result<ExitCode> {
    let cluster = required_cluster(&args.cluster).await?;
    let client = client(cluster).await;
    let client = client.map_err(|error| anyhow!("could not create a client for the cluster: {error}"))?;
    let namespaces = (args.namespace.as_deref(), &*args.ledgers.ledger_namespace);
    unhold_with(client, namespaces, args.if_lease_older_than, Clock::start()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Removes every mark with this client, and ends every freeze. Waits for reconcilers with pods in the first of these namespaces and the Lease in the
/// second. With `longest`, does not wait: it only goes on if they have ended, or have not renewed the Lease for that long. Then
/// freezes last until their time while a reconciler is installed, because only its pods may be missing.
pub async fn unhold_with(
    client: Client,
    (namespace, ledgers): (Option<&str>, &str),
    longest: Option<Duration>,
    clock: Clock,
) -> anyhow::Result<()> {
    let reconcilers = Writers {
        client: client.clone(),
        namespace,
        ledgers,
        clock: &clock,
    };
    let mut spares_freezes = false;
    if let Some(longest) = longest {
        spares_freezes = reconcilers.are_installed().await.unwrap_or(true);
        let have_ended = reconcilers.have_ended().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not see if a reconciler may write; the age of its Lease decides");
            false
        });
        let is_silent = lease_is_silent(client.clone(), ledgers, LEASE, longest, &clock);
        if !have_ended
            && !is_silent
                .await
                .map_err(|error| anyhow!("could not read the Lease: {error}"))?
        {
            tracing::info!("a reconciler may write, so no mark is removed");
            return Ok(());
        }
    } else {
        reconcilers.wait_for_end().await?;
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
    let (mut frozen, mut ended) = (BTreeSet::new(), Ok(()));
    if spares_freezes {
        frozen = frozen_pools(&writer).await.map_err(failed)?;
    } else if longest.is_none() {
        ended = end_freezes(&writer).await;
    }
    // A node that keeps its mark does not keep the limits low.
    let (nodes, limits) = (unhold_all(&writer, &frozen).await, restore_limits(&writer).await);
    let (nodes, limits) = (nodes.map_err(failed)?, limits.map_err(failed)?);
    ended.map_err(|error| anyhow!("could not end every freeze: {error}"))?;
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
        Box::pin(work.run(lasting_client(cluster), &namespace)).await;
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
