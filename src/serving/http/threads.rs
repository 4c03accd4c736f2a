//! The threads that serve connections.
//!
//! Each has a runtime of its own, so a connection stays on its thread, and a request wakes no other one.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// The threads of a server.
#[derive(Debug)]
pub struct Threads(Vec<Thread>);

#[derive(Debug)]
struct Thread {
    runtime: Handle,
    /// Each connection has a clone.
    connections: Arc<()>,
    /// Ends a thread of its own.
    _end: Option<DropGuard>,
}

impl Threads {
    /// The threads of the runtime that calls this.
    pub fn of_this_runtime() -> Self {
        Self(vec![Thread {
            runtime: Handle::current(),
            connections: Arc::default(),
            _end: None,
        }])
    }

    /// Starts this many threads, which have this name. They end when this is dropped.
    pub fn start(name: &str, count: usize) -> io::Result<Self> {
        (0..count)
            .map(|_| Thread::start(name))
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// Serves a connection on the thread with the fewest.
    pub fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        tracker: &TaskTracker,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) -> io::Result<()> {
        let connections = |thread: &&Thread| Arc::strong_count(&thread.connections);
        let Some(thread) = self.0.iter().min_by_key(connections) else {
            return Ok(());
        };
        // A socket is woken by the runtime that it is registered with.
        let stream = stream.into_std()?;
        let stream = {
            let _entered = thread.runtime.enter();
            TcpStream::from_std(stream)?
        };
        let counted = Arc::clone(&thread.connections);
        let connection = serve(stream);
        tracker.spawn_on(
            async move {
                connection.await;
                drop(counted);
            },
            &thread.runtime,
        );
        Ok(())
    }
}

impl Thread {
    fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, end) = (runtime.handle().clone(), CancellationToken::new());
        let ended = end.clone();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(ended.cancelled());
            // A review that still runs is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            runtime: handle,
            connections: Arc::default(),
            _end: Some(end.drop_guard()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread::ThreadId;

    use tokio::net::TcpListener;
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    #[tokio::test]
    async fn connections_are_spread_over_the_threads_and_stay_there() {
        let threads = Threads::start("test", 2).expect("threads");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (tracker, (sender, mut seen)) = (TaskTracker::new(), mpsc::unbounded_channel());
        let mut open = async || -> (oneshot::Sender<()>, ThreadId) {
            let _client = TcpStream::connect(address).await.expect("a connection");
            let (stream, _) = listener.accept().await.expect("a connection");
            let (close, closed) = oneshot::channel();
            let sender = sender.clone();
            let serve = |stream| async move {
                let before = thread::current().id();
                tokio::task::yield_now().await;
                assert_eq!(thread::current().id(), before);
                sender.send(before).expect("a receiver");
                let _ = closed.await;
                drop(stream);
            };
            threads.serve(&tracker, stream, serve).expect("it is served");
            (close, seen.recv().await.expect("a thread"))
        };
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(open().await);
        }
        let on: Vec<ThreadId> = held.iter().map(|(_, thread)| *thread).collect();
        assert_ne!(on[0], on[1]);
        assert_eq!(on[2..], on[..2]);
        held.retain(|(_, thread)| *thread == on[0]);
        // Two connections have closed: their tasks end when their threads get to it.
        while threads
            .0
            .iter()
            .all(|thread| Arc::strong_count(&thread.connections) > 1)
        {
            tokio::task::yield_now().await;
        }
        assert_eq!(open().await.1, on[1]);
    }
}
