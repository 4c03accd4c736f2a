//! Threads that serve connections. A connection stays on its thread: where threads share their work, each request wakes
//! several of them. Knows nothing of what is sent on a connection.

use std::io;
use std::iter::once;
use std::sync::Arc;
use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The threads: at least one.
#[derive(Debug)]
pub struct Workers {
    first: Worker,
    others: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    handle: Handle,
    /// Shared with each of its connections.
    load: ConnectionCount,
    /// Its thread ends when this is dropped. `None` for the caller's.
    _alive: Option<oneshot::Sender<()>>,
}

/// Held by a connection as long as it is open.
pub type ConnectionCount = Arc<()>;

impl Workers {
    /// Starts `count` threads of this name, but at least one.
    pub fn start(name: &str, count: usize) -> io::Result<Self> {
        Ok(Self {
            first: Worker::start(name)?,
            others: (1..count)
                .map(|_| Worker::start(name))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The caller's threads, for connections with little to do.
    pub fn here() -> Self {
        Self {
            first: Worker {
                handle: Handle::current(),
                load: ConnectionCount::default(),
                _alive: None,
            },
            others: Vec::new(),
        }
    }

    /// Gives a connection to the thread with the fewest: what it needs there must be spawned on its handle, and hold the
    /// load.
    pub fn adopt(&self, stream: TcpStream) -> io::Result<(TcpStream, &Handle, ConnectionCount)> {
        let workers = once(&self.first).chain(&self.others);
        let least = workers.min_by_key(|worker| Arc::strong_count(&worker.load));
        let Worker { handle, load, .. } = least.unwrap_or(&self.first);
        // The listener has registered the socket with the caller's runtime. Two system calls for each connection move it:
        // tokio accepts nothing without registering it, but for a listener (`AsyncFd`) that only unsafe code can make.
        let _context = handle.enter();
        let stream = TcpStream::from_std(stream.into_std()?)?;
        Ok((stream, handle, Arc::clone(load)))
    }
}

impl Worker {
    fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, dropped) = oneshot::channel::<()>();
        thread::Builder::new().name(name.into()).spawn(move || {
            let _ = runtime.block_on(dropped);
        })?;
        Ok(Self {
            handle,
            load: ConnectionCount::default(),
            _alive: Some(alive),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::thread::ThreadId;

    use tokio::net::TcpListener;

    use super::*;

    async fn connection() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        TcpStream::connect(address).await.expect("the queue has room")
    }

    #[tokio::test]
    async fn a_connection_goes_to_the_thread_with_the_fewest() {
        let workers = Workers::start("worker", 2).expect("threads");
        let adopt = async || {
            let (_, handle, load) = workers.adopt(connection().await).expect("a thread");
            let thread: ThreadId = handle
                .spawn(async { thread::current().id() })
                .await
                .expect("it runs");
            (thread, load)
        };
        let (first, _held) = adopt().await;
        let (second, load) = adopt().await;
        assert!(first != second && first != thread::current().id());
        drop(load);
        assert_eq!(adopt().await.0, second);
    }

    #[tokio::test]
    async fn what_runs_on_the_threads_ends_with_them() {
        let workers = Workers::start("worker", 1).expect("threads");
        let (held, ended) = oneshot::channel::<()>();
        workers.first.handle.spawn(async move {
            let _held = held;
            pending::<()>().await;
        });
        drop(workers);
        ended.await.expect_err("it was dropped");
    }
}
