//! The parts of a process that run until it is signalled to stop. If a part stops by itself, the process exits, and
//! its supervisor restarts it: that is better than half a process.

use std::io;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet, LocalSet};

use super::heartbeat::Heartbeat;

/// A part of the process has stopped that must run as long as the process does.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
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
pub struct Tasks(JoinSet<&'static str>);

impl Tasks {
    /// Starts a part.
    pub fn spawn(&mut self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(async move {
            part.await;
            name
        });
    }

    /// Waits for a part to stop, and returns its name.
    pub async fn stopped(&mut self) -> Result<&'static str, PartError> {
        match self.0.join_next().await {
            Some(ended) => ended.map_err(PartError::Failed),
            None => Err(PartError::Ended { part: "every part" }),
        }
    }

    /// Waits for a part to stop that should not.
    pub async fn failed(&mut self) -> PartError {
        match self.stopped().await {
            Ok(part) => PartError::Ended { part },
            Err(error) => error,
        }
    }
}

/// Runs a part on a separate thread with this heartbeat. The returned future watches the heartbeat, and ends with the thread.
pub fn on_own_thread<F: Future<Output = ()> + 'static>(
    name: &'static str,
    heartbeat: Heartbeat,
    part: impl FnOnce() -> F + Send + 'static,
) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let (alive, ended) = oneshot::channel::<()>();
    let beating = heartbeat.clone();
    std::thread::Builder::new().name(name.into()).spawn(move || {
        runtime.block_on(LocalSet::new().run_until(async move {
            tokio::select! {
                biased;
                () = part() => {}
                () = beating.beat() => {}
            }
        }));
        drop(alive);
    })?;
    Ok(async move {
        tokio::select! {
            // The sender sends nothing: it is dropped with its thread.
            _ = ended => {}
            () = heartbeat.watch(name) => {}
        }
    })
}
