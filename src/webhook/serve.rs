//! Starts `poolgate serve` from its flags, and stops it after a signal.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::bail;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::args::{CertificateChoice, ServeArgs};
use super::heavy::HeavyThread;
use super::metrics::WebhookMetrics;
use super::routes::Webhook;
use crate::admission::{About, ClusterView, Reviewer};
use crate::certs::{
    CertificateFiles, CertificateMetrics, ClientAuthorityFile, Current, SelfSignedSource, client_names,
};
use crate::cluster::ClusterMetrics;
use crate::cluster_thread::Cluster;
use crate::gate::{Gate, GateMetrics};
use crate::http::{self, Server, Tls, Workers};
use crate::lifecycle::{self, Readiness, SystemError};
use crate::policy_watch::{IfUnusable, PolicyInForce};
use crate::polled_file::LoadMetrics;
use crate::probes::Process;
use crate::registration::{Registration, RegistrationMetrics};

/// How many connections the admission port keeps open. An API server needs a handful; the rest are for other
/// clients. Below the usual limit of 1024 open files.
const MAX_ADMISSION_CONNECTIONS: usize = 512;

/// How long after the shutdown delay a client may still begin a request on a connection that it has.
const GRACE: Duration = Duration::from_secs(5);

/// How long open requests may take once the shutdown delay is over. Together with the delay it is shorter than the
/// Deployment's grace period.
const DRAIN: Duration = Duration::from_secs(20);

/// How long the server waits for the NodePool definition before it is ready. Without it NodePools are checked for
/// the newest Karpenter; that is better than no check while the API server is down.
const DEFINITION: Duration = Duration::from_secs(10);

/// Serves until a signal. Returns the exit code: 0 after a clean stop.
pub fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let certificate = args.certificate()?;
    args.gate.settings()?;
    args.log.install()?;
    lifecycle::run(run(args, certificate))
}

/// How many reviews are done at the same time. A few threads are enough for a cluster, and each may need the memory
/// of a review.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(4))
}

async fn run(args: ServeArgs, certificate: CertificateChoice) -> anyhow::Result<ExitCode> {
    let mut process = Process::start()?;
    let current = start_certificates(certificate, &args, &mut process).await?;
    let tls = start_tls(Arc::clone(&current), &args, &mut process).await?;
    let readiness = Arc::new(Readiness::needing(vec![current.clone()]));
    let if_unusable = match (args.policy_required, args.gate.is_alone()) {
        (true, _) => IfUnusable::Fail,
        (false, false) => IfUnusable::StandInIfThere,
        (false, true) => IfUnusable::StandIn,
    };
    let policy = args
        .policy
        .start(
            if_unusable,
            &mut process.registry,
            &mut process.tasks,
            &mut process.details,
        )
        .await?;
    let view = Arc::new(ClusterView::new(args.karpenter()));
    let registration = Registration::new(
        current.clone(),
        (!args.gate.is_alone(), args.gate.settings()?.is_some()),
        RegistrationMetrics::register(&mut process.registry),
    );
    let registration = args.can_be_registered().then_some(registration);
    let (gate, definition_read) = start_cluster(&args, (&view, &policy, registration), &mut process).await?;
    let about = About {
        policy: policy.clone(),
        view: Arc::clone(&view),
        certificate: Arc::clone(&current),
    };
    let gate = gate.map(|gate| (gate, about.clone()));
    let reviewer = (!args.gate.is_alone())
        .then(|| Reviewer::new(policy, view, args.mutate_verdict()).answering_inquiries(about));
    let webhook_metrics = WebhookMetrics::register(&mut process.registry);
    let webhook = Webhook::new(reviewer, gate, HeavyThread::start()?, webhook_metrics);

    let admission = Server {
        name: "admission",
        listener: http::bind("admission reviews", args.listen, args.interface()).await?,
        workers: Workers::start("review", workers()).map_err(SystemError::from)?,
        tls: Some(tls),
        router: webhook.router(),
        max_connections: MAX_ADMISSION_CONNECTIONS,
        grace: args.shutdown_delay().min(GRACE),
        readiness: Arc::clone(&readiness),
        metrics: process.http_metrics.clone(),
    };
    let admission_address = http::local_addr(&admission.listener);
    let drain = process.drain.clone();
    let mut process = process
        .answer_probes(&args.probes, args.interface(), Arc::clone(&readiness))
        .await?;
    process.tasks.spawn(ADMISSION, admission.run(drain));
    tokio::spawn(ready_when(definition_read, readiness));
    tracing::info!(
        admission = admission_address,
        probe = process.probe_address,
        "listening"
    );
    Ok(process
        .until_signalled(args.shutdown_delay(), ADMISSION, DRAIN)
        .await?)
}

