//! The process of `serve`, `gate`, `reconcile` and `certificates`: it starts, answers probes, and stops after a signal.

use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::runtime::lifecycle::{
    Heartbeat, PartError, Readiness, Signal, Signals, StatusBoard, SystemError, Tasks,
};
use crate::runtime::telemetry::{Registry, count_panics};
use crate::serving::http::{self, BindError, HttpMetrics};
use crate::serving::probes::{ProbeArgs, Probes};

/// A process that starts: its parts register their metrics and add their tasks.
#[derive(Debug)]
pub struct Process {
    pub registry: Registry,
    pub http_metrics: HttpMetrics,
    pub tasks: Tasks,
    /// The lines of the parts in `/readyz`, below the answer itself.
    pub board: StatusBoard,
    /// The heartbeat of the reconciler's task. No other task has one.
    pub heartbeat: Heartbeat,
    /// Cancelled after a signal, when work that has begun is to be finished.
    pub drain: CancellationToken,
    signals: Signals,
}

/// A process that answers probes. No metric can be registered any more.
pub struct Running {
    pub tasks: Tasks,
    /// Where probes are answered.
    pub probe_address: String,
    drain: CancellationToken,
    signals: Signals,
    readiness: Arc<Readiness>,
}

impl Process {
    /// Listens for signals from now on.
    pub fn start() -> Result<Self, SystemError> {
        let mut registry = Registry::of_process();
        count_panics(&mut registry);
        Ok(Self {
            http_metrics: HttpMetrics::register(&mut registry),
            registry,
            tasks: Tasks::default(),
            board: StatusBoard::default(),
            heartbeat: Heartbeat::default(),
            drain: CancellationToken::new(),
            signals: Signals::listen()?,
        })
    }

    /// Answers probes until the process exits.
    pub async fn answer_probes(
        mut self,
        args: &ProbeArgs,
        otherwise: IpAddr,
        readiness: Arc<Readiness>,
    ) -> Result<Running, BindError> {
        let probes = Probes {
            readiness: Arc::clone(&readiness),
            board: self.board,
            heartbeat: self.heartbeat,
            metrics: self.registry,
        };
        let listener = http::bind("probes", args.probe_listen, otherwise).await?;
        let probe_address = http::local_addr(&listener);
        let server = probes.server(self.http_metrics);
        self.tasks
            .spawn(server.name, server.run(listener, CancellationToken::new()));
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
    /// finish what has begun. After a second signal the process stops immediately, and also if a part stops
    /// unexpectedly.
    pub async fn until_signalled(
        mut self,
        delay: Duration,
        last: &'static str,
        limit: Duration,
    ) -> Result<ExitCode, PartError> {
        let signal = tokio::select! {
            signal = self.signals.next() => signal,
            error = self.tasks.failed() => return Err(error),
        };
        self.readiness.leave();
        tracing::info!(%signal, delay_seconds = delay.as_secs_f64(), "shutting down");
        tokio::select! {
            () = sleep(delay) => {}
            signal = self.signals.next() => return Ok(abort(signal)),
            error = self.tasks.failed() => return Err(error),
        }
        self.drain.cancel();
        tokio::select! {
            signal = self.signals.next() => Ok(abort(signal)),
            stopped = timeout(limit, self.tasks.stopped()) => match stopped {
                Ok(Ok(part)) if part == last => {
                    tracing::info!("stopped");
                    Ok(ExitCode::SUCCESS)
                }
                Ok(Ok(part)) => Err(PartError::Ended { part }),
                Ok(Err(error)) => Err(error),
                Err(_) => {
                    tracing::warn!(limit_seconds = limit.as_secs(), "stopped with work unfinished");
                    Ok(ExitCode::SUCCESS)
                }
            },
        }
    }
}

fn abort(signal: Signal) -> ExitCode {
    tracing::warn!(%signal, "stopped immediately by a second signal");
    ExitCode::from(signal.exit_code())
}
