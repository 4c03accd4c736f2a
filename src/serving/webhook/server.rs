//! Starts a webhook server from its flags, and stops it after a signal.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, SystemTime};

use axum::Router;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::args::{CertificateChoice, WebhookArgs};
use super::intake::Intake;
use crate::cluster::view::ClusterView;
use crate::runtime::lifecycle::{Readiness, SystemError};
use crate::runtime::policy_watch::PolicyInForce;
use crate::runtime::polled_file::LoadMetrics;
use crate::serving::admission::About;
use crate::serving::certs::{
    CertificateFiles, CertificateMetrics, ClientAuthorityFile, Current, client_names, self_signed,
};
use crate::serving::http::{self, Server, Threads, Tls};
use crate::serving::process::Process;
use crate::serving::registration::{Registration, RegistrationMetrics, Serves};

/// How many connections the admission port keeps open. An API server needs a handful; the rest are for other
/// clients. Together with the probe port's below the usual limit of 1024 open files.
const MAX_ADMISSION_CONNECTIONS: usize = 512;

/// How long a connection may idle. The API server closes its connections after 90 s, and does not repeat a POST on one that
/// is being closed: with a longer limit we never close one that it is about to use.
const IDLE: Duration = Duration::from_mins(3);

/// How long a connection may last: a client that follows the rules is gone before.
const LIFETIME: Duration = Duration::from_mins(15);

/// How long after the shutdown delay a client may still begin a request on a connection that it has.
const GRACE: Duration = Duration::from_secs(5);

/// How long open requests may take once the shutdown delay is over. Together with the delay it is shorter than the
/// Deployment's grace period.
const DRAIN: Duration = Duration::from_secs(20);

/// The most threads that answer reviews.
const MOST_THREADS: usize = 4;

/// How long the server waits for the NodePool definition before it is ready. Without it NodePools are checked for
/// the newest Karpenter; that is better than no check while the API server is down.
const DEFINITION: Duration = Duration::from_secs(10);

/// A webhook server that has all but its paths.
pub struct WebhookServer<'a> {
    pub args: &'a WebhookArgs,
    pub process: Process,
    pub view: Arc<ClusterView>,
    certificate: Arc<Current>,
    tls: Arc<Tls>,
}

impl<'a> WebhookServer<'a> {
    /// Loads the certificate, and starts the task that reads it again.
    pub async fn prepare(args: &'a WebhookArgs, certificate: CertificateChoice) -> anyhow::Result<Self> {
        let mut process = Process::start()?;
        let certificate = start_certificates(certificate, args, &mut process).await?;
        let tls = start_tls(Arc::clone(&certificate), args, &mut process).await?;
        let karpenter = args.karpenter();
        if let Some(caution) = karpenter.caution() {
            tracing::warn!("{caution}");
        }
        Ok(Self {
            args,
            process,
            view: Arc::new(ClusterView::new(karpenter)),
            certificate,
            tls,
        })
    }

    /// Its self report.
    pub fn about(&self, policy: Option<PolicyInForce>) -> About {
        About {
            policy,
            view: Arc::clone(&self.view),
            certificate: Arc::clone(&self.certificate),
        }
    }

    /// The check of its registration; none if no API server could trust it.
    pub fn registration(&mut self, serves: Serves) -> Option<Registration> {
        let metrics = RegistrationMetrics::register(&mut self.process.registry);
        let registration = Registration::new(Arc::clone(&self.certificate), serves, metrics);
        self.args.can_be_registered().then_some(registration)
    }

    /// The request intake. 404s list `paths`.
    pub fn intake(&mut self, paths: &'static str) -> Intake {
        Intake::new(paths, &mut self.process.registry)
    }

    /// Answers at these paths until a signal. It is ready when `definition_read` is cancelled.
    pub async fn run(self, router: Router, definition_read: CancellationToken) -> anyhow::Result<ExitCode> {
        let Self {
            args,
            process,
            certificate,
            tls,
            ..
        } = self;
        let readiness = Arc::new(Readiness::needing(move || certificate.lacks()));
        let listener = http::bind("admission reviews", args.listen, args.interface()).await?;
        let admission_address = http::local_addr(&listener);
        let admission = Server {
            name: "admission",
            tls: Some(tls),
            router,
            threads: Threads::start("admission", threads()).map_err(SystemError::from)?,
            max_connections: MAX_ADMISSION_CONNECTIONS,
            lifetime: LIFETIME,
            idle: IDLE,
            grace: args.shutdown_delay().min(GRACE),
            readiness: Arc::clone(&readiness),
            metrics: process.http_metrics.clone(),
        };
        let drain = process.drain.clone();
        let mut process = process
            .answer_probes(&args.probes, args.interface(), Arc::clone(&readiness))
            .await?;
        process.tasks.spawn(ADMISSION, admission.run(listener, drain));
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
}

/// How many threads answer reviews. A few are enough for a cluster, and each may need the memory of a review.
fn threads() -> usize {
    available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS))
}

/// Makes the server ready when `definition_read` is cancelled, or after a deadline.
async fn ready_when(definition_read: CancellationToken, readiness: Arc<Readiness>) {
    if timeout(DEFINITION, definition_read.cancelled()).await.is_err() {
        tracing::warn!(
            seconds = DEFINITION.as_secs(),
            "ready without the NodePool definition, because reading it timed out"
        );
    }
    readiness.ready();
}

/// The part that is waited for while the server drains.
const ADMISSION: &str = "admission";

/// Loads the certificate, and starts the task that reads it again.
async fn start_certificates(
    choice: CertificateChoice,
    args: &WebhookArgs,
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
            let address = args.listen.named_ip();
            Ok(self_signed(
                address,
                ca_out.as_deref(),
                SystemTime::now(),
                &metrics,
            )?)
        }
    }
}

/// Sets up TLS. Loads the client CA, if one is given, and starts the task that reads it again.
async fn start_tls(
    current: Arc<Current>,
    args: &WebhookArgs,
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