/// Makes the server ready when `definition_read` is cancelled, or after a deadline.
async fn ready_when(definition_read: CancellationToken, readiness: Arc<Readiness>) {
    if timeout(DEFINITION, definition_read.cancelled()).await.is_err() {
        tracing::warn!(
            seconds = DEFINITION.as_secs(),
            "ready without the NodePool definition, which was not read in time"
        );
    }
    readiness.ready();
}

/// The part that is waited for while the server drains.
const ADMISSION: &str = "admission";

/// Loads the certificate, and starts the task that renews it.
async fn start_certificates(
    choice: CertificateChoice,
    args: &ServeArgs,
    process: &mut Process,
) -> anyhow::Result<Arc<Current>> {
    let metrics = CertificateMetrics::register(&mut process.registry);
    match choice {
        CertificateChoice::Files { certificate, key } => {
            let (current, polled) = CertificateFiles::open(certificate, key, metrics).await?;
            process
                .tasks
                .spawn("certificate watch", polled.watch(args.cert_poll_interval));
            Ok(current)
        }
        CertificateChoice::SelfSigned { ca_out } => {
            let source = SelfSignedSource::create(args.listen.named_ip(), SystemTime::now(), metrics)?;
            if let Some(path) = &ca_out {
                source.write_authority(path)?;
            }
            let current = source.current();
            process.tasks.spawn("certificate renewal", source.watch());
            Ok(current)
        }
    }
}

/// Sets up TLS. Loads the client CA, if one is given, and starts the task that reads it again.
async fn start_tls(
    current: Arc<Current>,
    args: &ServeArgs,
    process: &mut Process,
) -> anyhow::Result<Arc<Tls>> {
    let metrics = LoadMetrics::register(&mut process.registry, "client_ca", "client CA");
    let accepted = args.client_name.clone();
    let tls = Tls::new(
        current,
        Box::new(move |certificate| client_names::objection(&accepted, certificate)),
    )?;
    let tls = Arc::new(tls);
    if let Some(path) = args.client_ca.clone() {
        let guarded = Arc::clone(&tls);
        let accept_only = move |verifier| guarded.accept_only(verifier);
        let polled = ClientAuthorityFile::open(path, metrics, accept_only).await?;
        process
            .tasks
            .spawn("client CA watch", polled.watch(args.cert_poll_interval));
    }
    Ok(tls)
}

/// Starts to watch the cluster, if there is one, and opens the gate, if it is served. The token is cancelled when
/// everything has been read that the server needs before it is ready.
async fn start_cluster(
    args: &ServeArgs,
    (view, policy, registration): (&Arc<ClusterView>, &PolicyInForce, Option<Registration>),
    process: &mut Process,
) -> anyhow::Result<(Option<Gate>, CancellationToken)> {
    let metrics = ClusterMetrics::register(&mut process.registry);
    let gate_metrics = GateMetrics::register(&mut process.registry);
    let cluster = Cluster::find(&args.cluster, Arc::clone(view), policy.clone(), metrics).await;
    let Some(mut cluster) = cluster? else {
        if args.gate.settings()?.is_some() {
            bail!(
                "--gate needs a cluster: give --kubeconfig FILE, run in a pod with a service account, and leave out \
                 --no-cluster"
            );
        }
        let nothing_to_read = CancellationToken::new();
        nothing_to_read.cancel();
        return Ok((None, nothing_to_read));
    };
    let gate = args
        .gate
        .settings()?
        .map(|settings| cluster.open_gate(settings, gate_metrics));
    if let Some(registration) = registration {
        cluster.look_at(registration);
    }
    process.details.extend(cluster.details());
    let definition_read = cluster.definition_read();
    process.tasks.spawn("cluster watch", cluster.watch()?);
    Ok((gate, definition_read))
}
