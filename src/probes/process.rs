//! What `serve`, `reconcile` and `certificates` share: each runs and answers probes until a signal.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{ProbeArgs, Probes};
use crate::http::{self, BindError, HttpMetrics, Interface};
use crate::lifecycle::{Ending, PartError, Readiness, Signals, StatusLine, SystemError, Tasks};
use crate::telemetry::{Registry, count_panics};

/// A process that starts: its parts register their metrics and add their tasks.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) registry: Registry,
    pub(crate) http_metrics: HttpMetrics,
    pub(crate) tasks: Tasks,
    /// The lines of the parts in `/readyz`, below the answer itself.
    pub(crate) details: Vec<StatusLine>,
    /// Cancelled after a signal, when work that has begun is to be finished.
    pub(crate) drain: CancellationToken,
    signals: Signals,
}

/// A process that answers probes. No metric can be registered any more.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) tasks: Tasks,
    /// Where probes are answered.
    pub(crate) probe_address: String,
    drain: CancellationToken,
    signals: Signals,
    readiness: Arc<Readiness>,
}

impl Process {
    /// Listens for signals from now on.
    pub(crate) fn start() -> Result<Self, SystemError> {
        let mut registry = Registry::of_process();
        count_panics(&mut registry);
        Ok(Self {
            http_metrics: HttpMetrics::register(&mut registry),
            registry,
            tasks: Tasks::default(),
            details: Vec::new(),
            drain: CancellationToken::new(),
            signals: Signals::listen()?,
        })
    }

    /// Answers probes until the process exits.
    pub(crate) async fn answer_probes(
        mut self,
        args: &ProbeArgs,
        otherwise: Interface,
        readiness: Arc<Readiness>,
    ) -> Result<Running, BindError> {
        let probes = Probes {
            readiness: Arc::clone(&readiness),
            details: self.details,
            metrics: self.registry,
        };
        let server = super::server(args, otherwise, probes, self.http_metrics).await?;
        let probe_address = http::local_addr(&server.listener);
        self.tasks
            .spawn(server.name, server.run(CancellationToken::new()));
        Ok(Running {
            tasks: self.tasks,
            probe_address,
            drain: self.drain,
            signals: self.signals,
            readiness,
        })
    }
}

impl Running {
    /// Waits for the first signal. Then the process is not ready for `delay`, and the part `last` has `limit` to
    /// finish.
    pub(crate) async fn until_signalled(
        mut self,
        delay: Duration,
        last: &'static str,
        limit: Duration,
    ) -> Result<ExitCode, PartError> {
        let ending = Ending {
            delay,
            drain: &self.drain,
            last,
            limit,
        };
        self.tasks
            .until_signalled(&mut self.signals, &self.readiness, ending)
            .await
    }
}
