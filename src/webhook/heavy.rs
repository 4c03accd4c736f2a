//! Very large reviews are done one at a time, on a separate thread: they do not block the threads that answer all
//! other reviews, and the memory that the allocator keeps after them is kept only once.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::rejection::Rejection;
use crate::lifecycle::SystemError;
use crate::telemetry::caught;

type Work = Box<dyn FnOnce() + Send>;

/// The thread, and the queue of work for it.
#[derive(Debug, Clone)]
pub struct HeavyThread {
    turn: Arc<Semaphore>,
    work: Sender<Work>,
}

impl HeavyThread {
    /// Starts the thread. It stops when the last clone of this is dropped.
    pub fn start() -> Result<Self, SystemError> {
        let (sender, work) = channel::<Work>();
        thread::Builder::new().name("heavy".into()).spawn(move || {
            for work in work {
                // Its caller learns of a panic from the sender that is dropped with it.
                caught(work);
            }
        })?;
        Ok(Self {
            turn: Arc::new(Semaphore::new(1)),
            work: sender,
        })
    }

    /// Does `work` after all work before it, or rejects it if its turn does not come within `limit`. A panic ends only
    /// this work.
    pub async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        let turn = timeout(limit, Arc::clone(&self.turn).acquire_owned());
        let turn = turn.await.map_err(|_| Rejection::Busy)?;
        let (done, result) = oneshot::channel();
        let work = Box::new(move || {
            // The caller may have stopped waiting.
            let _ = done.send(work());
            drop(turn);
        });
        // If the thread were gone, the result would not come either.
        let _ = self.work.send(work);
        result.await.map_err(|_| Rejection::Panicked)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn heavy_work_keeps_nobody_from_the_only_thread() {
        let heavy = HeavyThread::start().expect("a thread");
        let (sender, receiver) = mpsc::channel();
        tokio::spawn(async move { sender.send("other work") });
        let done = heavy.run(PATIENCE, move || receiver.recv_timeout(PATIENCE)).await;
        assert_eq!(done.expect("done"), Ok("other work"));
    }

    #[tokio::test]
    async fn who_waits_too_long_for_its_turn_gets_none() {
        let heavy = HeavyThread::start().expect("a thread");
        let (sender, receiver) = mpsc::channel::<()>();
        let long = heavy.run(PATIENCE, move || receiver.recv_timeout(PATIENCE).is_ok());
        let other = async {
            let late = heavy.run(Duration::from_millis(10), || ()).await;
            sender.send(()).expect("the long work goes on");
            late
        };
        let (long, late) = tokio::join!(long, other);
        assert!(long.expect("done"));
        assert!(matches!(late, Err(Rejection::Busy)));
        assert_eq!(heavy.run(PATIENCE, || "next").await.expect("done"), "next");
    }

    #[tokio::test]
    async fn work_that_panics_is_rejected_and_the_next_one_is_done() {
        let heavy = HeavyThread::start().expect("a thread");
        let crashed = heavy.run::<()>(PATIENCE, || panic!("a defect")).await;
        assert!(matches!(crashed, Err(Rejection::Panicked)));
        assert_eq!(heavy.run(PATIENCE, || "next").await.expect("done"), "next");
    }
}
