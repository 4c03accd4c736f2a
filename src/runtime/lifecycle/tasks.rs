//! The parts of a process that run until it is signalled to stop. If a part stops unexpectedly, the process exits and
//! its supervisor restarts it, which is better than half a process.

use tokio::task::{JoinError, JoinSet};

/// A part of the process has stopped that must run as long as the process does.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// It has stopped.
    #[error("{part} stopped unexpectedly, which is a bug in poolgate. The process exits")]
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
