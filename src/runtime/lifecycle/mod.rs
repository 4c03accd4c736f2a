//! The life of a process that runs until it is signalled to stop: whether it is alive and ready, which parts it
//! has, and which signal stops it. Does not depend on what the process does.

mod heartbeat;
mod readiness;
mod signals;
mod tasks;

use std::io;

use tokio::task::JoinHandle;

pub use heartbeat::Heartbeat;
pub use readiness::{Readiness, StatusBoard, StatusLine};
pub use signals::{Signal, Signals};
pub use tasks::{PartError, Tasks};

/// The threads of a process whose work is mostly waiting for the API server: one is left if the other is busy.
const FEW_THREADS: usize = 2;

/// Threads or signal handlers cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("could not set up threads or signal handlers")]
pub struct SystemError(#[from] io::Error);

/// Starts a task that nothing else ends. In the simulation it belongs to the process that starts it, which can stand still.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    #[cfg(test)]
    let task = simulated::of_this_process(task);
    tokio::spawn(task)
}

/// Runs a process on a runtime of few threads. It does not wait for tasks that still run at its end, because
/// those that matter have been drained.
pub fn run<T, E: From<SystemError>>(process: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(FEW_THREADS)
        .enable_all()
        .build()
        .map_err(SystemError)?;
    let ended = runtime.block_on(process);
    runtime.shutdown_background();
    ended
}

#[cfg(test)]
pub mod simulated {
    //! Many processes on one runtime.

    use std::sync::Arc;

    use futures_util::future::BoxFuture;

    /// Makes a task one of a process.
    pub type OfProcess = Arc<dyn Fn(BoxFuture<'static, ()>) -> BoxFuture<'static, ()> + Send + Sync>;

    tokio::task_local! {
        /// The process of the running task.
        pub static PROCESS: OfProcess;
    }

    pub fn of_this_process(task: impl Future<Output = ()> + Send + 'static) -> BoxFuture<'static, ()> {
        let task = Box::pin(task);
        match PROCESS.try_with(Arc::clone) {
            Ok(of_process) => of_process(task),
            Err(_) => task,
        }
    }
}
