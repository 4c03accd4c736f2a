//! The parts of a process that run until it is signalled to stop. If a part stops by itself, the process exits, and
//! its supervisor restarts it: that is better than half a process.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet, LocalSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Readiness, Signal, Signals};

/// A part of the process has stopped that must run as long as the process does.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PartError {
    /// It has stopped.
    #[error("{part} has stopped by itself, which is a defect of poolgate; the process exits")]
    Ended {
        /// Which part.
        part: &'static str,
    },
    /// It has panicked.
    #[error("a part of poolgate failed: {0}")]
    Failed(JoinError),
}

/// The parts. Each returns its name when it stops.
#[derive(Debug, Default)]
pub(crate) struct Tasks(JoinSet<&'static str>);

/// How the process stops after the first signal.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    /// How long it works as before, except that it is not ready.
    pub(crate) delay: Duration,
    /// Cancelled after that: work that has begun is finished.
    pub(crate) drain: &'a CancellationToken,
    /// The part that is waited for.
    pub(crate) last: &'static str,
    /// For how long.
    pub(crate) limit: Duration,
}

impl Tasks {
    /// Starts a part.
    pub(crate) fn spawn(&mut self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(async move {
            part.await;
            name
        });
    }

    /// Waits for the first signal, then stops cleanly. After a second signal it stops at once, and also if a part
    /// stops by itself.
    pub(crate) async fn until_signalled(
        &mut self,
        signals: &mut Signals,
        readiness: &Readiness,
        ending: Ending<'_>,
    ) -> Result<ExitCode, PartError> {
        let signal = tokio::select! {
            signal = signals.next() => signal,
            ended = self.0.join_next() => return Err(unexpected(ended)),
        };
        readiness.leave();
        tracing::info!(%signal, delay_seconds = ending.delay.as_secs_f64(), "shutting down");
        tokio::select! {
            () = tokio::time::sleep(ending.delay) => {}
            signal = signals.next() => return Ok(abort(signal)),
            ended = self.0.join_next() => return Err(unexpected(ended)),
        }
        ending.drain.cancel();
        tokio::select! {
            signal = signals.next() => Ok(abort(signal)),
            drained = timeout(ending.limit, self.0.join_next()) => match drained {
                Ok(Some(Ok(part))) if part == ending.last => {
                    tracing::info!("stopped");
                    Ok(ExitCode::SUCCESS)
                }
                Ok(ended) => Err(unexpected(ended)),
                Err(_) => {
                    tracing::warn!(limit_seconds = ending.limit.as_secs(), "stopped with work unfinished");
                    Ok(ExitCode::SUCCESS)
                }
            },
        }
    }
}

/// Runs a part on a separate thread. The returned future ends with the thread.
pub(crate) fn on_own_thread<F: Future<Output = ()> + 'static>(
    name: &'static str,
    part: impl FnOnce() -> F + Send + 'static,
) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let (alive, ended) = oneshot::channel::<()>();
    std::thread::Builder::new().name(name.into()).spawn(move || {
        runtime.block_on(LocalSet::new().run_until(part()));
        drop(alive);
    })?;
    Ok(async move {
        // The sender sends nothing: it is dropped with its thread.
        let _ = ended.await;
    })
}

fn abort(signal: Signal) -> ExitCode {
    tracing::warn!(%signal, "stopped at once by a second signal");
    ExitCode::from(signal.exit_code())
}

fn unexpected(ended: Option<Result<&'static str, JoinError>>) -> PartError {
    match ended {
        Some(Ok(part)) => PartError::Ended { part },
        Some(Err(error)) => PartError::Failed(error),
        None => PartError::Ended { part: "every part" },
    }
}
